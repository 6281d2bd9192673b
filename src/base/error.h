// An error that can be sent to a client: a stable kind, a message and, if one is known, a hint. The
// kind determines the JSON-RPC code (protocol/methods.h).
#pragma once

#include <cstdint>
#include <string>

namespace ew {

enum class ErrorKind : std::uint8_t {
    parse,           // not JSON
    invalid_request, // JSON, but not an acceptable message, or not acceptable now
    unknown_method,
    invalid_params,
    not_initialized,
    limit, // a limit was reached; the message names it
    unknown_process,
    pruned_process, // the id was known, its record has been pruned
    process_exists,
    too_many_processes,
    spawn_not_found, // the program does not exist
    spawn_failed,
    sandbox_unavailable, // the request needs a sandbox, and none can be set up
    cancelled,
    not_a_terminal,
    not_running,
    unknown_session,
    shutting_down,
    denied,            // a person, a rule or the policy denied the request
    stdin_closed,      // the program's stdin is closed
    unknown_approval,  // no stored approval has this id
    store_unavailable, // the database cannot be used
    config_invalid,    // a settings file or a rules file is invalid
    not_found,         // no such file or directory
    permission_denied, // the file system, or the sandbox of the request, does not allow it
    wrong_kind,        // a directory instead of a file, a symlink where none is allowed, …
    read_only,         // the file system is read-only, or the sandbox allows only reading here
    disk_full,
    io_failed,      // any other error of the file system
    changed,        // the file changed since the client read it
    unknown_handle, // no open file has this handle
    handle_exists,
    environment_unavailable, // the environment did not start, did not answer, or cannot do this
    environment_lost,        // the connection to the environment ended while the program ran there
    internal,
};

struct Error {
    ErrorKind kind = ErrorKind::internal;
    std::string message;
    std::string hint = {};       // a sentence that says what to do; empty if unknown
    std::string path = {};       // invalid_params: the member, for example "argv[2]"
    std::string process_id = {}; // cancelled: the process that continues to run
};

} // namespace ew

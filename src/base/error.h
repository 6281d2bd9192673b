// What went wrong, in a form that can be sent: a stable kind, a sentence, and where possible the
// way out. The JSON-RPC code follows from the kind (protocol/methods.h).
#pragma once

#include <cstdint>
#include <string>

namespace ew {

enum class ErrorKind : std::uint8_t {
    parse,           // not JSON
    invalid_request, // JSON, but no acceptable message, or not now
    unknown_method,
    invalid_params,
    not_initialized,
    limit, // a bound was reached; the message names it
    unknown_process,
    pruned_process, // the id was known, its record has been pruned
    process_exists,
    too_many_processes,
    spawn_not_found, // the program does not exist
    spawn_failed,
    sandbox_unavailable, // confinement was asked for and cannot be had
    cancelled,
    not_a_terminal,
    not_running,
    unknown_session,
    shutting_down,
    denied,            // a person, a rule or the policy refused
    stdin_closed,      // the program takes no input
    unknown_approval,  // no stored approval with this id
    store_unavailable, // the database cannot be used
    config_invalid,    // a file of settings or rules
    not_found,         // no such file or directory
    permission_denied, // the file system, or the sandbox of the request, does not allow it
    wrong_kind,        // a directory where a file is wanted, a link where none may be, …
    read_only,         // the file system, or this part of it in the sandbox, cannot be written
    disk_full,
    io_failed,      // what else a file system refuses
    changed,        // a file is not as it was looked at
    unknown_handle, // no open file of that name
    handle_exists,
    environment_unavailable, // it could not be started, did not answer, or cannot do this
    environment_lost,        // the connection to it ended while the program ran there
    internal,
};

struct Error {
    ErrorKind kind = ErrorKind::internal;
    std::string message;
    std::string hint = {};       // the way out, a sentence; empty: none is known
    std::string path = {};       // invalid_params: the member, such as "argv[2]"
    std::string process_id = {}; // cancelled: the process that goes on
};

} // namespace ew

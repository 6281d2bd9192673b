// One request of fs/*, from its arrival to its answer.
#pragma once

#include "base/byte_buffer.h"
#include "base/error.h"
#include "files/wire.h"
#include "server/connection/reply.h"
#include "server/request/sandbox_request.h"

#include <cstdint>
#include <optional>
#include <string>

namespace ew::server {

struct FileTask {
    FileTask(std::uint64_t serial_, files::Request request_)
        : serial(serial_), request(std::move(request_)) {}

    std::uint64_t serial;
    files::Request request;
    std::optional<Reply> reply = {}; // nullopt: for a patch or a repeated look of a watch
    std::optional<SandboxOrder> sandbox = {};
    std::optional<std::uint64_t> handle = {}; // serial number of fs/open, for a task on a handle
    std::string handle_id = {};               // the client's name for it
    std::optional<std::uint64_t> watch = {};  // serial number of its watch
    std::optional<std::uint64_t> patch = {};  // serial number of its patch
    bool is_settled = false; // the file process has answered, and no file of a patch is half done
    bool waits_for_machine = false;  // the trial of the machine was requested
    std::size_t tries = 0;           // starts of a sandbox for it
    std::size_t bytes = 0;           // size of its content
    std::uint64_t process = 0;       // serial number of its file process; 0: none yet
    ByteBuffer result = {};          // as far as it has arrived, see file_answer.h
    std::string problems = {};       // of a walk: bodies of its frames
    bool is_finished = false;        // only its sandbox must still be cleared
    std::optional<Error> error = {}; // set if it has failed
};

// Returns true if the task changes files that other requests can see.
bool is_writing(const FileTask& task);

// Returns true if `later` must wait for `earlier`: both use the same handle, or one of them writes
// and a path of one is, or holds, a path of the other. Paths are compared as text: a link counts as
// another place.
bool must_wait(const FileTask& later, const FileTask& earlier);

} // namespace ew::server

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
    std::optional<Reply> reply = {}; // absent: a watch looks again, or it is for a patch
    std::optional<SandboxOrder> sandbox = {};
    std::optional<std::uint64_t> handle = {}; // serial: of fs/open and what works on it
    std::string handle_id = {};               // the client's name for it
    std::optional<std::uint64_t> watch = {};  // serial of the watch it is for
    std::optional<std::uint64_t> patch = {};  // serial of the patch it is for
    bool is_settled = false; // the file process has answered, and nothing of a patch is half done
    bool waits_for_machine = false;  // what can be enforced here has been asked for
    std::size_t tries = 0;           // to start a sandbox for it
    std::size_t bytes = 0;           // of its content
    std::uint64_t process = 0;       // serial of the file process at work; 0: none yet
    ByteBuffer result = {};          // as far as it has come, see file_answer.h
    std::string problems = {};       // of a walk: frames' bodies
    bool is_finished = false;        // only its sandbox has to be cleared away
    std::optional<Error> error = {}; // it has failed
};

// Does it change what other requests may look at?
bool is_writing(const FileTask& task);

// Must `later` wait for `earlier`? Of two that work on the same handle; and of two of whose paths
// one is, or holds, the other, if one of them writes. Paths are compared as text: a link is another
// place.
bool must_wait(const FileTask& later, const FileTask& earlier);

} // namespace ew::server

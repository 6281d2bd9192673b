// What a process on this machine is besides its entry in the table: its start, its sandbox, and the
// descriptors of its streams.
#pragma once

#include "base/clock.h"
#include "base/error.h"
#include "base/unique_fd.h"
#include "core/output/output_log.h"
#include "os/spawn.h"
#include "server/confine/process_sandbox.h"

#include <sys/resource.h>
#include <sys/types.h>

#include <array>
#include <cstddef>
#include <memory>
#include <optional>

namespace ew::server {

// One stream that is read: a pipe or the master of a terminal.
struct OutputStream {
    UniqueFd fd; // empty once the stream has ended
    core::Stream name = core::Stream::out;
    bool is_bulk = false;    // watched in the set of flooding processes
    bool is_masked = false;  // not watched, because the log is full or nothing can come
    std::size_t backlog = 0; // bytes that were there at the exit and are read before it is told
};

// The end of bubblewrap came before the news of whether the program ran.
struct EarlyEnd {
    int status = 0;
    rusage usage = {};
};

struct LocalProcess {
    LocalProcess() = default;
    ~LocalProcess();
    LocalProcess(const LocalProcess&) = delete;
    LocalProcess& operator=(const LocalProcess&) = delete;

    // Who leads the session and group of the program. Unlike `pid` in a sandbox, where that is
    // bubblewrap, which waits outside.
    pid_t leader() const { return sandbox && sandbox->leader() != 0 ? sandbox->leader() : pid; }

    bool has_read_backlog() const { return streams[0].backlog == 0 && streams[1].backlog == 0; }

    pid_t pid = 0;                           // 0: it has none yet
    std::unique_ptr<os::PendingStart> start; // without a sandbox, until the report says how it went
    std::unique_ptr<ProcessSandbox> sandbox; // null: it is not confined here
    std::optional<EarlyEnd> early_end;
    std::optional<Error> start_failure; // told once its sandbox is cleared away
    bool may_start_again = false;       // instead of that
    std::size_t start_tries = 1;        // as far as they have begun

    std::array<OutputStream, 2> streams;     // [0] stdout or the terminal, [1] stderr
    std::optional<TimePoint> terminal_retry; // nobody has the terminal open: look again then
    Millis terminal_patience{0};             // how long the last look waited

    UniqueFd input; // of a pipe, or a duplicate of the terminal's master
    bool is_input_watched = false;
};

} // namespace ew::server

// What a process on this machine has in addition to its entry in the table: its start, its sandbox,
// and the descriptors of its streams.
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
    bool is_masked = false;  // not watched, because the log is full or no output can come
    std::size_t backlog = 0; // readable at the exit, in bytes; read before the exit is reported
};

// Bubblewrap has ended before it was known whether the program runs.
struct EarlyEnd {
    int status = 0;
    rusage usage = {};
};

struct LocalProcess {
    LocalProcess() = default;
    ~LocalProcess();
    LocalProcess(const LocalProcess&) = delete;
    LocalProcess& operator=(const LocalProcess&) = delete;

    // The leader of the program's session and group. In a sandbox `pid` is bubblewrap, which waits
    // outside.
    pid_t leader() const { return sandbox && sandbox->leader() != 0 ? sandbox->leader() : pid; }

    // See ProcessSandbox::has_program_ended().
    bool has_program_ended() const { return sandbox && sandbox->has_program_ended(); }

    bool has_read_backlog() const { return streams[0].backlog == 0 && streams[1].backlog == 0; }

    pid_t pid = 0;                           // 0: not started yet
    std::unique_ptr<os::PendingStart> start; // without a sandbox: until the report has arrived
    std::unique_ptr<ProcessSandbox> sandbox; // null: not confined here
    std::optional<EarlyEnd> early_end;
    std::optional<Error> start_failure; // reported when its sandbox has been cleared away
    bool may_start_again = false;       // when cleared away, start again instead
    std::size_t start_tries = 1;        // tries that have begun

    std::array<OutputStream, 2> streams;     // [0] stdout or the terminal, [1] stderr
    std::optional<TimePoint> terminal_retry; // nobody has the terminal open: when to look again
    Millis terminal_patience{0};             // how long the last look waited

    // The descriptor to which input is written; -1 if there is none.
    int input_fd() const {
        return streams[0].name == core::Stream::pty ? streams[0].fd.get() : input.get();
    }

    // Stdin. With a terminal, a duplicate of its master that is only watched: epoll keeps one
    // interest per descriptor. It is made when the terminal first has no room for input.
    UniqueFd input;
    bool is_input_watched = false;
};

} // namespace ew::server

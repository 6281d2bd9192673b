// Where programs run: on this machine, or behind a server elsewhere. What a process is to a client
// is the process layer's (process_service), which tells a backend what to do, and which a backend
// tells what became of it: begin_running() or fail_start(), output in the process's log,
// note_exit().
#pragma once

#include "base/clock.h"
#include "base/result.h"
#include "os/pty.h"
#include "protocol/process.h"
#include "server/connection/reply.h"
#include "server/process/process.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace ew::server {

// Where it says so, the process may be gone after the call. Else it is still there.
class Backend {
public:
    Backend() = default;
    virtual ~Backend() = default;
    Backend(const Backend&) = delete;
    Backend& operator=(const Backend&) = delete;

    // Begins the start of process.request, and returns before anything is told of it. On an error
    // there was none.
    virtual Result<void> begin(Process& process) = 0;

    // It is starting: takes the news of that if it has come. The process may be gone after this.
    virtual void look_at_start(Process& process) = 0;

    // It is starting, and start_is_cancelled is set: fail_start() as soon as nothing of it can run
    // any more. From now on it is expected to end (expect_end()); when Ending::give_up is due,
    // whoever waits is answered all the same. The process may be gone after this.
    virtual void call_off_start(Process& process) = 0;

    // It takes input: there are bytes in input.queued, or close_when_written was set.
    virtual void write_input(Process& process) = 0;

    // It takes input, and no more will come after what is queued: sets close_when_written, or makes
    // a terminal end it. Only notes that: write_input() acts on it.
    virtual void end_input(Process& process) = 0;

    // It has been started. Answers, also when nothing is left to signal.
    virtual void signal(Process& process, Reply reply, const protocol::SignalParams& params) = 0;

    // It has been started: SIGINT to its process group.
    virtual void interrupt(Process& process) = 0;

    // It has been started and has a terminal. Answers, also when the terminal is gone.
    virtual void resize(Process& process, Reply reply, const protocol::WindowSize& size) = 0;

    // How its terminal takes lines at this moment. Absent: it cannot be looked at from here.
    virtual std::optional<os::LineMode> line_mode(const Process&) const { return std::nullopt; }

    // The leader has ended: is anything left to end?
    virtual bool has_left_overs(Process& process) = 0;

    // It has been started: ends the tree, also what its leader has left, and at once if `grace_ms`
    // is 0, also if it is being ended more slowly. Sets process.ending, which exists until
    // finish_ending(), and that comes later.
    virtual void begin_ending(Process& process, std::uint64_t grace_ms) = 0;

    // What descendants() tells is as of now.
    virtual void refresh() = 0;

    virtual std::vector<std::int64_t> descendants(const Process& process) = 0;

    // Once a turn of the loop: what is due of its start, its ending, and whatever next_deadline()
    // is about. The process may be gone after this.
    virtual void check_timers(Process& process) = 0;
    virtual std::optional<TimePoint> next_deadline(const Process& process) const = 0;
};

} // namespace ew::server

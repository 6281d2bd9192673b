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
#include "server/request/sandbox_request.h"

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ew::server {

struct RemoteStart;

// What a start needs beside the SpawnRequest: the one or the other, as the backend is.
struct StartOrder {
    std::optional<SandboxOrder> sandbox = {}; // on this machine; absent: it is not to be confined
    Part<RemoteStart> elsewhere = {};
};

// What the sandbox of a process is, and what it has refused.
struct SandboxState {
    bool is_confined = false; // else the rest is empty
    protocol::Confinement confinement = {};
    std::vector<std::string> notes = {};
    std::vector<protocol::Denial> denials = {};
    std::uint64_t denial_count = 0;
};

// Where it says so, the process may be gone after the call. Else it is still there.
class Backend {
public:
    Backend() = default;
    virtual ~Backend() = default;
    Backend(const Backend&) = delete;
    Backend& operator=(const Backend&) = delete;

    // Begins the start of process.request, and returns before anything is told of it. On an error
    // there was none.
    virtual Result<void> begin(Process& process, StartOrder order) = 0;

    // It is starting: takes the news of that if it has come. The process may be gone after this.
    virtual void look_at_start(Process& process) = 0;

    // It is starting, and start_is_cancelled is set: fail_start() as soon as nothing of it can run
    // any more. From now on it is expected to end (expect_end()); when Ending::give_up is due,
    // whoever waits is answered all the same. The process may be gone after this.
    virtual void call_off_start(Process& process) = 0;

    // Its input is open, and bytes were queued or it is to be ended.
    virtual void write_input(Process& process) = 0;

    // Its input is open, and no more will come after what is queued: input.end(), or
    // input.end_terminal(). Only notes that: write_input() acts on it.
    virtual void end_input(Process& process) = 0;

    // It has been started. Answers, also when nothing is left to signal.
    virtual void signal(Process& process, Reply reply, const protocol::SignalParams& params) = 0;

    // It has been started: SIGINT to its process group.
    virtual void interrupt(Process& process) = 0;

    // It has been started and has a terminal. Answers, also when the terminal is gone.
    virtual void resize(Process& process, Reply reply, const protocol::WindowSize& size) = 0;

    // How its terminal takes lines at this moment. Absent: it cannot be looked at from here.
    virtual std::optional<os::LineMode> line_mode(const Process&) const { return std::nullopt; }

    // The log has room for more output.
    virtual void resume_reading(Process& process) = 0;

    // The leader has ended: was everything read that could be read at that moment, and is nothing
    // left of its sandbox? Only then its exit is told.
    virtual bool may_tell_exit(const Process& process) const = 0;

    // The tree has ended, so a process that still holds a stream is a stranger: closes the streams
    // that have nothing to give at this moment.
    virtual void end_silent_streams(Process& process) = 0;

    virtual SandboxState sandbox_state(const Process& process) const = 0;

    // Its number on this machine; 0: it has none here.
    virtual pid_t pid(const Process& process) const = 0;

    // The id of its environment; absent: this machine.
    virtual std::optional<std::string> environment(const Process& process) const = 0;

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

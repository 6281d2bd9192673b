// A backend starts, feeds and ends programs, on this machine or in another environment.
// process_service owns the state that clients see and calls the backend, which reports with
// begin_running() or fail_start(), output in the log of the process, and note_exit().
#pragma once

#include "base/clock.h"
#include "base/result.h"
#include "os/pty.h"
#include "protocol/process.h"
#include "protocol/process_start.h"
#include "sandbox/gateway/host_asking.h"
#include "sandbox/gateway/host_use.h"
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

// Additions to the SpawnRequest of a start. A start uses at most one, as its backend requires.
struct StartOrder {
    std::optional<SandboxOrder> sandbox = {}; // on this machine; nullopt: not confined
    Part<RemoteStart> elsewhere = {};
};

// The confinement of a process, and what its sandbox refused.
struct SandboxState {
    bool is_confined = false; // otherwise the other members are empty
    protocol::Confinement confinement = {};
    std::vector<std::string> notes = {};
    std::vector<protocol::Denial> denials = {};
    std::uint64_t denial_count = 0;
    std::vector<sandbox::HostUse> host_uses = {};
};

// A call removes the process only if its comment says so.
class Backend {
public:
    Backend() = default;
    virtual ~Backend() = default;
    Backend(const Backend&) = delete;
    Backend& operator=(const Backend&) = delete;

    // Begins the start of process.request. Returns before the result is reported. After an error,
    // nothing has been started.
    virtual Result<void> begin(Process& process, StartOrder order) = 0;

    // Requires a start under way. Handles its result if it has arrived. May remove the process.
    virtual void look_at_start(Process& process) = 0;

    // Requires a start under way with start.is_cancelled set. Calls fail_start() as soon as nothing
    // of the program can run any more; until then process.ending is set (expect_end()). When
    // Ending::give_up is due, the waiting requests are answered in any case. May remove the
    // process.
    virtual void call_off_start(Process& process) = 0;

    // Requires open input. Writes queued bytes, and ends the input if that is due.
    virtual void write_input(Process& process) = 0;

    // Requires open input. Notes with input.end() or input.end_terminal() that nothing follows the
    // queued bytes; write_input() acts on it.
    virtual void end_input(Process& process) = 0;

    // Requires a started process. Answers even if nothing is left to signal.
    virtual void signal(Process& process, Reply reply, const protocol::SignalParams& params) = 0;

    // Requires a started process. Sends SIGINT to its process group.
    virtual void interrupt(Process& process) = 0;

    // Requires a started process with a terminal. Answers even if the terminal is gone.
    virtual void resize(Process& process, Reply reply, const protocol::WindowSize& size) = 0;

    // Returns the current line mode of the terminal, or nullopt if the backend cannot read it.
    virtual std::optional<os::LineMode> line_mode(const Process&) const { return std::nullopt; }

    // Requires a started process. Returns what it does about its input at this moment, or nullopt
    // if the backend cannot look.
    virtual std::optional<InputLook> look_at_input(const Process&) const { return std::nullopt; }

    // The log has room for more output.
    virtual void resume_reading(Process& process) = 0;

    // Requires an ended leader. Returns true if all output that was readable at that moment has
    // been read and nothing is left of the sandbox. The exit is reported only then.
    virtual bool may_tell_exit(const Process& process) const = 0;

    // The tree has ended, so any process that still holds a stream does not belong to it. Closes
    // the streams that have no data at this moment.
    virtual void end_silent_streams(Process& process) = 0;

    virtual SandboxState sandbox_state(const Process& process) const = 0;

    // The program has ended, and what it has left is still looked at: the exit comes later.
    virtual bool has_program_ended(const Process&) const { return false; }

    // The answer to a question of its network by host. See sandbox::Gateway::answer().
    virtual void answer_host(Process&, std::uint64_t, const sandbox::HostVerdict&) {}

    // Returns the pid on this machine, or 0 if there is none.
    virtual pid_t pid(const Process& process) const = 0;

    // Returns the id of the environment, or nullopt for this machine.
    virtual std::optional<std::string> environment(const Process& process) const = 0;

    // Requires an ended leader. Returns true if something is left to end.
    virtual bool has_left_overs(Process& process) = 0;

    // Requires a started process. Ends the tree, including descendants that outlived the leader. If
    // `grace_ms` is 0, kills at once, even if a slower ending is under way. Sets process.ending,
    // which exists until finish_ending(); that call comes later.
    virtual void begin_ending(Process& process, std::uint64_t grace_ms) = 0;

    // Brings the result of descendants() up to date.
    virtual void refresh() = 0;

    virtual std::vector<std::int64_t> descendants(const Process& process) = 0;

    // Returns the TCP ports on which the program and its descendants listen, or nullopt if the
    // backend cannot know them.
    virtual std::optional<std::vector<std::uint16_t>> listening_ports(const Process&) {
        return std::nullopt;
    }

    // Called once per turn of the loop. Handles timers of the start, of the ending and of
    // next_deadline(). May remove the process.
    virtual void check_timers(Process& process) = 0;
    virtual std::optional<TimePoint> next_deadline(const Process& process) const = 0;

    // Returns true if output of the stream has arrived that is not in the log yet, for example
    // because the client does not read.
    virtual bool has_unread(const Process& process, core::Stream stream) const = 0;
};

} // namespace ew::server

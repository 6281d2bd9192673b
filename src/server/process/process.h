// One program and everything execward holds for it, from the start request until it is pruned.
// State only: process_service decides, the backend runs the program, output_delivery sends its
// output.
#pragma once

#include "base/clock.h"
#include "core/keys.h"
#include "core/output/output_log.h"
#include "core/output/output_times.h"
#include "core/screen/size_history.h"
#include "os/spawn.h"
#include "protocol/cast.h"
#include "protocol/process.h"
#include "protocol/process_output.h"
#include "protocol/screen.h"
#include "sandbox/gateway/host_asking.h"
#include "sandbox/gateway/host_use.h"
#include "server/connection/reply.h"
#include "server/process/input_queue.h"
#include "server/process/input_state.h"
#include "server/process/live_screen.h"
#include "server/process/part.h"
#include "server/process/read_queue.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace ew::server {

class Backend;
class Consumer;
struct ExecProcess;
struct LocalProcess;
class ProcessHosts;
class RemoteProcess;

// A request that came while the start was under way; it takes effect right after the start.
struct Parked {
    Reply reply;
    std::variant<protocol::ReadParams, protocol::WriteParams, protocol::CloseStdinParams,
                 protocol::SignalParams, protocol::ResizeParams, protocol::ScreenParams,
                 protocol::CastParams>
        params;
};

struct Start {
    bool is_over = false; // the program runs, or has run
    bool is_cancelled = false;
    std::optional<Reply> reply = {};
    std::vector<Parked> parked = {};
};

struct Timeout {
    std::uint64_t ms = 0; // from the moment the program runs; 0: no timeout
    std::optional<TimePoint> at = {};
};

struct Exit {
    std::int64_t code = 0;
    int signal = 0; // 0: not ended by a signal
    protocol::Usage usage = {};
    bool is_usage_known = true; // otherwise only the wall time is known
    // The program was confined: its output is searched for a hint that the sandbox stopped it.
    bool wants_sandbox_hint = false;
    std::optional<std::string> sandbox_hint = {}; // the hint that was found
    std::vector<std::string> limit_hits = {};     // names of the limits that ended the program
    // Set if the connection to the environment was lost: then the code is -1 and has no meaning.
    std::optional<Error> failure = {};
};

// State of the ending of a tree.
struct Ending {
    enum class Phase : std::uint8_t { calling_off_start, polite, killing };

    struct Waiter {
        Reply reply;
        bool was_running;
    };

    static constexpr Millis patience{2000}; // until survivors are reported

    Phase phase;
    std::optional<TimePoint> kill_at = {};    // phase polite: when to kill; nullopt: never
    std::optional<TimePoint> look_again = {}; // phase killing: when to look for remaining members
    std::optional<TimePoint> give_up = {};    // when to report the survivors
    std::vector<Waiter> waiters = {};
};

// How the streams of a process are closed.
struct Closing {
    bool is_tree_gone = false;         // the tree has ended with all descendants
    std::optional<TimePoint> due = {}; // if another process holds a stream: when to close anyway
    bool is_given_up = false;          // closed while a stream was open; later output is discarded
};

struct Delivery {
    std::string header = {}; // of the notifications: ","params":{"processId":…,"seq":
    TimePoint last_output = {};
    TimePoint last_input = {};
    std::size_t burst = 0;       // bytes since the process was last quiet
    TimePoint typed_until = {};  // until then, recent input makes the process interactive
    std::size_t typed_burst = 0; // bytes since the last input
    std::uint64_t bulk_end = 0;  // the end of its last message in the bulk lane
};

struct Process {
    Process(std::uint64_t serial_, std::string id_, core::OutputLimits limits)
        : serial(serial_), id(std::move(id_)), log(limits) {}

    bool is_starting() const { return !start.is_over; }

    bool is_running() const { return start.is_over && !exit; }

    bool is_tty() const { return request.terminal.has_value(); }

    // The confinement and the denials of the process, as its backend knows them.
    bool is_confined() const;
    protocol::Confinement confinement() const;
    std::vector<protocol::Denial> denials() const;
    std::uint64_t denial_count() const;
    std::vector<sandbox::HostUse> host_uses() const; // after its end

    // Returns true if everything was sent to the client, to the last byte, and no request waits for
    // an answer.
    bool is_settled(std::uint64_t bulk_sent) const;

    const std::uint64_t serial;
    const std::string id;
    Backend* backend = nullptr; // never null in the table
    os::SpawnRequest request;
    std::uint64_t started_at_ms = 0; // wall clock time
    TimePoint started_at;

    // Parts that only their own rooms can use.
    Part<LocalProcess> local;     // set if the process runs on this machine
    Part<RemoteProcess> remote;   // set if the process runs in another environment
    Part<ExecProcess> exec;       // set if exec/command started the process
    Consumer* consumer = nullptr; // the consumer side of `exec`
    Part<ProcessHosts> hosts;     // set if somebody may be asked about its network by host
    sandbox::HostAsking* host_asking = nullptr; // the gateway's side of `hosts`

    Start start;
    std::uint64_t grace_ms = 0;
    Timeout timeout;
    bool timed_out = false;
    std::optional<Ending> ending;
    std::optional<Exit> exit; // set when the leader has ended
    bool exit_is_logged = false;
    bool is_closed = false;
    Closing closing;

    InputQueue input;
    InputMemory input_memory;
    bool is_output_open = false; // more output may come
    core::OutputLog log;
    core::KeyModeTracker key_modes;     // of a terminal
    core::SizeHistory sizes;            // of a terminal, after its first one
    core::OutputTimes times;            // of a terminal
    std::unique_ptr<LiveScreen> screen; // null: nobody looks
    Delivery delivery;
    ReadQueue reads;
};

} // namespace ew::server

// One program and everything execward holds for it, from the start request until it is pruned.
// State only: process_service decides, its backend runs it, output_delivery tells its output.
#pragma once

#include "base/clock.h"
#include "core/output/output_log.h"
#include "os/spawn.h"
#include "protocol/process.h"
#include "server/connection/reply.h"
#include "server/process/input_queue.h"
#include "server/process/part.h"
#include "server/process/read_queue.h"

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace ew::server {

class Backend;
class Consumer;
struct ExecProcess;
struct LocalProcess;
class RemoteProcess;

// A request that came while the start was under way; it takes effect right after it.
struct Parked {
    Reply reply;
    std::variant<protocol::ReadParams, protocol::WriteParams, protocol::CloseStdinParams,
                 protocol::SignalParams, protocol::ResizeParams>
        params;
};

struct Start {
    bool is_over = false; // it runs, or has run
    bool is_cancelled = false;
    std::optional<Reply> reply = {};
    std::vector<Parked> parked = {};
};

struct Timeout {
    std::uint64_t ms = 0; // from the moment it runs; 0: none
    std::optional<TimePoint> at = {};
};

struct Exit {
    std::int64_t code = 0;
    int signal = 0; // 0: it exited by itself
    protocol::Usage usage = {};
    bool is_usage_known = true; // else only the wall time is
    // Whether its output hints that the sandbox stopped it is yet to be found out.
    bool wants_sandbox_hint = false;
    std::optional<std::string> sandbox_hint = {}; // in its output, that the sandbox stopped it
    std::vector<std::string> limit_hits = {};     // names of the limits that ended it
    // The connection to where it runs was lost: the code, -1, says nothing.
    std::optional<Error> failure = {};
};

// The tree is being ended.
struct Ending {
    enum class Phase : std::uint8_t { calling_off_start, polite, killing };

    struct Waiter {
        Reply reply;
        bool was_running;
    };

    static constexpr Millis patience{2000}; // until survivors are named

    Phase phase;
    std::optional<TimePoint> kill_at = {};    // polite: patience ends; absent: never
    std::optional<TimePoint> look_again = {}; // killing: for members that are still there
    std::optional<TimePoint> give_up = {};    // name the survivors
    std::vector<Waiter> waiters = {};
};

// How its streams are closed.
struct Closing {
    bool is_tree_gone = false;         // it was ended with all descendants
    std::optional<TimePoint> due = {}; // a stranger holds a stream: close anyway then
    bool is_given_up = false;          // closed while a stream was open; what comes is discarded
};

struct Delivery {
    std::string header = {}; // of its notifications: ","params":{"processId":…,"seq":
    TimePoint last_output = {};
    std::size_t burst = 0;       // bytes since it was last quiet
    TimePoint typed_until = {};  // it was written to shortly before
    std::size_t typed_burst = 0; // bytes since then
    std::uint64_t bulk_end = 0;  // where its last message in the bulk lane ends
};

struct Process {
    Process(std::uint64_t serial_, std::string id_, core::OutputLimits limits)
        : serial(serial_), id(std::move(id_)), log(limits) {}

    bool is_starting() const { return !start.is_over; }

    bool is_running() const { return start.is_over && !exit; }

    bool is_tty() const { return request.terminal.has_value(); }

    // What its sandbox is and has refused, as its backend knows it.
    bool is_confined() const;
    protocol::Confinement confinement() const;
    std::vector<protocol::Denial> denials() const;
    std::uint64_t denial_count() const;

    // Everything was told to the client, to the last byte, and nobody waits for an answer.
    bool is_settled(std::uint64_t bulk_sent) const;

    const std::uint64_t serial;
    const std::string id;
    Backend* backend = nullptr; // where it runs; never null in the table
    os::SpawnRequest request;
    std::uint64_t started_at_ms = 0; // wall clock
    TimePoint started_at;

    // What only their own rooms can open.
    Part<LocalProcess> local;     // it runs on this machine
    Part<RemoteProcess> remote;   // it runs in another environment
    Part<ExecProcess> exec;       // it was started by exec/command
    Consumer* consumer = nullptr; // the same, as this room knows it

    Start start;
    std::uint64_t grace_ms = 0;
    Timeout timeout;
    bool timed_out = false;
    std::optional<Ending> ending;
    std::optional<Exit> exit; // the leader has ended
    bool exit_is_logged = false;
    bool is_closed = false;
    Closing closing;

    InputQueue input;
    bool is_output_open = false; // more may come
    core::OutputLog log;
    Delivery delivery;
    ReadQueue reads;
};

} // namespace ew::server

// One program and everything execward holds for it, from the start request until it is pruned.
// State only: process_service decides, its backend runs it, output_pump reads and delivers. What is
// of this machine stays empty in a process that runs elsewhere.
#pragma once

#include "base/byte_buffer.h"
#include "base/clock.h"
#include "base/unique_fd.h"
#include "core/output/output_log.h"
#include "os/spawn.h"
#include "protocol/process.h"
#include "server/confine/process_sandbox.h"
#include "server/connection/reply.h"
#include "server/process/exec_process.h"
#include "server/process/remote_process.h"

#include <sys/resource.h>

#include <array>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <unordered_set>
#include <variant>
#include <vector>

namespace ew::server {

class Backend;

// One stream we read: a pipe or the master of a terminal.
struct OutputStream {
    UniqueFd fd; // empty once the stream has ended
    core::Stream name = core::Stream::out;
    bool is_bulk = false;   // watched in the set of flooding processes
    bool is_masked = false; // not watched, because the log is full or nothing can come
    std::size_t backlog =
        0; // bytes that were there at the exit and have to be read before it is told
};

struct WaitingRead {
    Reply reply;
    protocol::ReadParams params;
    std::optional<TimePoint> deadline;
};

struct HeldWrite {
    Reply reply;
    protocol::WriteParams params;
};

// A request that came while the start was under way; it takes effect right after it.
struct Parked {
    Reply reply;
    std::variant<protocol::ReadParams, protocol::WriteParams, protocol::CloseStdinParams,
                 protocol::SignalParams, protocol::ResizeParams>
        params;
};

struct Exit {
    std::int64_t code = 0;
    int signal = 0; // 0: it exited by itself
    protocol::Usage usage = {};
    std::optional<std::string> sandbox_hint = {}; // in its output, that the sandbox stopped it
    std::vector<std::string> limit_hits = {};     // names of the limits that ended it
    // The connection to where it runs was lost: the code, -1, says nothing.
    std::optional<Error> failure = {};
    bool is_usage_known = true; // else only the wall time is
};

// The end of bubblewrap came before the news of whether the program ran.
struct EarlyEnd {
    int status = 0;
    rusage usage = {};
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

struct Input {
    bool is_open = false; // it runs, and has a stdin or a terminal that was not closed
    UniqueFd fd;          // here: of a pipe, or a duplicate of the terminal's master
    ByteBuffer queued;    // accepted
    std::deque<HeldWrite> held;
    std::size_t held_bytes = 0;
    bool close_when_written = false;
    bool is_watched = false;     // here
    std::size_t line_length = 0; // of a terminal: typed since the last line end
    std::unordered_set<std::string> accepted_ids;
    std::deque<std::string> accepted_order;
};

struct Process {
    Process(std::uint64_t serial_, std::string id_, core::OutputLimits limits)
        : serial(serial_), id(std::move(id_)), log(limits) {}

    ~Process();
    Process(const Process&) = delete;
    Process& operator=(const Process&) = delete;

    bool is_starting() const { return !has_started; }

    // Who leads the session and group of the program. Unlike `pid` in a sandbox, where that is
    // bubblewrap, which waits outside.
    pid_t leader() const { return sandbox && sandbox->leader() != 0 ? sandbox->leader() : pid; }

    bool is_confined() const {
        return sandbox || (remote && remote->confinement.type != protocol::SandboxType::none);
    }

    // What its sandbox was and refused. Nothing of an unconfined process.
    protocol::Confinement confinement() const {
        if (remote) return remote->confinement;
        return sandbox ? sandbox->to_wire() : protocol::Confinement{};
    }

    std::vector<protocol::Denial> denials() const {
        if (remote) return remote->denials;
        return sandbox ? sandbox->denials() : std::vector<protocol::Denial>{};
    }

    std::uint64_t denial_count() const {
        if (remote) return remote->denial_count;
        return sandbox ? sandbox->denial_count() : 0;
    }

    // Known once the exit is told.
    std::optional<std::string> sandbox_hint() const {
        return exit ? exit->sandbox_hint : std::nullopt;
    }

    std::vector<std::string> limit_hits() const {
        return exit ? exit->limit_hits : std::vector<std::string>{};
    }

    bool is_running() const { return !is_starting() && !exit; }

    bool streams_ended() const { return !is_output_open; }

    bool is_tty() const { return request.terminal.has_value(); }

    // Everything was told to the client, to the last byte, and nobody waits for an answer.
    bool is_settled(std::uint64_t bulk_sent) const {
        return is_closed && !log.has_undelivered() && bulk_sent >= bulk_end &&
               waiting_reads.empty() && !ending && (!exec || exec->is_settled());
    }

    const std::uint64_t serial;
    const std::string id;
    Backend* backend = nullptr; // where it runs; never null in the table
    os::SpawnRequest request;
    std::string header; // of its notifications: {"jsonrpc":…,"params":{"processId":…,"seq":
    std::uint64_t started_at_ms = 0; // wall clock
    TimePoint started_at;
    std::uint64_t last_used = 0;       // the service's count of uses
    std::unique_ptr<ExecProcess> exec; // it was started by exec/command: what that needs

    // start
    bool has_started = false; // it runs, or has run
    std::optional<Reply> start_reply;
    bool start_is_cancelled = false;
    std::vector<Parked> parked;

    // start on this machine
    pid_t pid = 0;                           // 0: it has no process here, or none yet
    std::unique_ptr<os::PendingStart> start; // without a sandbox, until the report says how it went
    std::unique_ptr<ProcessSandbox> sandbox; // null: it is not confined here
    std::optional<EarlyEnd> early_end;
    std::optional<Error> start_failure; // told once its sandbox is cleared away
    bool may_start_again = false;       // instead of that
    std::size_t start_tries = 1;        // as far as they have begun

    std::unique_ptr<RemoteProcess> remote; // null: it runs on this machine

    // life
    std::uint64_t grace_ms = 0;
    std::uint64_t timeout_ms = 0; // from the moment it runs; 0: none
    std::optional<TimePoint> timeout_at;
    bool timed_out = false;
    std::optional<Ending> ending;
    std::optional<Exit> exit; // the leader has ended
    bool exit_is_logged = false;
    bool is_closed = false;
    bool is_tree_gone = false;         // it was ended with all descendants
    std::optional<TimePoint> close_at; // a stranger holds a stream: close anyway then
    bool is_given_up = false;          // closed while a stream was open; what comes is discarded

    // output on this machine
    std::array<OutputStream, 2> streams;     // [0] stdout or the terminal, [1] stderr
    std::optional<TimePoint> terminal_retry; // nobody has the terminal open: look again then
    Millis terminal_patience{0};             // how long the last look waited

    // output
    bool is_output_open = false; // more may come
    core::OutputLog log;
    std::vector<WaitingRead> waiting_reads;
    bool has_blocked_reads = false; // they could be answered, but the client takes no answers
    TimePoint last_output;
    std::size_t burst = 0;       // bytes since it was last quiet
    TimePoint typed_until;       // it was written to shortly before
    std::size_t typed_burst = 0; // bytes since then
    std::uint64_t bulk_end = 0;  // where its last message in the bulk lane ends

    Input input;
};

} // namespace ew::server

// The methods process/*, and the life of the programs behind them, wherever they run: how they are
// started, fed, read and ended is their backend's.
#pragma once

#include "base/clock.h"
#include "os/poller.h"
#include "protocol/process.h"
#include "server/connection/outbox.h"
#include "server/connection/reply.h"
#include "server/process/backend.h"
#include "server/process/output_pump.h"
#include "server/process/process_table.h"
#include "server/request/sandbox_request.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ew::server {

struct ProcessSettings {
    SandboxSelection selection = SandboxSelection::automatic;
    ServerSide side = {};
    core::OutputLimits output = {};
    std::optional<Millis> close_grace =
        {}; // absent: `closed` waits for the streams as long as it takes
};

class ProcessService {
public:
    static constexpr std::size_t input_queue = 8
                                               << 20; // bytes accepted and not yet taken, a process
    static constexpr std::size_t input_held = 64 << 20;   // bytes of held writes, a process
    static constexpr std::size_t waiting_requests = 4096; // reads, held writes, parked ones, in all
    static constexpr std::size_t remembered_write_ids = 4096; // a process

    ProcessService(ProcessSettings settings, os::Poller& poller, os::Poller& bulk_poller,
                   Outbox& outbox)
        : settings_(std::move(settings)), outbox_(outbox), pump_(poller, bulk_poller, outbox) {}

    // Of this machine: where everything starts that names no other. Set before the first request.
    void set_local(Backend& backend) { local_ = &backend; }

    void handle(Reply reply, protocol::StartParams params);
    void handle(Reply reply, protocol::ReadParams params);
    void handle(Reply reply, protocol::WriteParams params);
    void handle(Reply reply, protocol::CloseStdinParams params);
    void handle(Reply reply, protocol::SignalParams params);
    void handle(Reply reply, const protocol::TerminateParams& params);
    void handle(Reply reply, protocol::ResizeParams params);
    void list(Reply reply);

    // For the exec layer. Starts a program under a free `id`; `request` lacks only what its backend
    // adds. Errors: too_many_processes, denied, sandbox_unavailable, and those of the backend. What
    // comes of it is told by take_news() and take_failed_starts().
    struct Launch {
        os::SpawnRequest request;
        std::optional<SandboxOrder> sandbox = {}; // on this machine
        std::uint64_t grace_ms = 0;
        std::uint64_t timeout_ms = 0; // 0: none
        std::optional<Reply> reply = {};
        std::unique_ptr<ExecProcess> exec = {};
        Backend* backend = nullptr;                // null: this machine
        std::optional<RemoteStart> elsewhere = {}; // what that backend needs
    };

    struct FailedStart {
        std::uint64_t call = 0; // of the exec layer
        Error error = {};
    };

    // On an error `launch` keeps its reply.
    Result<Process*> launch(std::string id, Launch& launch);

    Process* find(std::string_view id) { return table_.find(id); }

    Process* find(std::uint64_t serial) { return table_.find(serial); }

    Error unknown(std::string_view id) const;

    void touch(Process& process) { table_.touch(process); }

    template <class Function>
    void for_each(Function function) {
        table_.for_each(function);
    }

    void deliver(Process& process) { (void)pump_.deliver(process, now_); }

    // False: more than input_queue bytes are waiting already, and nothing was added.
    bool type(Process& process, std::string_view bytes);
    void end_input(Process& process);
    void end(Process& process, std::uint64_t grace_ms);

    // What backends tell of descendants is as of now.
    void refresh() { table_.refresh(); }

    // Serials of exec processes that started, put something out, or ended since the last call.
    std::vector<std::uint64_t> take_news() { return std::exchange(news_, {}); }

    std::vector<FailedStart> take_failed_starts() { return std::exchange(failed_starts_, {}); }

    bool has_news() const { return !news_.empty() || !failed_starts_.empty(); }

    // A waiting request is answered with "cancelled"; the process goes on. False: nothing waits.
    bool cancel(const json::Id& id);

    void on_time(TimePoint now);
    std::optional<TimePoint> next_deadline();

    // Output that could not be delivered for want of room. True: some of it could be now.
    bool deliver_pending();
    bool has_undelivered();

    void set_now(TimePoint now) { now_ = now; }

    void set_side(ServerSide side) { settings_.side = std::move(side); }

    void set_client_wants_extensions(bool wants) { wants_extensions_ = wants; }

    void pause_or_resume_bulk() { pump_.pause_or_resume_bulk(table_, now_); }

    // What backends tell.

    // It runs: sends the answer to its start, and lets what waited for that take effect. The
    // backend has set input.is_open and is_output_open.
    void begin_running(Process& process);

    // Nothing of it has run, or runs any more. The process is gone after this.
    void fail_start(Process& process, Error error);

    // The leader has ended. Output can still come; settle() tells what there is to tell.
    void note_exit(Process& process, Exit exit);

    // Brings everything that follows from new output or from the exit up to date.
    void settle(Process& process);

    // Nothing can be written to it any more.
    void close_input(Process& process);

    // input.queued has become shorter.
    void release_held_writes(Process& process);

    // A start is called off: whoever waits for its end is told by finish_ending() or fail_start().
    Ending& expect_end(Process& process);

    // The tree has ended, but for `survivors`.
    void finish_ending(Process& process, const std::vector<std::int64_t>& survivors);

    // Nobody knows whether it has.
    void fail_ending(Process& process, const Error& error);

    OutputPump& pump() { return pump_; }

    ProcessTable& table() { return table_; }

    TimePoint now() const { return now_; }

private:
    // requests
    void warn_when_nearly_full();
    template <class Params>
    bool park_if_starting(Process* process, Reply& reply, Params& params);
    bool refuse_if_too_many_wait(Reply& reply);
    std::size_t waiting_count();
    void note_news(Process& process);
    void answer_read(Process& process, Reply reply, const protocol::ReadParams& params);
    bool read_must_wait(Process& process, const protocol::ReadParams& params) const;

    // input
    void take_write(Process& process, Reply reply, protocol::WriteParams params);
    std::size_t append_input(Process& process, std::string_view bytes);

    // life
    Result<void> check_selection(const Launch& launch) const;
    void call_off_start(Process& process);
    void handle_parked(std::vector<Parked> parked);
    void tell_exit_if_drained(Process& process);
    void close_if_ended(Process& process);
    void wake_reads(Process& process);
    void check_timers(Process& process);

    ProcessSettings settings_;
    Outbox& outbox_;
    OutputPump pump_;
    ProcessTable table_;
    Backend* local_ = nullptr;
    TimePoint now_;
    bool wants_extensions_ = false;
    bool has_warned_ = false;
    std::size_t next_to_deliver_ = 0; // place that is first to use room in the outbox
    std::vector<std::uint64_t> news_;
    std::vector<FailedStart> failed_starts_;
};

} // namespace ew::server

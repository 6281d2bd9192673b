// The methods process/*, and the life of the programs behind them.
#pragma once

#include "base/clock.h"
#include "os/poller.h"
#include "os/signals.h"
#include "protocol/process.h"
#include "server/families.h"
#include "server/outbox.h"
#include "server/output_pump.h"
#include "server/process_table.h"
#include "server/reply.h"
#include "server/sandbox_host.h"
#include "server/sandbox_request.h"

#include <sys/resource.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ew::server {

// What a server starts at all.
enum class SandboxSelection : std::uint8_t {
    automatic, // with or without a sandbox, as a start asks for
    require,   // only with
    forbid,    // only without
};

struct ProcessSettings {
    SandboxSelection selection = SandboxSelection::automatic;
    ServerSide side = {};
    rlimit open_files = {}; // of programs that are given no other limit
    sandbox::TrialPlaces sandbox = {};
    std::string journal = {}; // of the sandboxes' placeholders
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
    static constexpr std::size_t most_start_tries = 5;    // of what goes away while it is mounted
    static constexpr std::size_t remembered_write_ids = 4096; // a process

    ProcessService(ProcessSettings settings, os::Poller& poller, os::Poller& bulk_poller,
                   Outbox& outbox, os::Cookies cookies);

    void handle(Reply reply, protocol::StartParams params);
    void handle(Reply reply, protocol::ReadParams params);
    void handle(Reply reply, protocol::WriteParams params);
    void handle(Reply reply, protocol::CloseStdinParams params);
    void handle(Reply reply, protocol::SignalParams params);
    void handle(Reply reply, const protocol::TerminateParams& params);
    void handle(Reply reply, protocol::ResizeParams params);
    void list(Reply reply);

    // For the exec layer. Starts a program under a free `id`; `request` lacks the mark only.
    // Errors: too_many_processes, spawn_failed, sandbox_unavailable. What comes of it is told by
    // take_news() and take_failed_starts().
    struct Launch {
        os::SpawnRequest request;
        std::optional<ConfinedStart> sandbox = {};
        std::uint64_t grace_ms = 0;
        std::uint64_t timeout_ms = 0; // 0: none
        std::optional<Reply> reply = {};
        std::unique_ptr<ExecProcess> exec = {};
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
    bool interrupt(Process& process);
    void end(Process& process, std::uint64_t grace_ms);
    // As of the last refresh().
    std::vector<std::int64_t> descendants(const Process& process);

    void refresh() { families_.refresh(table_.leaders()); }

    // Serials of exec processes that started, put something out, or ended since the last call.
    std::vector<std::uint64_t> take_news() { return std::exchange(news_, {}); }

    std::vector<FailedStart> take_failed_starts() { return std::exchange(failed_starts_, {}); }

    bool has_news() const { return !news_.empty() || !failed_starts_.empty(); }

    // A waiting request is answered with "cancelled"; the process goes on. False: nothing waits.
    bool cancel(const json::Id& id);

    // What the loop found.
    void on_start_report(std::uint64_t serial);
    void on_output(std::uint64_t serial, std::size_t stream, std::size_t budget);
    void on_input_room(std::uint64_t serial);
    void on_children();
    void on_time(TimePoint now);
    std::optional<TimePoint> next_deadline();

    // Output that could not be delivered for want of room. True: some of it could be now.
    bool deliver_pending();
    bool has_undelivered();

    // Reads the processes that were typed to lately, without waiting for the poller's turn.
    void read_hot();

    bool has_hot() const { return !hot_.empty(); }

    void set_now(TimePoint now) { now_ = now; }

    void set_side(ServerSide side) { settings_.side = std::move(side); }

    void set_client_wants_extensions(bool wants) { wants_extensions_ = wants; }

    void pause_or_resume_bulk() { pump_.pause_or_resume_bulk(table_, now_); }

    // What can be enforced here; null as long as that is not known. need_machine() finds out.
    const sandbox::Machine* machine() const { return host_.machine(); }

    void need_machine() { host_.need(now_); }

    SandboxHost& sandbox_host() { return host_; }

    void on_machine();
    void on_supervisor(std::uint64_t serial);
    void on_clearing(std::uint64_t serial);

    // The server ends: starts that wait are refused.
    void refuse_waiting(const Error& error);

    // Kills every process there is below this one, but for those that clear up after sandboxes, of
    // which `spared` are not ours.
    void kill_everything(std::vector<pid_t> spared);

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
    void take_write(Process& process, Reply reply, protocol::WriteParams params);

    // life
    void finish_start(Process& process, const os::StartFailure& failure);
    void finish_confined(Process& process, const sandbox::Launch::Outcome& outcome);
    void take_over(Process& process, os::Spawned spawned);
    void fail_start(Process& process, Error error);
    void start_again_or_fail(Process& process);
    Result<void> check_selection(const Launch& launch) const;
    Result<void> begin_plain(Process& process);
    Result<void> begin_confined(Process& process);
    Result<void> launch_confined(Process& process);
    std::vector<std::uint64_t> waiting_for_machine(); // serials
    void begin_waiting();
    void handle_parked(std::vector<Parked> parked);
    void on_exit(Process& process, int status, const rusage& usage);
    void read_what_is_left(Process& process);
    void settle(Process& process);
    void tell_exit_if_drained(Process& process);
    void close_if_ended(Process& process);
    void wake_reads(Process& process);
    void close_input(Process& process);
    void write_input(Process& process);
    void release_held_writes(Process& process);
    bool signal_tree(Process& process, int signal, protocol::SignalScope scope);
    void begin_ending(Process& process, std::uint64_t grace_ms);
    void kill_tree(Process& process);
    void continue_ending(Process& process);
    void finish_ending(Process& process, const std::vector<os::ProcessIdentity>& survivors);
    std::vector<os::ProcessIdentity> members(Process& process);
    std::vector<os::ProcessIdentity> members_now(const Process& process) const;
    void type_end_of_file(Process& process);
    std::size_t append_input(Process& process, std::string_view bytes);
    void check_timers(Process& process);
    void forget_cold();
    void cancel_start(Process& process);
    Ending& expect_end(Process& process);

    ProcessSettings settings_;
    os::Poller& poller_;
    Outbox& outbox_;
    OutputPump pump_;
    ProcessTable table_;
    Families families_;
    SandboxHost host_;
    TimePoint now_;
    bool wants_extensions_ = false;
    bool has_warned_ = false;
    std::size_t next_to_deliver_ = 0; // place that is first to use room in the outbox
    std::vector<std::uint64_t> news_;
    std::vector<FailedStart> failed_starts_;
    std::vector<std::uint64_t> hot_; // serials of processes that were typed to lately
};

} // namespace ew::server

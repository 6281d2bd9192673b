// Programs on this machine: children of this process, with or without a sandbox, their streams and
// their descendants.
#pragma once

#include "base/clock.h"
#include "os/cookie.h"
#include "os/poller.h"
#include "os/proc.h"
#include "sandbox/trial/trial.h"
#include "server/confine/sandbox_host.h"
#include "server/local/descendants.h"
#include "server/process/backend.h"
#include "server/process/process_service.h"

#include <sys/resource.h>
#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ew::server {

struct LocalSettings {
    rlimit open_files = {}; // of programs that are given no other limit
    sandbox::TrialPlaces sandbox = {};
    std::string journal = {}; // of the sandboxes' placeholders
};

class LocalBackend final : public Backend {
public:
    LocalBackend(LocalSettings settings, ProcessService& processes, os::Poller& poller,
                 os::Cookies cookies);

    Result<void> begin(Process& process) override;
    void look_at_start(Process& process) override;
    void call_off_start(Process& process) override;
    void write_input(Process& process) override;
    void end_input(Process& process) override;
    void signal(Process& process, Reply reply, const protocol::SignalParams& params) override;
    void interrupt(Process& process) override;
    void resize(Process& process, Reply reply, const protocol::WindowSize& size) override;
    std::optional<os::LineMode> line_mode(const Process& process) const override;
    bool has_left_overs(Process& process) override;
    void begin_ending(Process& process, std::uint64_t grace_ms) override;
    void refresh() override;
    std::vector<std::int64_t> descendants(const Process& process) override;
    void check_timers(Process& process) override;
    std::optional<TimePoint> next_deadline(const Process& process) const override;

    // What the loop found.
    void on_start_report(std::uint64_t serial);
    void on_output(std::uint64_t serial, std::size_t stream, std::size_t budget);
    void on_input_room(std::uint64_t serial);

    // A child that has ended and is no program of a process: its wait status.
    struct Stranger {
        pid_t pid = 0;
        int status = 0;
    };

    // Reaps all that have ended.
    std::vector<Stranger> on_children();
    void on_machine();
    void on_supervisor(std::uint64_t serial);
    void on_clearing(std::uint64_t serial);

    // Of what is no process's: what can be enforced here.
    void on_time();

    std::optional<TimePoint> next_deadline() const { return host_.next_deadline(); }

    // Reads the processes that were typed to lately, without waiting for the poller's turn.
    void read_hot();

    bool has_hot() const { return !hot_.empty(); }

    SandboxHost& sandbox_host() { return host_; }

    // The server ends: starts that wait are refused.
    void refuse_waiting(const Error& error);

    // Kills every process there is below this one, but for those that clear up after sandboxes, of
    // which `spared` are not ours.
    void kill_everything(std::vector<pid_t> spared);

private:
    // start
    Result<void> begin_plain(Process& process);
    Result<void> begin_confined(Process& process);
    Result<void> launch_confined(Process& process);
    void finish_plain(Process& process, const os::StartFailure& failure);
    void finish_confined(Process& process, const sandbox::Launch::Outcome& outcome);
    void take_over(Process& process, os::Spawned spawned);
    void start_again_or_fail(Process& process);
    std::vector<std::uint64_t> waiting_for_machine(); // serials
    void begin_waiting();

    // life
    void on_exit(Process& process, int status, const rusage& usage);
    void read_what_is_left(Process& process);
    void write_queued(Process& process);
    void close_input(Process& process);
    void let_go_of_input(Process& process);
    void forget_cold();
    bool is_hot(const Process& process) const;

    // ending
    std::vector<os::ProcessIdentity> members(Process& process);
    std::vector<os::ProcessIdentity> members_now(const Process& process) const;
    bool signal_tree(Process& process, int signal, protocol::SignalScope scope);
    void kill_tree(Process& process);
    void continue_ending(Process& process);
    void finish_ending(Process& process, const std::vector<os::ProcessIdentity>& survivors);

    LocalSettings settings_;
    ProcessService& processes_;
    os::Poller& poller_;
    Descendants descendants_;
    SandboxHost host_;
    std::vector<std::uint64_t> hot_; // serials of processes that were typed to lately
};

} // namespace ew::server

// The sandbox of one process: what was wished for, the start, who supervises it, what it refused.
#pragma once

#include "base/clock.h"
#include "os/errand.h"
#include "os/poller.h"
#include "protocol/sandbox.h"
#include "sandbox/launch/launch.h"
#include "sandbox/policy/policy.h"
#include "sandbox/supervise/supervisor.h"
#include "server/request/sandbox_request.h"

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace ew::server {

class ProcessSandbox {
public:
    static constexpr std::size_t most_tries = 5; // when things go away while they are mounted

    explicit ProcessSandbox(SandboxOrder wish) : wish_(std::move(wish)) {}

    // Errors: as sandbox::Launch::begin. `request` is what is to run.
    // `guarded`: see sandbox::LaunchOrder.
    Result<void> launch(const os::SpawnRequest& request, const sandbox::Machine& machine,
                        std::string journal, int guarded);

    // After the start; empty unless it has made something that others can use too.
    UniqueFd take_guarded() { return launch_ ? launch_->take_guarded() : UniqueFd(); }

    // Also after its end: a start that failed is not one that waits for the machine to be known.
    bool is_launched() const { return is_launched_; }

    int start_report() const { return launch_->status(); }

    os::Spawned& spawned() { return launch_->spawned(); }

    // Absent: not known yet.
    std::optional<sandbox::Launch::Outcome> outcome() { return launch_->outcome(); }

    // It runs: from now on its calls are supervised.
    void begin(os::Poller& poller, std::uint64_t serial);

    // Of the program; 0 before begin(). The process that is waited for is another: bubblewrap.
    pid_t leader() const { return leader_; }

    // The first process in there, which must not be signalled: it would take all others along.
    pid_t first_process() const { return first_process_; }

    void on_supervisor(TimePoint now);
    void on_time(TimePoint now);
    std::optional<TimePoint> next_deadline() const;

    // The wait status of the program, which `fallback`, that of bubblewrap, only resembles.
    int wait_status(int fallback);

    // Everything in it has ended, or it did not come about: lets go of all that it needed, keeps
    // what it was and refused, and takes away what held places for it, in a process of its own.
    void end(os::Poller& poller, std::uint64_t serial, TimePoint now);

    // False: what holds places is still being taken away, so the end is not told yet.
    bool is_cleared() const { return !clearing_; }

    pid_t clearing_process() const { return clearing_ ? clearing_->pid() : 0; }

    void on_clearing(os::Poller& poller, TimePoint now);

    const SandboxOrder& wish() const { return wish_; }

    const sandbox::Policy& policy() const { return wish_.policy; }

    protocol::Confinement to_wire() const;
    std::vector<protocol::Denial> denials() const;
    std::uint64_t denial_count() const;

    const std::vector<std::string>& notes() const { return notes_; }

private:
    void clear(os::Poller& poller, std::uint64_t serial, TimePoint now);

    SandboxOrder wish_;
    sandbox::GuaranteeSet missing_;
    std::vector<std::string> notes_;
    sandbox::DenialLog denials_; // of a supervisor that is gone
    std::string journal_;
    bool is_launched_ = false;
    bool has_mounts_ = true;
    sandbox::SupervisorSettings supervision_;
    std::unique_ptr<sandbox::Launch> launch_;
    std::unique_ptr<sandbox::Supervisor> supervisor_; // null: the machine has no notification
    std::optional<os::Errand> clearing_;
    pid_t leader_ = 0;
    pid_t first_process_ = 0;
};

} // namespace ew::server

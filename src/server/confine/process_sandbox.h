// The sandbox of one process: what was asked for, its run, and what the client is told of both.
#pragma once

#include "base/clock.h"
#include "os/poller.h"
#include "protocol/sandbox.h"
#include "sandbox/launch/launch.h"
#include "sandbox/policy/policy.h"
#include "sandbox/run/confined_run.h"
#include "server/request/sandbox_request.h"

#include <sys/types.h>

#include <cstdint>
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
                        const std::string& journal, int guarded);

    // Also after its end: a start that failed is not one that waits for the machine to be known.
    bool is_launched() const { return run_.has_value(); }

    // The run may be asked for after launch().
    sandbox::ConfinedRun& run() { return *run_; }

    // The program runs: from now on its calls are supervised.
    void begin(os::Poller& poller, std::uint64_t serial);

    // Of the program; 0 before it runs. The process that is waited for is another: bubblewrap.
    pid_t leader() const { return run_ ? run_->leader() : 0; }

    // The first process in there, which must not be signalled: it would take all others along.
    pid_t first_process() const { return first_process_; }

    void on_supervisor(TimePoint now);
    void on_time(TimePoint now);
    std::optional<TimePoint> next_deadline() const;

    // The wait status of the program, which `fallback`, that of bubblewrap, only resembles.
    int wait_status(int fallback);

    // Everything in it has ended, or it did not come about: drops all that it needed, keeps what it
    // was and refused, and removes its placeholders in a process of its own.
    void end(os::Poller& poller, std::uint64_t serial, TimePoint now);

    // Returns false while placeholders are being removed; the end is not told until then.
    bool is_cleared() const { return !run_ || !run_->is_cleaning_up(); }

    pid_t clearing_process() const { return is_cleared() ? 0 : run_->cleanup_process(); }

    void on_clearing(os::Poller& poller, TimePoint now);

    const SandboxOrder& wish() const { return wish_; }

    const sandbox::Policy& policy() const { return wish_.policy; }

    protocol::Confinement to_wire() const;
    std::vector<protocol::Denial> denials() const;

    std::uint64_t denial_count() const { return run_ ? run_->denials().total() : 0; }

    std::vector<std::string> notes() const {
        return run_ ? run_->notes() : std::vector<std::string>();
    }

private:
    SandboxOrder wish_;
    bool has_mounts_ = true;
    std::optional<sandbox::ConfinedRun> run_;
    pid_t first_process_ = 0;
};

} // namespace ew::server

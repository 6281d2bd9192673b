// The sandbox of one process: its order, its run, and the report to the client about both.
#pragma once

#include "base/clock.h"
#include "os/poller.h"
#include "protocol/sandbox.h"
#include "sandbox/gateway/host_use.h"
#include "sandbox/launch/launch.h"
#include "sandbox/policy/policy.h"
#include "sandbox/run/confined_run.h"
#include "server/confine/sandbox_host.h"
#include "server/request/sandbox_request.h"

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ew::server {

std::vector<protocol::Denial> to_wire(const sandbox::DenialLog& denials);

class ProcessSandbox {
public:
    explicit ProcessSandbox(SandboxOrder wish) : wish_(std::move(wish)) {}

    // Errors: those of sandbox::Launch::begin. `request` is the program to run. The host knows its
    // machine.
    Result<void> launch(const os::SpawnRequest& request, const std::string& journal,
                        SandboxHost& host);

    // Returns true also after the end of the run. A process whose launch failed must not look as if
    // it still waited for the trial of the machine.
    bool is_launched() const { return run_.has_value(); }

    // Valid only after launch().
    sandbox::ConfinedRun& run() { return *run_; }

    // The program runs now: begins to supervise it. `asking`: see sandbox::Gateway::start().
    void begin(os::Poller& poller, std::uint64_t serial, sandbox::HostAsking* asking);

    // Returns the pid of the program, or 0 before it runs. The server waits for another process:
    // bubblewrap.
    pid_t leader() const { return run_ ? run_->leader() : 0; }

    // Returns the pid of the first process in the sandbox. A signal to it would end all the others,
    // too.
    pid_t first_process() const { return first_process_; }

    void on_supervisor(TimePoint now);
    void on_time(TimePoint now);
    std::optional<TimePoint> next_deadline() const;

    // It has reported its status. Its pid may be another process's by now.
    bool has_program_ended() { return run_ && run_->wait_status().has_value(); }

    // Returns the wait status of the program. `fallback` is the status of bubblewrap, which only
    // resembles it.
    int wait_status(int fallback);

    // Everything in the sandbox has ended, or its launch failed. Releases its resources, keeps its
    // confinement and denials for the report, and starts a process that removes its placeholders.
    void end(os::Poller& poller, std::uint64_t serial, TimePoint now);

    // Returns false while placeholders are being removed. The end of the process is reported
    // afterwards.
    bool is_cleared() const { return !run_ || !run_->is_cleaning_up(); }

    pid_t clearing_process() const { return is_cleared() ? 0 : run_->cleanup_process(); }

    void on_clearing(os::Poller& poller, TimePoint now);

    const SandboxOrder& wish() const { return wish_; }

    const sandbox::Policy& policy() const { return wish_.policy; }

    protocol::Confinement to_wire() const;
    std::vector<protocol::Denial> denials() const;

    std::vector<sandbox::HostUse> host_uses() const {
        return run_ ? run_->host_uses() : std::vector<sandbox::HostUse>();
    }

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

// One program in a sandbox, from its launch to the cleanup after it. Owns the launch, the
// supervisor that answers the program's calls, and the errand of the cleanup. It never waits: the
// owner watches the descriptors that it names, and calls it at its deadlines.
#pragma once

#include "base/clock.h"
#include "base/result.h"
#include "os/errand.h"
#include "os/spawn.h"
#include "sandbox/gateway/host_asking.h"
#include "sandbox/gateway/host_use.h"
#include "sandbox/launch/launch.h"
#include "sandbox/policy/guarantees.h"
#include "sandbox/run/cleanup.h"
#include "sandbox/supervise/denials.h"
#include "sandbox/supervise/supervision.h"

#include <sys/types.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace ew::sandbox {

class Supervisor;
struct WayOut;

class ConfinedRun {
public:
    // The parent of the program is this process. Errors: as Launch::begin.
    static Result<ConfinedRun> begin(LaunchOrder order);
    ~ConfinedRun();
    ConfinedRun(ConfinedRun&&) noexcept;
    ConfinedRun& operator=(ConfinedRun&&) noexcept;
    ConfinedRun(const ConfinedRun&) = delete;
    ConfinedRun& operator=(const ConfinedRun&) = delete;

    // True until outcome() is known or end() has been called.
    bool is_starting() const { return launch_ && !is_decided_; }

    // Becomes readable, while the run is starting, when outcome() has something to do.
    int status() const { return launch_->status(); }

    // Returns nullopt if it is not known yet. Must not be called after end().
    std::optional<Launch::Outcome> outcome();

    // Begins to answer the program's calls. To be called after a successful outcome. `asking`: see
    // Gateway::start(). Errors: no more descriptors; the program's connects then fail with ENOSYS
    // (seccomp_unotify(2)).
    Result<void> supervise(HostAsking* asking = nullptr);

    // See Gateway::answer().
    void answer_host(std::uint64_t question, const HostVerdict& verdict, TimePoint now);

    // The process that the server waits for (bubblewrap), and our ends of the program's
    // descriptors. Must not be called after end().
    os::Spawned& spawned() { return launch_->spawned(); }

    // See Launch::take_guarded().
    UniqueFd take_guarded() { return launch_ ? launch_->take_guarded() : UniqueFd(); }

    // See Launch::take_namespaces().
    Namespaces take_namespaces() { return launch_ ? launch_->take_namespaces() : Namespaces(); }

    // See Launch::take_roots().
    std::vector<os::HeldDirectory> take_roots() {
        return launch_ ? launch_->take_roots() : std::vector<os::HeldDirectory>();
    }

    // The pid of the program, as we see it, and of its group. 0 before a successful outcome.
    pid_t leader() const { return leader_; }

    GuaranteeSet missing() const { return launch_ ? launch_->missing() : missing_; }

    const std::vector<std::string>& notes() const { return launch_ ? launch_->notes() : notes_; }

    // See Launch::stand_ins(). Empty after end().
    std::vector<std::string> stand_ins() const;

    // How the program ended (wait(2)). Returns nullopt if that was not reported, and after end().
    std::optional<int> wait_status();

    // Returns -1 if no supervisor answers calls.
    int supervisor_fd() const;
    void on_supervisor(TimePoint now);

    // The hosts that a network by host has reached. Empty before end().
    const std::vector<HostUse>& host_uses() const { return host_uses_; }

    // After the cleanup also what was set aside.
    const DenialLog& denials() const;

    // To be called when all processes in the sandbox have ended, or none has begun. Drops
    // everything that they needed, and begins the cleanup: it removes the placeholders and looks at
    // what the command has left. Errors: both wait until the next start sweeps.
    Result<void> end(TimePoint now);

    // The same for an owner that may wait.
    void end_and_wait(TimePoint now);

    bool is_cleaning_up() const { return cleanup_.has_value(); }

    // The next four are for the time of the cleanup only. The descriptor becomes readable at its
    // end.
    int cleanup_fd() const { return cleanup_->fd(); }

    pid_t cleanup_process() const { return cleanup_->pid(); }

    // Returns true if the cleanup is done or has taken too long. Then denials() is complete.
    bool is_cleanup_over(TimePoint now);

    void drop_cleanup() { cleanup_.reset(); }

    void on_time(TimePoint now);
    std::optional<TimePoint> next_deadline() const;

private:
    ConfinedRun();

    Leftovers drop_all(TimePoint now);
    void note_set_aside(const std::vector<SetAside>& things);
    void note_missed_look(bool has_died);

    std::unique_ptr<Launch> launch_;         // null after end()
    std::unique_ptr<Supervisor> supervisor_; // null: no calls are answered
    std::optional<os::Errand> cleanup_;
    SupervisorSettings supervision_;
    std::string journal_;
    std::vector<core::HostRule> hosts_; // until supervise()
    WayOut* way_out_ = nullptr;         // see LaunchOrder
    bool is_decided_ = false;           // outcome() is known
    pid_t leader_ = 0;
    // Kept for after end().
    GuaranteeSet missing_;
    std::vector<std::string> notes_;
    DenialLog denials_;
    std::vector<HostUse> host_uses_;
};

} // namespace ew::sandbox

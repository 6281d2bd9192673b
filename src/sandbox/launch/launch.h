// Starts a program in a sandbox. execward-init makes the plan (it may wait for the disk), makes the
// sandbox or has bubblewrap make it, puts the rest in force and runs the program. Nothing here
// waits. The program runs only if everything that the order asks for is in force; otherwise
// outcome() reports the error.
#pragma once

#include "base/clock.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "os/spawn.h"
#include "sandbox/aftermath/look_journal.h"
#include "sandbox/launch/host_network.h"
#include "sandbox/launch/namespaces.h"
#include "sandbox/launch/placeholders.h"
#include "sandbox/launch/start_outcome.h"
#include "sandbox/launch/start_process.h"
#include "sandbox/launch/start_reports.h"
#include "sandbox/launch/start_watch.h"
#include "sandbox/policy/machine.h"
#include "sandbox/policy/policy.h"

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace ew::sandbox {

struct WayOut;

struct LaunchOrder {
    os::SpawnRequest request = {};
    Policy policy = {};
    Context context = {};
    Machine machine = {};
    std::string journal = {};               // directory of the placeholders; empty: none are made
    const Namespaces* namespaces = nullptr; // borrowed; null: the launch makes its own
    int guarded = -1; // borrowed: the result of take_guarded() of an earlier launch; -1: none
    int walker = -1;  // borrowed: see make_plan()
    StartProcess* ready = nullptr; // borrowed: carries the launch out if it can; null: none
    WayOut* way_out = nullptr;     // borrowed: of a network by host; null: see Gateway::start()
};

class Launch {
public:
    ~Launch();
    Launch(const Launch&) = delete;
    Launch& operator=(const Launch&) = delete;

    // Errors: sandbox_unavailable under Enforcement::require, with the missing guarantees; a NUL in
    // an argument; no more descriptors or processes.
    static Result<std::unique_ptr<Launch>> begin(LaunchOrder order, pid_t server);

    // How long a start may take. Long plans take half a minute (cold disks, large workspaces).
    static constexpr Millis longest_start{120'000};

    // Readable when outcome() has something to do.
    int status() const { return watch_.fd(); }

    // The process that the server waits for (bubblewrap), and our ends of the program's
    // descriptors.
    os::Spawned& spawned() { return descriptors_.ours; }

    using Outcome = StartOutcome;

    // Launches of one program whose failures are passing.
    static constexpr std::size_t most_tries = 5;

    // Returns nullopt if it is not known yet. It is a failure if the process has ended before the
    // program ran, or after longest_start; nothing of the sandbox is left running then.
    std::optional<Outcome> outcome();

    // The pid of the program, as we see it, and of its group. 0 before a successful outcome.
    pid_t leader() const { return leader_; }

    UniqueFd take_listener() { return std::move(listener_); }

    // The mounts of the sandbox that could be written to when the program began, as in statx(2)
    // (STATX_MNT_ID). Empty if they were not told.
    const std::vector<std::uint64_t>& writable_mounts() const { return writable_mounts_; }

    GuaranteeSet missing() const { return missing_; }

    const std::vector<std::string>& notes() const { return notes_; }

    // How the program ended, as in wait(2). Returns nullopt if that was not reported, as when it
    // was killed with the whole sandbox.
    std::optional<int> wait_status();

    // What the look found that was done when everything in the sandbox had ended (aftermath.h,
    // encode_set_aside()). Returns nullopt if there was none, or its process was killed.
    std::optional<std::string> look_result();

    // Mounts that keep the machine's devices as they are, for further launches. Empty if the order
    // has given them or they are not needed.
    UniqueFd take_guarded() { return std::move(guarded_); }

    // Namespaces that the launch has made, for further launches. None exist before it has, or if
    // the order has given them, or if this machine cannot share them.
    Namespaces take_namespaces();

    // What a network by host has in it, once the program runs. Empty for other policies.
    HostNetwork take_host_network() { return std::move(host_network_); }

    // The paths of the placeholders, once the program runs.
    std::vector<std::string> stand_ins() const;

    // The roots that the order did not know (Plan::roots), once the program runs.
    std::vector<os::HeldDirectory> take_roots() { return std::move(roots_); }

    // To be released when all processes of the sandbox have ended.
    std::vector<Placeholder> take_placeholders();

    // What is to be looked at when all processes of the sandbox have ended. Nullopt: nothing.
    int look() const { return look_ ? look_->lock.get() : -1; }

    std::optional<HeldLook> take_look() { return std::move(look_); }

private:
    Launch() = default;

    Result<void> open(const os::SpawnRequest& request);
    Result<void> make_child(LaunchOrder& order, pid_t server);
    void look_after();
    bool take_report();
    void take(StartReport& report);
    void keep_placeholder(StartReport& report);
    void keep_root(StartReport& report);
    void read_end();
    Outcome conclude();

    os::SpawnRequest request_; // for messages
    StartReports reports_;
    StartWatch watch_;
    UniqueFd end_;
    std::string end_text_;  // what was read from it
    UniqueFd child_status_; // until the child exists
    UniqueFd child_end_;
    UniqueFd child_lifeline_;
    UniqueFd lifeline_;
    os::ProgramDescriptors descriptors_;
    UniqueFd listener_;
    std::vector<std::uint64_t> writable_mounts_;
    UniqueFd guarded_;
    Namespaces namespaces_;
    HostNetwork host_network_;
    bool is_applied_ = false;
    Outcome reported_; // so far, by the child
    std::optional<Outcome> outcome_;
    pid_t leader_ = 0;
    GuaranteeSet missing_;
    std::vector<std::string> notes_;
    std::vector<Placeholder> placeholders_;
    std::optional<HeldLook> look_;
    std::vector<os::HeldDirectory> roots_;
};

} // namespace ew::sandbox

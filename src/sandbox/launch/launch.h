// Starting a program in a sandbox: a process is forked that plans (it may wait for the disk),
// becomes bubblewrap, which becomes execward-init, which puts the rest in force and runs the
// program. Nothing here waits. The program runs only if everything that was asked for is in force;
// what happened instead is told by outcome().
#pragma once

#include "base/result.h"
#include "base/unique_fd.h"
#include "os/spawn.h"
#include "sandbox/launch/placeholders.h"
#include "sandbox/policy/machine.h"
#include "sandbox/policy/policy.h"

#include <sys/types.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace ew::sandbox {

struct LaunchOrder {
    os::SpawnRequest request = {};
    Policy policy = {};
    Context context = {};
    Machine machine = {};
    std::string journal = {}; // of placeholders; empty: none are made
    int guarded = -1; // borrowed: what an earlier launch gave with take_guarded(); -1: nothing
};

class Launch {
public:
    ~Launch();
    Launch(const Launch&) = delete;
    Launch& operator=(const Launch&) = delete;

    // Errors: sandbox_unavailable under Enforcement::require, naming what is missing; a NUL in an
    // argument, no more descriptors or processes.
    static Result<std::unique_ptr<Launch>> begin(LaunchOrder order, pid_t server);

    // Readable when outcome() has something to do.
    int status() const { return status_.get(); }

    // The process that is waited for (bubblewrap), and our ends of the program's descriptors.
    os::Spawned& spawned() { return descriptors_.ours; }

    struct Outcome {
        std::optional<Error> failure = {}; // absent: the program runs
        // What was found about the machine says that it could have been done.
        bool contradicts_machine = false;
        // Something was moved or removed between the plan and its mounts: another launch, with
        // another plan, may succeed.
        bool is_passing = false;
    };

    // Absent: not known yet.
    std::optional<Outcome> outcome();

    // After a successful outcome.
    pid_t leader() const { return leader_; } // of the program, as we see it; its group's number too

    UniqueFd take_listener() { return std::move(listener_); }

    GuaranteeSet missing() const { return missing_; }

    const std::vector<std::string>& notes() const { return notes_; }

    // How the program ended, in the words of wait(2). Absent: that was not told, as when it was
    // killed with the whole sandbox.
    std::optional<int> wait_status();

    // Mounts that keep the machine's devices as they are, for further launches. Empty: they were
    // given, or are not needed.
    UniqueFd take_guarded() { return std::move(guarded_); }

    // Where something stands in for what is missing, once it runs.
    std::vector<std::string> stand_ins() const;

    // To be released once everything has ended.
    std::vector<Placeholder> take_placeholders();

private:
    struct Packet;

    Launch() = default;

    Result<void> open(const os::SpawnRequest& request);
    Result<void> fork_child(const LaunchOrder& order, pid_t server);
    bool take_packet();
    void take(Packet& packet);
    void keep_placeholder(Packet& packet);
    Outcome conclude();

    os::SpawnRequest request_; // for messages
    UniqueFd status_;
    UniqueFd end_;
    UniqueFd child_status_; // until the child exists
    UniqueFd child_end_;
    UniqueFd child_lifeline_;
    UniqueFd lifeline_;
    os::ProgramDescriptors descriptors_;
    UniqueFd listener_;
    UniqueFd guarded_;
    bool is_applied_ = false;
    std::optional<Error> failure_; // as far as it was told
    bool contradicts_machine_ = false;
    bool is_passing_ = false;
    std::optional<Outcome> outcome_;
    pid_t leader_ = 0;
    GuaranteeSet missing_;
    std::vector<std::string> notes_;
    std::vector<Placeholder> placeholders_;
};

} // namespace ew::sandbox

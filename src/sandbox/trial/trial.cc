#include "sandbox/trial/trial.h"

#include "sandbox/launch/bubblewrap.h"
#include "sandbox/launch/mount_calls.h"
#include "sandbox/policy/troubles.h"
#include "sandbox/trial/probe_run.h"
#include "sandbox/trial/scratch.h"
#include "sandbox/trial/trial_verdict.h"

#include <fmt/format.h>
#include <linux/seccomp.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

// For headers older than Linux 5.13.
#ifndef SYS_landlock_create_ruleset
#define SYS_landlock_create_ruleset 444
#endif

namespace ew::sandbox {

namespace {

using Loss = Diagnosis::Loss;

void look_for_landlock(Machine& machine, const Surroundings& around) {
    constexpr unsigned ask_for_version = 1; // LANDLOCK_CREATE_RULESET_VERSION
    const long abi = ::syscall(SYS_landlock_create_ruleset, nullptr, 0, ask_for_version);
    if (abi > 0)
        machine.landlock = static_cast<int>(abi);
    else
        machine.troubles.push_back(landlock_trouble(errno, around));
}

bool has_action(std::uint32_t action) {
    return ::syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) == 0;
}

void look_for_filters(Machine& machine, const Surroundings& around) {
    machine.has_filter = has_action(SECCOMP_RET_ERRNO);
    if (!machine.has_filter) {
        machine.troubles.push_back(
            trouble_with(mechanism::filter, fmt::format("seccomp: {}", ::strerror(errno)), around));
        return;
    }
    machine.has_notify = has_action(SECCOMP_RET_USER_NOTIF);
    if (!machine.has_notify)
        machine.troubles.push_back(
            trouble_with(mechanism::notify, fmt::format("seccomp: {}", ::strerror(errno)), around));
}

void set_mounts(Machine& machine, bool has_them) {
    machine.has_mounts = machine.has_proc = machine.has_network_namespace = has_them;
}

void lose_everything(Machine& machine) {
    set_mounts(machine, false);
    machine.landlock = 0;
    machine.has_filter = machine.has_notify = false;
}

// Finds the programs that a sandbox needs. Returns false if no sandbox can be made.
bool find_programs(Machine& machine, const TrialPlaces& places) {
    Result<TrustedProgram> init = find_own_init(places.init);
    if (init)
        machine.init = init->path;
    else
        machine.troubles.push_back(
            {std::string(mechanism::init), init.error().message, init.error().hint});
    Result<TrustedProgram> bubblewrap = find_bubblewrap();
    if (bubblewrap)
        machine.bubblewrap = bubblewrap->path;
    else
        machine.troubles.push_back({std::string(mechanism::bubblewrap), bubblewrap.error().message,
                                    bubblewrap.error().hint});
    machine.takes_size = bubblewrap && takes_size(bubblewrap->path);
    set_mounts(machine, init && bubblewrap);
    return static_cast<bool>(init);
}

// Returns false if the mechanism was lost before, so this does not explain the failure.
bool lose(Machine& machine, Loss loss) {
    const Machine before = machine;
    switch (loss) {
    case Loss::mounts: set_mounts(machine, false); break;
    case Loss::proc: machine.has_proc = false; break;
    case Loss::network_namespace: machine.has_network_namespace = false; break;
    case Loss::landlock: machine.landlock = 0; break;
    case Loss::filter:
        if (machine.has_notify)
            machine.has_notify = false;
        else
            machine.has_filter = false;
        break;
    case Loss::everything: lose_everything(machine); break;
    }
    return machine != before;
}

bool has_anything(const Machine& machine) {
    return machine.has_mounts || machine.landlock > 0 || machine.has_filter;
}

// Smaller and smaller sandboxes, for a failure that has no known cause.
std::vector<Machine> smaller(const Machine& machine) {
    std::vector<Machine> result;
    const auto add = [&](std::initializer_list<Loss> losses) {
        Machine next = machine;
        bool is_new = true;
        for (const Loss loss : losses)
            is_new = lose(next, loss) && is_new;
        if (is_new && has_anything(next)) result.push_back(std::move(next));
    };
    if (machine.has_mounts) {
        add({Loss::proc});
        add({Loss::network_namespace});
        add({Loss::proc, Loss::network_namespace});
        add({Loss::mounts});
        add({Loss::mounts, Loss::landlock});
    } else {
        add({Loss::landlock});
        add({Loss::filter});
    }
    return result;
}

class Search {
public:
    Search(const Scratch& scratch, const Surroundings& around, TimePoint deadline)
        : scratch_(scratch), around_(around), deadline_(deadline) {}

    // Reduces `machine` to the mechanisms that a sandbox could be built with, and judges it.
    void run(Machine& machine) {
        ProbeRun first = run_probes_with(machine, Network::restricted);
        while (!first.failure.empty() && explain(machine, first.failure))
            first = run_probes_with(machine, Network::restricted);
        if (!has_anything(machine)) machine.init.clear(); // then it is useless
        if (machine.init.empty()) return;
        if (!first.failure.empty() && !guess(machine, first)) return;
        try_sharing(machine, first);
        apply_trial_verdict(machine, first.findings, Network::restricted);
        // If the network is shared, another mechanism isolates abstract sockets.
        const ProbeRun second = run_probes_with(machine, Network::enabled);
        if (second.failure.empty())
            apply_trial_verdict(machine, second.findings, Network::enabled);
        else
            machine.troubles.push_back({std::string(mechanism::sandbox),
                                        "with the network enabled: " + second.failure, ""});
    }

private:
    ProbeRun run_probes_with(const Machine& machine, Network network) {
        return run_probes(machine, scratch_, network, deadline_);
    }

    // One call makes all namespaces, so its failure does not say which of them it concerns.
    bool works_without_network(Machine machine) {
        return lose(machine, Loss::network_namespace) &&
               run_probes_with(machine, Network::restricted).failure.empty();
    }

    // Starts in the namespaces of a session are quicker than those by bubblewrap alone and keep the
    // same guarantees. Where they do not work, as with a bubblewrap that is set-user-ID, each start
    // has bubblewrap make its own.
    void try_sharing(Machine& machine, ProbeRun& first) {
        if (!machine.has_mounts || !mount_calls::are_there()) return;
        Machine sharing = machine;
        sharing.shares_namespaces = true;
        ProbeRun shared = run_probes_with(sharing, Network::restricted);
        if (tells_of_exhaustion(shared.failure))
            machine.troubles.push_back({std::string(mechanism::sandbox), shared.failure, ""});
        if (!shared.failure.empty()) return;
        machine = std::move(sharing);
        first = std::move(shared);
    }

    // Returns false if no smaller sandbox is known to help.
    bool explain(Machine& machine, const std::string& failure) {
        std::optional<Diagnosis> diagnosis = diagnose(failure, around_);
        const bool has_notify = machine.has_notify;
        const bool is_of_network =
            diagnosis && diagnosis->loss == Loss::mounts && works_without_network(machine);
        if (is_of_network) diagnosis->loss = Loss::network_namespace;
        if (!diagnosis || clock_now() >= deadline_ || !lose(machine, diagnosis->loss)) return false;
        if (diagnosis->loss == Loss::filter && has_notify)
            diagnosis->trouble = trouble_with(mechanism::notify, failure, around_);
        if (is_of_network)
            diagnosis->trouble = trouble_with(mechanism::network_namespace, failure, around_);
        machine.troubles.push_back(std::move(diagnosis->trouble));
        return has_anything(machine);
    }

    bool guess(Machine& machine, ProbeRun& first) {
        machine.troubles.push_back({std::string(mechanism::sandbox), first.failure,
                                    "see docs/sandbox.md; if execward-init was replaced, "
                                    "reinstall execward"});
        for (Machine& next : smaller(machine)) {
            if (clock_now() >= deadline_) break;
            first = run_probes_with(next, Network::restricted);
            if (!first.failure.empty()) continue;
            machine = std::move(next);
            return true;
        }
        lose_everything(machine);
        machine.init.clear(); // the file does not behave like execward-init
        return false;
    }

    const Scratch& scratch_;
    const Surroundings& around_;
    TimePoint deadline_;
};

} // namespace

Machine run_trial(const TrialPlaces& places) {
    const TimePoint deadline = clock_now() + longest_trial;
    const Surroundings around = Surroundings::look();
    Machine machine;
    machine.is_root = ::geteuid() == 0;
    if (!find_programs(machine, places)) return machine;
    look_for_landlock(machine, around);
    look_for_filters(machine, around);
    Scratch::sweep();
    Result<Scratch> scratch = Scratch::make();
    if (!scratch) {
        lose_everything(machine);
        machine.troubles.push_back(
            {std::string(mechanism::sandbox), scratch.error().message, scratch.error().hint});
        return machine;
    }
    Search(*scratch, around, deadline).run(machine);
    return machine;
}

} // namespace ew::sandbox

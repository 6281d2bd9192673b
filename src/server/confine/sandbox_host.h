// The abilities of this machine to enforce a policy. A trial in a process of its own finds them out
// when they are first needed; only starts that need them wait for it.
#pragma once

#include "base/clock.h"
#include "base/unique_fd.h"
#include "os/companion.h"
#include "os/errand.h"
#include "os/known_directory.h"
#include "os/poller.h"
#include "sandbox/gateway/way_out.h"
#include "sandbox/launch/namespaces.h"
#include "sandbox/launch/start_process.h"
#include "sandbox/policy/machine.h"
#include "sandbox/policy/policy.h"
#include "sandbox/trial/trial.h"
#include "server/request/sandbox_request.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ew::server {

class SandboxHost {
public:
    // `journal` is the journal of placeholders. The trial also removes placeholders of servers that
    // were killed.
    SandboxHost(sandbox::TrialPlaces places, std::string journal, os::Poller& poller)
        : places_(std::move(places)), journal_(std::move(journal)), poller_(poller) {}

    // Returns null while the abilities are unknown. need() begins a trial.
    const sandbox::Machine* machine() const { return machine_ ? &*machine_ : nullptr; }

    // Returns the error of the last trial, until the next need().
    const std::optional<Error>& failure() const { return failure_; }

    // Returns a borrowed descriptor for LaunchOrder::guarded, from an earlier launch. Returns -1 if
    // there is none yet.
    int guarded() const { return guarded_.get(); }

    // Returns the namespaces for a launch (LaunchOrder::namespaces), borrowed. Commands of one
    // policy and workspace share them, with /tmp and a loopback. Returns null before a launch has
    // made them.
    const sandbox::Namespaces* namespaces(const SandboxOrder& order) const;

    // The same for a launch that uses neither /tmp nor a loopback of its own.
    const sandbox::Namespaces* any_namespaces() const;

    // Returns false while the launch of another process makes the namespaces.
    bool may_launch(const SandboxOrder& order) const;

    void note_launch(std::uint64_t serial, const SandboxOrder& order);

    // `made`: see Launch::take_namespaces(). `is_decided`: the launch is over. Returns true if
    // other processes may have waited for it, and need not wait any longer.
    bool keep_namespaces(std::uint64_t serial, const SandboxOrder& order, sandbox::Namespaces made,
                         bool is_decided);

    void keep_guarded(UniqueFd guarded) { guarded_ = std::move(guarded); }

    // Returns the process that waits for the next launch, borrowed, or null.
    sandbox::StartProcess* ready() { return ready_ ? &*ready_ : nullptr; }

    // Returns a borrowed descriptor for LaunchOrder::walker, or -1: the policy needs none, or it
    // cannot be begun, or it has ended again and again.
    int walker(const sandbox::Policy& policy);

    // What all networks by host of the server share. It must live longer than the sandboxes.
    void set_way_out(sandbox::WayOut& way) { way_out_ = &way; }

    // Returns it for a start with that policy, borrowed. Warns at the first one with a network by
    // host if a proxy of the machine cannot be used.
    sandbox::WayOut* way_out(const sandbox::Policy& policy);

    // Begins such a process unless there is one: a launch need not wait until it runs.
    void make_ready();

    // Adds the roots that earlier starts have found, as they were then. What the context knows
    // already counts first.
    void add_roots(sandbox::Context& context) const;

    // Bound: most_roots. The plan of a start that names a further one refuses it.
    void keep_roots(std::vector<os::HeldDirectory> roots);

    // Begins a trial, unless the abilities are known or a trial runs. Abilities that the machine
    // lacked are tried again after a while, because somebody may have repaired it.
    void need(TimePoint now);

    // A launch contradicted the known abilities: forgets them.
    void doubt();

    // The poller reports the trial, or its time is over. Return true if machine() or failure() is
    // known now.
    bool on_ready();
    bool on_time(TimePoint now);
    std::optional<TimePoint> next_deadline() const;

private:
    static constexpr std::size_t most_places = 16;

    struct Place {
        sandbox::Policy policy;
        std::vector<std::string> roots; // of the workspace
        sandbox::Namespaces namespaces = {};
        std::uint64_t maker = 0; // the process whose launch makes them; 0: none

        bool is_for(const SandboxOrder& order) const {
            return policy == order.base_policy() && roots == order.context.workspace_roots;
        }
    };

    // The process that keeps walks (sandbox/walk/walker.h).
    struct Walker {
        os::Companion process;
        UniqueFd socket;
    };

    static constexpr std::size_t most_walkers = 16; // begun by one server, one after the other

    const Place* find(const SandboxOrder& order) const;
    Place& place_for(const SandboxOrder& order);
    bool finish(Result<sandbox::Machine> found);

    sandbox::TrialPlaces places_;
    std::string journal_;
    os::Poller& poller_;
    std::optional<os::Errand> trial_;
    std::optional<sandbox::Machine> machine_;
    std::optional<Error> failure_;
    TimePoint found_at_;
    UniqueFd guarded_;
    sandbox::WayOut* way_out_ = nullptr;
    bool has_warned_ = false; // of proxies
    std::optional<sandbox::StartProcess> ready_;
    std::optional<Walker> walker_;
    std::size_t walkers_ = 0; // that were begun
    std::vector<os::HeldDirectory> roots_;
    std::vector<Place> places_of_policies_; // the least recently used first
    bool trusts_memory_ = true;             // use the result of a trial before a restart
};

} // namespace ew::server

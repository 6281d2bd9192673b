#include "server/exec/expected_confinement.h"

#include "sandbox/policy/refusal.h"

namespace ew::server {

namespace {

// Returns the guarantees that the policy needs and this machine cannot give. Returns an empty set
// while the abilities of the machine are unknown.
sandbox::GuaranteeSet missing_for(const sandbox::Machine* machine, const sandbox::Policy& policy) {
    if (machine == nullptr) return {};
    return sandbox::needed_by(policy) - sandbox::given_by(*machine, policy.network);
}

} // namespace

protocol::Confinement expected_confinement(const sandbox::Machine* machine, const ExecPlan& plan,
                                           const ExtraPermissions& extra) {
    protocol::Confinement confinement;
    const std::optional<SandboxOrder> start = confined_start(plan, extra);
    if (!start) return confinement;
    if (plan.remote) { // the server there reports what is missing
        if (plan.remote->confines) confinement.type = protocol::SandboxType::linux_seccomp;
        return confinement;
    }
    const sandbox::GuaranteeSet missing = missing_for(machine, start->policy);
    for (const sandbox::Guarantee guarantee : missing.list())
        confinement.missing.emplace_back(sandbox::name_of(guarantee));
    // With `require`, the sandbox is complete or the program does not run.
    const bool is_there = start->policy.enforcement == sandbox::Enforcement::require ||
                          !(sandbox::needed_by(start->policy) - missing).empty();
    if (is_there) confinement.type = protocol::SandboxType::linux_seccomp;
    return confinement;
}

std::optional<Error> hindrance(const sandbox::Machine* machine, const ExecPlan& plan) {
    const std::optional<SandboxOrder> start = confined_start(plan, plan.extra);
    if (!start || start->policy.enforcement != sandbox::Enforcement::require) return std::nullopt;
    const sandbox::GuaranteeSet missing = missing_for(machine, start->policy);
    if (missing.empty()) return std::nullopt;
    return sandbox::refusal(*machine, missing);
}

} // namespace ew::server

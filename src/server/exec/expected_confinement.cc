#include "server/exec/expected_confinement.h"

#include "sandbox/policy/refusal.h"

namespace ew::server {

namespace {

// Of what the policy promises. Empty as long as it is not known what can be enforced here.
sandbox::GuaranteeSet missing_for(const SandboxHost& host, const sandbox::Policy& policy) {
    const sandbox::Machine* const machine = host.machine();
    if (machine == nullptr) return {};
    return sandbox::needed_by(policy) - sandbox::given_by(*machine, policy.network);
}

} // namespace

protocol::Confinement expected_confinement(const SandboxHost& host, const ExecPlan& plan,
                                           const ExtraPermissions& extra) {
    protocol::Confinement confinement;
    const std::optional<SandboxOrder> start = confined_start(plan, extra);
    if (!start) return confinement;
    if (plan.remote) { // the server there tells what it could not keep
        if (plan.remote->confines) confinement.type = protocol::SandboxType::linux_seccomp;
        return confinement;
    }
    const sandbox::GuaranteeSet missing = missing_for(host, start->policy);
    for (const sandbox::Guarantee guarantee : missing.list())
        confinement.missing.emplace_back(sandbox::name_of(guarantee));
    // Required, it is there in full or nothing runs.
    const bool is_there = start->policy.enforcement == sandbox::Enforcement::require ||
                          !(sandbox::needed_by(start->policy) - missing).empty();
    if (is_there) confinement.type = protocol::SandboxType::linux_seccomp;
    return confinement;
}

std::optional<Error> hindrance(const SandboxHost& host, RemoteBackend& remote,
                               const ExecPlan& plan) {
    const std::optional<SandboxOrder> start = confined_start(plan, plan.extra);
    if (plan.remote) return remote.hindrance(plan.remote->environment, start.has_value());
    if (!start || start->policy.enforcement != sandbox::Enforcement::require) return std::nullopt;
    const sandbox::GuaranteeSet missing = missing_for(host, start->policy);
    if (missing.empty()) return std::nullopt;
    return sandbox::refusal(*host.machine(), missing);
}

} // namespace ew::server

#include "server/exec/plans.h"

#include "server/environment/remote_plan.h"
#include "server/request/sandbox_request.h"

namespace ew::server {

Result<ExecPlan> plan_here(const protocol::ExecCommandParams& params, const Session& session,
                           Gate& gate) {
    ExecPlan plan = TRY(plan_exec(params, {session.settings(), gate.login_shell(), session.tag(),
                                           hidden_places(session.setup().paths, session.database()),
                                           session.setup().config.environment.set}));
    TRY(find_program(plan));
    return plan;
}

Result<ExecPlan> plan_there(const protocol::ExecCommandParams& params,
                            const std::string& environment, const Session& session,
                            RemoteBackend& remote) {
    const peer::Peer* const peer = remote.connect(environment);
    if (peer == nullptr) return remote.failure(environment);
    return plan_exec_there(params, {session.settings(), remote.settings(environment), *peer,
                                    session.tag(), session.setup().config.environment.set});
}

} // namespace ew::server

// The plan of a command, on this machine or in another environment.
#pragma once

#include "base/result.h"
#include "protocol/exec.h"
#include "server/approval/gate.h"
#include "server/environment/remote_backend.h"
#include "server/request/exec_request.h"
#include "server/session/session.h"

#include <string>

namespace ew::server {

// Errors: those of plan_exec() and find_program().
Result<ExecPlan> plan_here(const protocol::ExecCommandParams& params, const Session& session,
                           Gate& gate);

// Errors: those of plan_exec_there(), and the failure of an environment that is not connected.
Result<ExecPlan> plan_there(const protocol::ExecCommandParams& params,
                            const std::string& environment, const Session& session,
                            RemoteBackend& remote);

} // namespace ew::server

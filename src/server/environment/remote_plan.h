// From the params of exec/command to what would run in another environment. Nothing there can be
// looked at from here: paths are compared as they are written, and the server there finds the
// program.
#pragma once

#include "server/environment/remote_start.h"
#include "server/request/exec_request.h"
#include "server/session/session_settings.h"

#include <string_view>

namespace ew::config {
struct Environment;
}

namespace ew::peer {
struct Peer;
}

namespace ew::server {

struct RemotePlace {
    const SessionSettings& settings;
    const config::Environment& environment;
    const peer::Peer& peer;
    std::string_view session_tag;
};

// Errors: invalid_params; environment_unavailable for what this server cannot do.
Result<ExecPlan> plan_exec_there(const protocol::ExecCommandParams& params,
                                 const RemotePlace& place);

// How an attempt with these extra permissions starts, of a plan for another environment.
RemoteStart remote_start(const ExecPlan& plan, const ExtraPermissions& extra);

} // namespace ew::server

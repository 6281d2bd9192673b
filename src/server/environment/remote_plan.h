// Plans a command in another environment from the params of exec/command. This machine cannot look
// at remote files: paths are compared as they are written, and the remote server finds the program.
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
    core::Variables set_by_user = {}; // by the file of settings; the client set the others
};

// Errors: invalid_params; environment_unavailable if this server lacks an ability.
Result<ExecPlan> plan_exec_there(const protocol::ExecCommandParams& params,
                                 const RemotePlace& place);

// The remote start for an attempt of this plan with these extra permissions.
RemoteStart remote_start(const ExecPlan& plan, const ExtraPermissions& extra);

} // namespace ew::server

// Additions to the SpawnRequest for a start in another environment. The variables of the
// SpawnRequest are laid over the inherited ones.
#pragma once

#include "protocol/process_start.h"
#include "protocol/sandbox.h"

#include <optional>
#include <string>

namespace ew::server {

struct RemoteStart {
    std::string environment = {}; // the id of the environment
    bool for_execward = false;    // made for a server that is execward
    protocol::EnvPolicy inherited = {};
    std::optional<protocol::SandboxRequest> sandbox = {}; // nullopt: not confined
};

} // namespace ew::server

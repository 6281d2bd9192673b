// What a start in another environment needs beside the SpawnRequest, whose variables are laid over
// the inherited ones.
#pragma once

#include "protocol/process.h"
#include "protocol/sandbox.h"

#include <optional>
#include <string>

namespace ew::server {

struct RemoteStart {
    std::string environment = {}; // its id
    bool for_execward = false;    // it was made for a server that is one
    protocol::EnvPolicy inherited = {};
    std::optional<protocol::SandboxRequest> sandbox = {}; // absent: it is not to be confined
};

} // namespace ew::server

// The settings with which a server is started.
#pragma once

#include "mcp/dialect.h"
#include "protocol/framing.h"
#include "server/process/process_service.h"
#include "server/session/session.h"

#include <sys/types.h>

#include <optional>

namespace ew::server {

struct ServerSettings {
    protocol::Framing framing = protocol::Framing::undecided;
    std::optional<pid_t> client_process = {}; // the server ends when this process ends
    ProcessSettings processes = {};
    SessionSetup session = {};
    std::optional<mcp::DialectSetup> mcp = {}; // set: the client speaks MCP
    std::uint8_t test_ids = 0; // the number in the id of the session; 0: an id by chance
};

} // namespace ew::server

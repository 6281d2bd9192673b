#include "server/server.h"

#include "server/handshake.h"
#include "server/worker.h"

#include <utility>

namespace ew::server {

Server::Server(ServerSettings settings, os::StdioEnd in, os::StdioEnd out,
               transcript::Recorder* recorder)
    : settings_(std::move(settings)),
      connection_(std::move(in), std::move(out), settings_.framing, recorder),
      session_(settings_.session, settings_.test_ids) {
    if (settings_.mcp) connection_.set_dialect(dialect_.emplace(*settings_.mcp));
}

std::optional<int> Server::run_handshake() {
    return Handshake(connection_, session_, settings_.client_process).run();
}

int Server::run(pid_t keeper) {
    return Worker(settings_, connection_, session_, keeper).run();
}

} // namespace ew::server

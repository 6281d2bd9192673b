#include "server/server.h"

#include "server/handshake.h"
#include "server/session/session_settings.h"
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

// A client of the dialect gets its first answers before the fork too, as far as it takes them: the
// worker needs some time to begin.
std::optional<int> Server::run_handshake() {
    const std::optional<int> status =
        Handshake(connection_, session_, settings_.client_process).run();
    if (!status && dialect_) {
        connection_.open_dialect(to_wire(session_.settings()));
        connection_.outbox().flush();
    }
    return status;
}

int Server::run(pid_t keeper) {
    return Worker(settings_, connection_, session_, keeper).run();
}

} // namespace ew::server

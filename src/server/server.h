// Serves one client, from its first byte to the end: the handshake, then the worker in a process of
// its own.
#pragma once

#include "mcp/dialect.h"
#include "server/connection/connection.h"
#include "server/server_settings.h"
#include "server/session/session.h"

#include <sys/types.h>

#include <optional>

namespace ew::server {

class Server {
public:
    // `recorder` may be null; it outlives the server.
    Server(ServerSettings settings, os::StdioEnd in, os::StdioEnd out,
           transcript::Recorder* recorder);

    // Serves until the client has taken the answer to initialize, and then returns nullopt; nothing
    // has been started by then. Returns an exit status if the handshake ended before that.
    std::optional<int> run_handshake();

    // Serves until the end, in the child that was forked after the handshake. Returns the exit
    // status. Ends when the process `keeper` ends.
    int run(pid_t keeper);

private:
    ServerSettings settings_;
    std::optional<mcp::Dialect> dialect_;
    Connection connection_;
    Session session_;
};

} // namespace ew::server

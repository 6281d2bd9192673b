// Serves the client up to the answer to initialize. Nothing has been started until then, so this
// process can be forked in two afterwards.
#pragma once

#include "base/clock.h"
#include "os/poller.h"
#include "server/connection/connection.h"
#include "server/connection/reply.h"
#include "server/lifeline.h"
#include "server/session/session.h"

#include <sys/types.h>

#include <optional>

namespace ew::server {

class Handshake {
public:
    // `connection` and `session` outlive the handshake. The handshake ends when the process
    // `client` ends.
    Handshake(Connection& connection, Session& session, std::optional<pid_t> client);

    // Returns nullopt once the client has taken the answer to initialize. Returns an exit status if
    // the handshake ended before that.
    std::optional<int> run();

private:
    void turn();
    void dispatch(os::Token token);
    void on_signals();
    void handle_messages();
    void handle(const protocol::Message& message);
    void initialize(Reply reply, const protocol::Message& message);
    void end(int status);

    bool is_answered() const { return session_.phase() != Session::Phase::new_connection; }

    bool wants_messages() const { return !status_ && !is_answered(); }

    Connection& connection_;
    Session& session_;
    os::Poller poller_;
    Lifeline lifeline_;
    TimePoint now_;
    std::optional<int> status_;         // set when the handshake is ending
    std::optional<TimePoint> deadline_; // of the ending: until when the client may read the rest
};

} // namespace ew::server

// A place where commands can run elsewhere: the server there, the program that leads to it, and
// what was asked and not answered. State only; remote_backend decides.
#pragma once

#include "base/clock.h"
#include "config/config.h"
#include "json/writer.h"
#include "peer/link.h"
#include "peer/peer.h"
#include "server/connection/reply.h"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace ew::server {

// A request that the server there has not answered.
struct RemoteRequest {
    enum class Kind : std::uint8_t {
        initialize,
        start,
        read,
        write,
        probe, // whether it answers at all
        terminate,
        forwarded, // for a client, who gets the answer
        unwatched, // whatever the answer is; not kept
    };

    Kind kind = Kind::unwatched;
    std::uint64_t process = 0; // serial
    std::optional<Reply> reply = {};
    std::optional<TimePoint> deadline = {}; // absent: it may take as long as it takes
};

struct RemoteEnvironment {
    enum class State : std::uint8_t {
        idle,     // it was not needed yet
        starting, // up to the answer to `initialize`
        ready,
        failed, // it could not be started, or was lost; it is tried again when it is needed
        ending, // its program has closed the connection, and may still tell why
    };

    explicit RemoteEnvironment(config::Environment settings_) : settings(std::move(settings_)) {}

    config::Environment settings;
    State state = State::idle;
    std::optional<Error> failure = {}; // of the last connection
    std::uint64_t connection = 0;      // serial; never used twice
    std::unique_ptr<peer::Link> link = {};
    std::optional<peer::Peer> peer = {};                  // of the last connection that was ready
    std::optional<TimePoint> deadline = {};               // of starting and ending
    std::map<std::uint64_t, RemoteRequest> requests = {}; // by id
    std::uint64_t last_request = 0;
    std::size_t ignored_lines = 0; // that are no messages
    bool is_held_up = false;       // a log has no room for what was read
    bool is_wanted = false;        // again, once the connection has ended
    bool was_ready = false;        // while ending
    std::string trouble = {};      // why we end the connection; empty: the other side did

    bool is_ready() const { return state == State::ready; }

    template <class Params>
    void send(std::string_view method, const Params& params, RemoteRequest request) {
        const std::uint64_t id = ++last_request;
        if (request.kind != RemoteRequest::Kind::unwatched)
            requests.emplace(id, std::move(request));
        ByteBuffer out;
        out.append(std::string_view(R"({"jsonrpc":"2.0","id":)"));
        json::write_number(out, id);
        out.append(std::string_view(R"(,"method":)"));
        json::write_string(out, method);
        out.append(std::string_view(R"(,"params":)"));
        json::write_value(out, params);
        out.append(std::string_view("}\n"));
        link->send(out.view());
    }
};

} // namespace ew::server

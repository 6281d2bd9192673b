#include "server/handshake.h"

#include "base/log.h"
#include "core/output/utf8.h"
#include "json/reader.h"
#include "os/forked.h"
#include "protocol/decode.h"
#include "protocol/methods.h"
#include "server/connection/reply.h"
#include "server/connection/source.h"
#include "server/methods.h"

#include <fmt/format.h>

#include <optional>
#include <span>
#include <string>
#include <utility>

namespace ew::server {

namespace {

constexpr Millis ending_time{1000};

struct McpGreeting {
    std::optional<std::string> protocol_version = {};
};

template <class Visitor>
void fields(Visitor& visit, McpGreeting& greeting) {
    visit.optional("protocolVersion", greeting.protocol_version);
}

// Returns true for the initialize of the Model Context Protocol, whose versions are dates. Most of
// it would be taken for our own.
bool is_mcp(const protocol::Message& initialize) {
    McpGreeting greeting;
    if (initialize.params == nullptr || json::read_value(initialize.params->element, greeting, {}))
        return false;
    const std::string version = greeting.protocol_version.value_or("");
    return version.size() == 10 && version[4] == '-' && version[7] == '-';
}

} // namespace

Handshake::Handshake(Connection& connection, Session& session, std::optional<pid_t> client)
    : connection_(connection), session_(session), lifeline_(poller_), now_(clock_now()) {
    connection_.watch(poller_);
    lifeline_.watch(client);
}

std::optional<int> Handshake::run() {
    const Outbox& outbox = connection_.outbox();
    while (status_ ? outbox.has_unsent() && now_ < *deadline_
                   : !is_answered() || outbox.has_unsent())
        turn();
    return status_;
}

void Handshake::turn() {
    std::optional<TimePoint> deadline = deadline_;
    if (connection_.is_ready(wants_messages())) deadline = now_;
    const std::span<const os::Token> ready = poller_.wait(deadline, clock_now());
    now_ = clock_now();
    for (const os::Token token : ready)
        dispatch(token);
    if (connection_.is_always_readable() && wants_messages()) connection_.read();
    handle_messages();
    connection_.outbox().flush();
    if (connection_.outbox().client_is_gone()) end(0);
    connection_.update_interest(wants_messages());
}

// The other sources belong to the worker; nothing is watched under them here.
void Handshake::dispatch(os::Token token) {
    const Source source = source_of(token);
    if (source == Source::client_input && wants_messages()) connection_.read();
    if (source == Source::client_output) connection_.on_output_report();
    if (source == Source::signals) on_signals();
    if (source != Source::parent) return;
    lifeline_.note_parent_end();
    end(0);
}

void Handshake::on_signals() {
    const int signal = lifeline_.take_signals().ending;
    if (signal == 0) return;
    log::info("server", "ending on {}", os::signal_name(signal));
    end(128 + signal);
}

void Handshake::handle_messages() {
    while (wants_messages()) {
        const protocol::Message* const message = connection_.next();
        if (message == nullptr) break;
        handle(*message);
    }
    if (connection_.has_ended() && !is_answered()) end(0);
}

void Handshake::handle(const protocol::Message& message) {
    switch (message.kind) {
    case protocol::Message::Kind::request: {
        Reply reply(connection_.outbox(), message.id);
        if (Result<protocol::Method> method = check_request(session_, message); !method)
            return reply.fail(method.error());
        return initialize(std::move(reply), message); // the only method that is accepted so far
    }
    case protocol::Message::Kind::notification:
        if (message.method == "exit") return end(1);
        if (message.method == "initialized") return; // too early: initialize is not answered yet
        return log::info("server", "ignored the notification '{}'",
                         core::shortened(message.method));
    case protocol::Message::Kind::response:
        return log::info("server", "ignored an answer to nothing that is being asked");
    case protocol::Message::Kind::refused: return; // the connection has answered it
    }
}

void Handshake::initialize(Reply reply, const protocol::Message& message) {
    if (is_mcp(message))
        return reply.fail({ErrorKind::invalid_request,
                           "this is the initialize of the Model Context Protocol, which execward "
                           "serve does not speak",
                           "start execward mcp instead", "protocolVersion"});
    Result<protocol::InitializeParams> params =
        protocol::decode<protocol::InitializeParams>(message.params);
    if (!params) return reply.fail(params.error());
    // This process is forked in two after the answer, which must not tell success if that fails.
    if (Result<void> tried = os::try_fork(); !tried)
        return reply.fail({ErrorKind::internal,
                           fmt::format("the server cannot start the process that serves the "
                                       "client: {}",
                                       tried.error().message),
                           "raise the limit of processes (ulimit -u), or end other ones"});
    Result<protocol::InitializeResult> result = session_.initialize(*params);
    if (!result) return reply.fail(result.error());
    reply.send(*result);
}

void Handshake::end(int status) {
    if (status_) return;
    status_ = status;
    deadline_ = now_ + ending_time;
}

} // namespace ew::server

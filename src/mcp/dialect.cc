#include "mcp/dialect.h"

#include "base/log.h"
#include "core/output/utf8.h"
#include "core/sha256.h"
#include "mcp/instructions.h"
#include "mcp/messages.h"
#include "mcp/server_error.h"
#include "mcp/wording.h"
#include "protocol/exec_events.h"
#include "protocol/methods.h"
#include "protocol/session.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <string>
#include <utility>

namespace ew::mcp {

namespace {

using protocol::Message;

constexpr std::string_view delta_start = R"({"jsonrpc":"2.0","method":"exec/outputDelta")";
constexpr std::string_view end_start = R"({"jsonrpc":"2.0","method":"exec/end")";

std::string message_of(const json::Mismatch& wrong) {
    return fmt::format("{}: expected {}", wrong.path.empty() ? "params" : wrong.path,
                       wrong.expected);
}

// Returns 0 for an id that is not ours.
std::uint64_t number_of(const json::Id& id) {
    std::uint64_t number = 0;
    (void)std::from_chars(id.json.data(), id.json.data() + id.json.size(), number);
    return number;
}

FormAnswer form_answer(const Elicited& elicited) {
    switch (elicited.action) {
    case Action::decline: return {FormAnswer::Kind::declined};
    case Action::cancel: return {FormAnswer::Kind::dismissed};
    case Action::accept: break;
    }
    const Decision content = elicited.content.value_or(Decision{});
    return {FormAnswer::Kind::chosen, content.decision.value_or("")};
}

// Returns the members of the result of initialize and of server/discover.
std::string capabilities_and_instructions(const std::string& instructions) {
    return fmt::format(
        R"("capabilities":{{"tools":{{}},"resources":{{"subscribe":true,"listChanged":true}}}},"instructions":{})",
        json_string(instructions));
}

} // namespace

Dialect::Dialect(DialectSetup setup)
    : setup_(std::move(setup)),
      answers_(wires_, setup_.version),
      calls_(wires_, answers_, setup_.secret),
      resources_(wires_, answers_),
      roots_(setup_.is_directory) {}

// ---------------------------------------------------------------- from the client

void Dialect::refuse(const Error& error) {
    const std::string text =
        error.hint.empty() ? error.message : fmt::format("{}; {}", error.message, error.hint);
    answers_.fail({}, protocol::code_of(error.kind), in_tool_words(text));
}

void Dialect::from_client(std::string_view text, TimePoint now) {
    of_client_.trim();
    const Message message = of_client_.read(text);
    if (message.kind == Message::Kind::refused) return refuse(message.error);
    text_ = text;
    take(message, now);
}

void Dialect::take(const Message& message, TimePoint now) {
    switch (message.kind) {
    case Message::Kind::request: return take_request(message, now);
    case Message::Kind::notification: return take_notification(message, now);
    case Message::Kind::response: return take_response(message, now);
    case Message::Kind::refused: return;
    }
}

// Returns nullopt after an error was sent.
std::optional<Asked> Dialect::asked_by(const Message& message) {
    AnyParams params;
    const auto fail = [&](int code, std::string_view what, std::string_view data = "") {
        answers_.fail(message.id, code, what, data);
        return std::nullopt;
    };
    if (const auto wrong = read(message.params, params))
        return fail(invalid_params_code, message_of(*wrong));
    const Meta meta = params.meta.value_or(Meta{});
    Asked asked{message.id, Era::modern};
    asked.progress_token = meta.progress_token;
    if (!meta.version) {
        asked.era = Era::legacy;
        asked.can_ask = legacy_ && legacy_->can_ask;
        asked.takes_titles = legacy_ && legacy_->version == legacy_versions.front();
        if (legacy_ || message.method == "initialize" || message.method == "ping") return asked;
        return fail(invalid_params_code,
                    "the request has no _meta with io.modelcontextprotocol/protocolVersion, and "
                    "there was no initialize");
    }
    if (*meta.version != modern_version)
        return fail(unsupported_version_code,
                    fmt::format("protocol version {} is not spoken without a handshake",
                                json_string(core::shortened(*meta.version))),
                    fmt::format(R"({{"supported":["{}"],"requested":{}}})", modern_version,
                                json_string(*meta.version)));
    if (!meta.capabilities)
        return fail(invalid_params_code,
                    "_meta: expected io.modelcontextprotocol/clientCapabilities to be present");
    asked.can_ask = meta.capabilities->has_forms();
    asked.takes_titles = true;
    return asked;
}

// The session begins with the first request that needs it, and then everything goes on in order.
bool Dialect::must_wait(const Message& message) const {
    if (message.kind == Message::Kind::response) return false;
    if (phase_ != Phase::open || !waiting_.empty()) return true;
    return roots_.awaited_until() && message.method == "tools/call";
}

void Dialect::take_request(const Message& message, TimePoint now) {
    const std::string_view method = message.method;
    std::optional<Asked> asked = asked_by(message);
    if (!asked) return;
    const bool is_legacy = asked->era == Era::legacy;
    if (method == "ping" && is_legacy) return answers_.complete(*asked, "");
    if (method == "initialize" && !note_client(message)) return;
    if (must_wait(message)) {
        if (!may_wait())
            return answers_.fail(message.id, invalid_request_code,
                                 "too many requests wait for the session to begin");
        keep_waiting();
        if (phase_ == Phase::closed) open_session(message);
        return;
    }
    if (method == "initialize") return initialize(*asked);
    if (method == "server/discover" && !is_legacy) return discover(*asked);
    if (method == "tools/list") return answers_.cacheable(*asked, tool_list());
    if (method == "tools/call") return call_tool(std::move(*asked), message, now);
    if (resources_.take(*asked, message)) return;
    answers_.fail(message.id, unknown_method_code,
                  fmt::format("no method {}", json_string(core::shortened(method))));
}

bool Dialect::may_wait() const {
    std::size_t bytes = text_.size();
    for (const std::string& line : waiting_)
        bytes += line.size();
    return waiting_.size() < most_waiting && bytes <= most_waiting_bytes;
}

void Dialect::keep_waiting() {
    std::string& kept = waiting_.emplace_back(text_);
    kept.append(ByteBuffer::padding, ' ');
}

void Dialect::take_notification(const Message& message, TimePoint now) {
    if (phase_ == Phase::closed) return;
    if (must_wait(message)) {
        if (may_wait()) keep_waiting();
        return;
    }
    if (message.method == "notifications/cancelled") {
        CancelledParams params;
        if (!read(message.params, params) && !calls_.cancel(params.request))
            resources_.cancel(params.request);
        return;
    }
    if (message.method == "notifications/initialized") resources_.begin_legacy();
    const bool is_about_roots = message.method == "notifications/initialized" ||
                                message.method == "notifications/roots/list_changed";
    if (is_about_roots) ask_for_roots(now);
}

void Dialect::take_response(const Message& message, TimePoint now) {
    if (roots_.is_answer(message.id)) return take_roots(message, now);
    FormAnswer answer;
    Elicited elicited;
    if (!message.is_error && !read(message.params, elicited)) answer = form_answer(elicited);
    if (!calls_.on_form_answer(message.id, answer))
        log::info("mcp", "ignored an answer to nothing that is being asked");
}

// ---------------------------------------------------------------- the session

void Dialect::open_session(const Message& message) {
    AnyParams any;
    InitializeParams initialize;
    (void)read(message.params, any);
    if (message.method == "initialize") (void)read(message.params, initialize);
    const std::optional<ClientInfo> client = any.meta ? any.meta->client : initialize.client;
    protocol::InitializeParams params;
    params.client_info =
        client ? protocol::ClientInfo{client->name, client->version} : protocol::ClientInfo{"mcp"};
    params.capabilities = protocol::ClientCapabilities{.approvals = true};
    if (setup_.workspace) {
        std::vector<protocol::Path>& roots = params.settings.emplace().workspace_roots.emplace();
        roots.push_back({*setup_.workspace});
    }
    phase_ = Phase::opening;
    session_request_ = wires_.request("initialize", params);
}

void Dialect::on_session_answer(const Message& answer) {
    if (!answer.is_error) return wires_.notify("initialized", Anything{});
    ServerError error;
    (void)read(answer.params, error);
    refuse_waiting(error.message);
}

void Dialect::open(const protocol::Settings& settings, TimePoint now) {
    instructions_ = instructions_for(settings);
    calls_.set_mode(mode_of(settings));
    phase_ = Phase::open;
    go_on(now);
}

// Takes the messages that waited, each again from its beginning.
void Dialect::go_on(TimePoint now) {
    const std::vector<std::string> lines = std::exchange(waiting_, {});
    for (const std::string& line : lines)
        from_client(std::string_view(line).substr(0, line.size() - ByteBuffer::padding), now);
}

void Dialect::refuse_waiting(std::string_view why) {
    phase_ = Phase::closed;
    const std::vector<std::string> lines = std::exchange(waiting_, {});
    for (const std::string& line : lines) {
        const Message message =
            of_client_.read(std::string_view(line).substr(0, line.size() - ByteBuffer::padding));
        if (message.kind == Message::Kind::request)
            answers_.fail(message.id, protocol::code_of(ErrorKind::internal), why);
    }
}

// Returns false after an error was sent.
bool Dialect::note_client(const Message& message) {
    InitializeParams params;
    if (const auto wrong = read(message.params, params)) {
        answers_.fail(message.id, invalid_params_code, message_of(*wrong));
        return false;
    }
    const bool is_known =
        std::ranges::find(legacy_versions, params.protocol_version) != legacy_versions.end();
    legacy_ = Legacy{is_known ? params.protocol_version : std::string(legacy_versions.front()),
                     params.capabilities.has_forms(), params.capabilities.roots.has_value()};
    return true;
}

void Dialect::initialize(const Asked& asked) {
    answers_.complete(asked, fmt::format(R"("protocolVersion":"{}","serverInfo":{},{})",
                                         legacy_->version, answers_.server_info(),
                                         capabilities_and_instructions(instructions_)));
}

void Dialect::discover(const Asked& asked) {
    answers_.cacheable(asked, fmt::format(R"("supportedVersions":["{}"],{})", modern_version,
                                          capabilities_and_instructions(instructions_)));
}

void Dialect::ask_for_roots(TimePoint now) {
    if (!setup_.workspace && legacy_ && legacy_->has_roots) roots_.ask(answers_, now);
}

// The roots of the client become the workspace.
void Dialect::take_roots(const Message& message, TimePoint now) {
    const bool is_awaited = roots_.awaited_until().has_value();
    protocol::Settings changes;
    changes.workspace_roots = roots_.take(message);
    if (!changes.workspace_roots->empty()) (void)wires_.request("session/configure", changes);
    roots_.ask_again(answers_);
    if (is_awaited) go_on(now);
}

// ---------------------------------------------------------------- tools

void Dialect::call_tool(Asked asked, const Message& message, TimePoint now) {
    CallParams params;
    if (const auto wrong = read(message.params, params))
        return answers_.fail(asked.id, invalid_params_code, message_of(*wrong));
    const std::optional<Tool> tool = tool_named(params.name);
    if (!tool)
        return answers_.fail(asked.id, invalid_params_code,
                             fmt::format("no tool {}; there are {}",
                                         json_string(core::shortened(params.name)), tool_names()));
    json::Value arguments;
    if (params.arguments) arguments.element = params.arguments->element;
    Result<Order> order = order_of(*tool, params.arguments ? &arguments : nullptr);
    if (!order)
        return answers_.fail(asked.id, invalid_params_code,
                             fmt::format("{}: {}", params.name, order.error().message));
    ToolCall call{std::move(asked), std::move(*order)};
    call.digest = core::sha256(fmt::format(
        "{}\n{}", params.name,
        params.arguments ? std::string(simdjson::minify(params.arguments->element)) : "{}"));
    if (!params.request_state && !params.input_responses) return calls_.begin(std::move(call), now);
    Responses responses;
    if (params.input_responses)
        if (const auto wrong = read(*params.input_responses, responses))
            return answers_.fail(call.asked.id, invalid_params_code,
                                 message_of(json::below("inputResponses", *wrong)));
    if (!responses.consent || !params.request_state)
        return answers_.fail(call.asked.id, invalid_params_code,
                             "inputResponses: expected an answer to consent, and requestState");
    calls_.resume(std::move(call), *params.request_state, form_answer(*responses.consent), now);
}

// ---------------------------------------------------------------- from the server

void Dialect::from_server(std::string_view text, TimePoint now) {
    if (text.starts_with(end_start) && !wants_ends()) return;
    if (text.starts_with(delta_start) && !calls_.wants_output() && !resources_.wants_changes())
        return;
    of_server_.trim();
    const Message message = of_server_.read(text);
    switch (message.kind) {
    case Message::Kind::response: {
        const std::uint64_t id = number_of(message.id);
        if (phase_ == Phase::opening && id == session_request_) return on_session_answer(message);
        if (!calls_.on_answer(id, message)) (void)resources_.on_answer(id, message);
        return;
    }
    case Message::Kind::request: {
        protocol::ApprovalRequest question;
        (void)read(message.params, question);
        return calls_.on_question(message.id, std::move(question), now);
    }
    case Message::Kind::notification: return on_server_notification(message);
    case Message::Kind::refused:
        return log::warning("mcp", "a message of the server was not understood");
    }
}

void Dialect::on_server_notification(const Message& message) {
    if (message.method == "exec/outputDelta") {
        protocol::ExecOutputDeltaEvent event;
        (void)read(message.params, event);
        calls_.on_output(event.call_id, event.process_id, event.delta);
        resources_.note_change(event.process_id);
    } else if (message.method == "exec/end") {
        protocol::ExecEndEvent event;
        (void)read(message.params, event);
        resources_.note_change(event.process_id);
    } else if (message.method == "exec/begin") {
        protocol::ExecBeginEvent event;
        (void)read(message.params, event);
        calls_.on_begin(event.call_id, event.process_id, event.workdir);
        resources_.note_new_process();
    } else if (message.method == "$/cancelRequest") {
        protocol::CancelParams params;
        (void)read(message.params, params);
        calls_.on_withdrawn(params.id);
    }
}

// ---------------------------------------------------------------- time

void Dialect::on_time(TimePoint now, Reader reader) {
    calls_.on_time(now, reader);
    resources_.on_time(now, reader);
    if (is_due(roots_.awaited_until(), now)) {
        roots_.give_up();
        go_on(now);
    }
}

std::optional<TimePoint> Dialect::next_deadline() const {
    return earlier(roots_.awaited_until(),
                   earlier(calls_.next_deadline(), resources_.next_deadline()));
}

} // namespace ew::mcp

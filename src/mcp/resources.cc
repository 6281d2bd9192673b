#include "mcp/resources.h"

#include "core/output/utf8.h"
#include "core/text/text.h"
#include "mcp/excerpt.h"
#include "mcp/messages.h"
#include "mcp/resource_list.h"
#include "mcp/screen_result.h"
#include "mcp/server_error.h"
#include "protocol/cast.h"
#include "protocol/exec_list.h"
#include "protocol/process_output.h"
#include "protocol/screen.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace ew::mcp {

namespace {

constexpr std::string_view subscription_key = "io.modelcontextprotocol/subscriptionId";
constexpr int unknown_resource_code = -32002; // of the versions with a handshake

struct UriParams {
    std::string uri = {};
};

template <class Visitor>
void fields(Visitor& visit, UriParams& params) {
    visit.required("uri", params.uri);
}

struct Wanted {
    bool list_changed = false;
    std::vector<std::string> uris = {};
};

template <class Visitor>
void fields(Visitor& visit, Wanted& wanted) {
    visit.optional("resourcesListChanged", wanted.list_changed);
    visit.optional("resourceSubscriptions", wanted.uris);
}

struct ListenParams {
    std::optional<Wanted> notifications = {};
};

template <class Visitor>
void fields(Visitor& visit, ListenParams& params) {
    visit.optional("notifications", params.notifications);
}

std::string text_of(const protocol::ReadResult& result) {
    std::string bytes;
    for (const protocol::OutputChunk& chunk : result.chunks)
        bytes += chunk.chunk.bytes;
    std::string text = plain(core::lossy(bytes));
    if (result.lost_bytes == 0) return text;
    return fmt::format("[… {} bytes before this are no longer kept …]\n{}", result.lost_bytes,
                       text);
}

// Returns the text of a resource from the answer of the server about it.
std::string text_of(ResourceKind kind, const json::Value* answer) {
    switch (kind) {
    case ResourceKind::output: {
        protocol::ReadResult result;
        (void)mcp::read(answer, result);
        return text_of(result);
    }
    case ResourceKind::screen: {
        protocol::ScreenResult result;
        (void)mcp::read(answer, result);
        return screen_text(result);
    }
    case ResourceKind::cast: {
        protocol::CastResult result;
        (void)mcp::read(answer, result);
        return std::move(result.cast);
    }
    }
    return {};
}

} // namespace

// ---------------------------------------------------------------- lists and texts

bool Resources::take(const Asked& asked, const protocol::Message& message) {
    const std::string_view method = message.method;
    const bool is_legacy = asked.era == Era::legacy;
    if (method == "resources/list")
        list(asked);
    else if (method == "resources/templates/list")
        list_templates(asked);
    else if (method == "resources/read")
        read(asked, message);
    else if (method == "resources/subscribe" && is_legacy)
        subscribe(asked, message);
    else if (method == "resources/unsubscribe" && is_legacy)
        unsubscribe(asked, message);
    else if (method == "subscriptions/listen" && !is_legacy)
        listen(asked, message);
    else
        return false;
    return true;
}

bool Resources::may_ask(const Asked& asked) const {
    if (requests_.size() < most_open) return true;
    answers_.fail(asked.id, invalid_request_code, "too many requests for resources are open");
    return false;
}

void Resources::list(const Asked& asked) {
    if (!may_ask(asked)) return;
    const std::uint64_t id = wires_.request_text("exec/list", "{}");
    requests_.push_back({id, asked, ""});
}

void Resources::list_templates(const Asked& asked) {
    answers_.cacheable(asked, template_list());
}

void Resources::read(const Asked& asked, const protocol::Message& message) {
    UriParams params;
    if (const auto wrong = mcp::read(message.params, params))
        return answers_.fail(asked.id, invalid_params_code, "uri: expected a text");
    const std::optional<ResourceName> name = resource_named(params.uri);
    if (!name) return fail_unknown(asked, params.uri);
    if (!may_ask(asked)) return;
    requests_.push_back({request(*name), asked, std::move(params.uri)});
}

// Asks the server. Returns the id of the request.
std::uint64_t Resources::request(const ResourceName& name) {
    switch (name.kind) {
    case ResourceKind::output: {
        protocol::ReadParams wanted;
        wanted.process_id = name.process;
        return wires_.request("process/read", wanted);
    }
    case ResourceKind::screen: {
        protocol::ScreenParams wanted;
        wanted.process_id = name.process;
        return wires_.request("process/screen", wanted);
    }
    case ResourceKind::cast:
        return wires_.request("process/cast", protocol::CastParams{name.process});
    }
    return 0;
}

void Resources::fail_unknown(const Asked& asked, std::string_view uri) {
    const std::string shown = core::shortened(uri);
    answers_.fail(asked.id, asked.era == Era::legacy ? unknown_resource_code : invalid_params_code,
                  fmt::format("no resource {}; resources/list has those there are", shown),
                  fmt::format(R"({{"uri":{}}})", json_string(shown)));
}

bool Resources::on_answer(std::uint64_t request, const protocol::Message& answer) {
    const auto at = std::ranges::find(requests_, request, &Request::id);
    if (at == requests_.end()) return false;
    const Request answered = std::move(*at);
    requests_.erase(at);
    if (answered.uri.empty())
        tell_list(answered, answer);
    else
        tell_text(answered, answer);
    return true;
}

void Resources::tell_list(const Request& request, const protocol::Message& answer) {
    protocol::ExecListResult result;
    if (!answer.is_error) (void)mcp::read(answer.params, result);
    answers_.changeable(request.asked, resource_list(result.processes));
}

void Resources::tell_text(const Request& request, const protocol::Message& answer) {
    const std::optional<ResourceName> name = resource_named(request.uri);
    if (answer.is_error || !name) return fail_unknown(request.asked, request.uri);
    answers_.changeable(request.asked,
                        fmt::format(R"("contents":[{{"uri":{},"mimeType":"{}","text":{}}}])",
                                    json_string(request.uri), media_type_of(name->kind),
                                    json_string(text_of(name->kind, answer.params))));
}

// ---------------------------------------------------------------- subscriptions

Resources::Listener* Resources::legacy() {
    const auto at = std::ranges::find_if(
        listeners_, [](const Listener& listener) { return listener.id.json.empty(); });
    return at == listeners_.end() ? nullptr : &*at;
}

void Resources::begin_legacy() {
    if (legacy() == nullptr) listeners_.push_back({{}, true, {}});
}

void Resources::subscribe(const Asked& asked, const protocol::Message& message) {
    UriParams params;
    if (mcp::read(message.params, params))
        return answers_.fail(asked.id, invalid_params_code, "uri: expected a text");
    if (!resource_named(params.uri)) return fail_unknown(asked, params.uri);
    begin_legacy();
    std::vector<std::string>& uris = legacy()->uris;
    if (std::ranges::find(uris, params.uri) == uris.end()) {
        if (uris.size() >= most_named)
            return answers_.fail(asked.id, invalid_request_code,
                                 fmt::format("{} resources are subscribed to already", most_named));
        uris.push_back(std::move(params.uri));
    }
    answers_.complete(asked, "");
}

void Resources::unsubscribe(const Asked& asked, const protocol::Message& message) {
    UriParams params;
    if (mcp::read(message.params, params))
        return answers_.fail(asked.id, invalid_params_code, "uri: expected a text");
    if (Listener* const listener = legacy()) std::erase(listener->uris, params.uri);
    answers_.complete(asked, "");
}

// The request stays open until the client cancels it.
void Resources::listen(const Asked& asked, const protocol::Message& message) {
    ListenParams params;
    if (mcp::read(message.params, params))
        return answers_.fail(asked.id, invalid_params_code,
                             "notifications: expected an object of a subscription");
    Wanted wanted = params.notifications.value_or(Wanted{});
    std::erase_if(wanted.uris, [](const std::string& uri) { return !resource_named(uri); });
    if (listeners_.size() > most_listening || wanted.uris.size() > most_named)
        return answers_.fail(asked.id, invalid_request_code,
                             fmt::format("at most {} subscriptions may be open, with {} resources "
                                         "each",
                                         most_listening, most_named));
    std::string agreed = wanted.list_changed ? R"("resourcesListChanged":true)" : "";
    if (!wanted.uris.empty())
        agreed += fmt::format(R"({}"resourceSubscriptions":{})", agreed.empty() ? "" : ",",
                              json_of(wanted.uris));
    answers_.notify("notifications/subscriptions/acknowledged",
                    fmt::format(R"({{"_meta":{{"{}":{}}},"notifications":{{{}}}}})",
                                subscription_key, asked.id.json, agreed));
    listeners_.push_back({asked.id, wanted.list_changed, std::move(wanted.uris)});
}

void Resources::cancel(const json::Id& request) {
    std::erase_if(listeners_, [&](const Listener& listener) { return listener.id == request; });
    std::erase_if(requests_, [&](const Request& open) { return open.asked.id == request; });
}

// ---------------------------------------------------------------- changes

bool Resources::wants_changes() const {
    return std::ranges::any_of(listeners_,
                               [](const Listener& listener) { return !listener.uris.empty(); });
}

// Whatever a process prints may change what its terminal shows.
void Resources::note_change(std::string_view process) {
    for (const ResourceKind kind : every_kind) {
        std::string uri = uri_of(process, kind);
        const bool is_wanted = std::ranges::any_of(listeners_, [&](const Listener& listener) {
            return std::ranges::find(listener.uris, uri) != listener.uris.end();
        });
        if (is_wanted && std::ranges::find(changed_, uri) == changed_.end())
            changed_.push_back(std::move(uri));
    }
}

void Resources::tell(const Listener& listener, std::string_view method, std::string_view uri) {
    std::string params;
    if (!listener.id.json.empty())
        params = fmt::format(R"("_meta":{{"{}":{}}})", subscription_key, listener.id.json);
    if (!uri.empty())
        params += fmt::format(R"({}"uri":{})", params.empty() ? "" : ",", json_string(uri));
    answers_.notify(method, fmt::format("{{{}}}", params));
}

void Resources::on_time(TimePoint now, Reader reader) {
    if (!is_due(next_deadline(), now)) return;
    told_at_ = now;
    if (reader == Reader::is_behind) return;
    const std::vector<std::string> changed = std::exchange(changed_, {});
    const bool has_new_process = std::exchange(has_new_process_, false);
    for (const Listener& listener : listeners_) {
        if (listener.wants_list && has_new_process)
            tell(listener, "notifications/resources/list_changed", "");
        for (const std::string& uri : changed)
            if (std::ranges::find(listener.uris, uri) != listener.uris.end())
                tell(listener, "notifications/resources/updated", uri);
    }
}

std::optional<TimePoint> Resources::next_deadline() const {
    if (changed_.empty() && !has_new_process_) return std::nullopt;
    return told_at_ + pause;
}

} // namespace ew::mcp

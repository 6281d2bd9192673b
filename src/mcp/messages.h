// The messages of the Model Context Protocol, as far as execward reads them. Included only by
// sources, because it includes simdjson.h.
#pragma once

#include "json/reader.h"
#include "json/types.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ew::mcp {

// The versions with a handshake, the newest first, and the version without one.
constexpr std::array<std::string_view, 4> legacy_versions = {"2025-11-25", "2025-06-18",
                                                             "2025-03-26", "2024-11-05"};
constexpr std::string_view modern_version = "2026-07-28";

// The code of an error that JSON-RPC 2.0 does not know.
constexpr int unsupported_version_code = -32022;

// An object whose members do not matter.
struct Anything {};

template <class Visitor>
void fields(Visitor&, Anything&) {}

// A value that another reader looks at. It is valid as long as the message.
struct Raw {
    json::Element element = {};
};

inline std::optional<json::Mismatch> read_value(json::Element element, Raw& out, json::Bounds) {
    out.element = element;
    return {};
}

struct Elicitation {
    std::optional<Anything> form = {};
    std::optional<Anything> url = {};
};

template <class Visitor>
void fields(Visitor& visit, Elicitation& elicitation) {
    visit.optional("form", elicitation.form);
    visit.optional("url", elicitation.url);
}

struct Capabilities {
    std::optional<Elicitation> elicitation = {};
    std::optional<Anything> roots = {};

    // An empty object stands for forms.
    bool has_forms() const { return elicitation && (elicitation->form || !elicitation->url); }
};

template <class Visitor>
void fields(Visitor& visit, Capabilities& capabilities) {
    visit.optional("elicitation", capabilities.elicitation);
    visit.optional("roots", capabilities.roots);
}

struct ClientInfo {
    std::string name = {};
    std::optional<std::string> version = {};
};

template <class Visitor>
void fields(Visitor& visit, ClientInfo& info) {
    visit.required("name", info.name);
    visit.optional("version", info.version);
}

struct Meta {
    std::optional<std::string> version = {}; // present only in the modern era
    std::optional<ClientInfo> client = {};
    std::optional<Capabilities> capabilities = {};
    std::optional<json::Id> progress_token = {};
};

template <class Visitor>
void fields(Visitor& visit, Meta& meta) {
    visit.optional("io.modelcontextprotocol/protocolVersion", meta.version);
    visit.optional("io.modelcontextprotocol/clientInfo", meta.client);
    visit.optional("io.modelcontextprotocol/clientCapabilities", meta.capabilities);
    visit.optional("progressToken", meta.progress_token);
}

// The part that the params of all requests share.
struct AnyParams {
    std::optional<Meta> meta = {};
};

template <class Visitor>
void fields(Visitor& visit, AnyParams& params) {
    visit.optional("_meta", params.meta);
}

struct InitializeParams {
    std::string protocol_version = {};
    Capabilities capabilities = {};
    std::optional<ClientInfo> client = {};
};

template <class Visitor>
void fields(Visitor& visit, InitializeParams& params) {
    visit.required("protocolVersion", params.protocol_version);
    visit.optional("capabilities", params.capabilities);
    visit.optional("clientInfo", params.client);
}

struct CallParams {
    std::string name = {};
    std::optional<Raw> arguments = {};
    std::optional<Raw> input_responses = {};
    std::optional<std::string> request_state = {};
};

template <class Visitor>
void fields(Visitor& visit, CallParams& params) {
    visit.required("name", params.name);
    visit.optional("arguments", params.arguments);
    visit.optional("inputResponses", params.input_responses);
    visit.optional("requestState", params.request_state);
}

enum class Action : std::uint8_t { accept, decline, cancel };

struct Decision {
    std::optional<std::string> decision = {};
};

template <class Visitor>
void fields(Visitor& visit, Decision& content) {
    visit.optional("decision", content.decision);
}

// The answer of a person to an elicitation.
struct Elicited {
    Action action = Action::cancel;
    std::optional<Decision> content = {};
};

template <class Visitor>
void fields(Visitor& visit, Elicited& elicited) {
    visit.required("action", elicited.action);
    visit.optional("content", elicited.content);
}

// The member of inputResponses that answers the only question of a result (mcp/answers.h).
struct Responses {
    std::optional<Elicited> consent = {};
};

template <class Visitor>
void fields(Visitor& visit, Responses& responses) {
    visit.optional("consent", responses.consent);
}

struct CancelledParams {
    json::Id request = {};
};

template <class Visitor>
void fields(Visitor& visit, CancelledParams& params) {
    visit.required("requestId", params.request);
}

struct Root {
    std::string uri = {};
};

template <class Visitor>
void fields(Visitor& visit, Root& root) {
    visit.required("uri", root.uri);
}

struct RootsResult {
    std::vector<Root> roots = {};
};

template <class Visitor>
void fields(Visitor& visit, RootsResult& result) {
    visit.required("roots", result.roots);
}

// Reads a value whose members may be absent as a whole. Returns the mismatch.
template <class Struct>
std::optional<json::Mismatch> read(const json::Value* value, Struct& out) {
    using json::read_value;
    if (value != nullptr) return read_value(value->element, out, json::Bounds{});
    json::FieldReader nothing;
    fields(nothing, out);
    return std::move(nothing.wrong());
}

template <class Struct>
std::optional<json::Mismatch> read(const Raw& value, Struct& out) {
    using json::read_value;
    return read_value(value.element, out, json::Bounds{});
}

} // namespace ew::mcp

namespace ew::json {

template <>
struct Names<mcp::Action> {
    static constexpr std::array<std::string_view, 3> list = {"accept", "decline", "cancel"};
};

} // namespace ew::json

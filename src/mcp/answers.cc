#include "mcp/answers.h"

#include <fmt/format.h>

namespace ew::mcp {

namespace {

// The tools and the instructions depend on nothing that changes while the server runs.
constexpr int keep_for_ms = 60'000;

} // namespace

std::string json_string(std::string_view text) {
    ByteBuffer out;
    json::write_string(out, text);
    return std::string(out.view());
}

std::string Answers::server_info() const {
    return fmt::format(R"({{"name":"execward","version":{}}})", json_string(version_));
}

void Answers::send(const Asked& asked, std::string_view type, std::string_view members) {
    std::string_view comma = members.empty() ? "" : ",";
    if (asked.era == Era::legacy)
        return wires_.to_client(
            fmt::format(R"({{"jsonrpc":"2.0","id":{},"result":{{{}}}}})", asked.id.json, members));
    wires_.to_client(fmt::format(
        R"({{"jsonrpc":"2.0","id":{},"result":{{{}{}"resultType":"{}","_meta":{{"io.modelcontextprotocol/serverInfo":{}}}}}}})",
        asked.id.json, members, comma, type, server_info()));
}

void Answers::complete(const Asked& asked, std::string_view members) {
    send(asked, "complete", members);
}

void Answers::cacheable(const Asked& asked, std::string_view members) {
    if (asked.era == Era::legacy) return complete(asked, members);
    complete(asked, fmt::format(R"({},"ttlMs":{},"cacheScope":"private")", members, keep_for_ms));
}

void Answers::changeable(const Asked& asked, std::string_view members) {
    if (asked.era == Era::legacy) return complete(asked, members);
    complete(asked, fmt::format(R"({},"ttlMs":0,"cacheScope":"private")", members));
}

void Answers::tool_result(const Asked& asked, const ToolResult& result) {
    const std::string content =
        fmt::format(R"("content":[{{"type":"text","text":{}}}])", json_string(result.text));
    if (result.is_error) return complete(asked, content + R"(,"isError":true)");
    if (result.structured.empty()) return complete(asked, content);
    complete(asked, fmt::format(R"({},"structuredContent":{})", content, result.structured));
}

void Answers::input_required(const Asked& asked, std::string_view form, std::string_view state) {
    send(
        asked, "input_required",
        fmt::format(
            R"("inputRequests":{{"consent":{{"method":"elicitation/create","params":{}}}}},"requestState":{})",
            form, json_string(state)));
}

void Answers::fail(const json::Id& id, int code, std::string_view message, std::string_view data) {
    const std::string more = data.empty() ? "" : fmt::format(R"(,"data":{})", data);
    wires_.to_client(
        fmt::format(R"({{"jsonrpc":"2.0","id":{},"error":{{"code":{},"message":{}{}}}}})",
                    id.json.empty() ? "null" : id.json, code, json_string(message), more));
}

void Answers::progress(const json::Id& token, std::uint64_t value, std::string_view message) {
    const std::string text =
        message.empty() ? "" : fmt::format(R"(,"message":{})", json_string(message));
    notify("notifications/progress",
           fmt::format(R"({{"progressToken":{},"progress":{}{}}})", token.json, value, text));
}

void Answers::notify(std::string_view method, std::string_view params) {
    wires_.to_client(
        fmt::format(R"({{"jsonrpc":"2.0","method":"{}","params":{}}})", method, params));
}

void Answers::request(std::string_view id, std::string_view method, std::string_view params) {
    wires_.to_client(fmt::format(R"({{"jsonrpc":"2.0","id":"{}","method":"{}","params":{}}})", id,
                                 method, params));
}

} // namespace ew::mcp

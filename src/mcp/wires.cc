#include "mcp/wires.h"

#include <fmt/format.h>

namespace ew::mcp {

void Wires::answer(const json::Id& question, std::string_view result) {
    for_server_.push_back(
        fmt::format(R"({{"jsonrpc":"2.0","id":{},"result":{}}})", question.json, result));
}

std::optional<std::string> Wires::next_for_server() {
    if (for_server_.empty()) return std::nullopt;
    std::string next = std::move(for_server_.front());
    for_server_.pop_front();
    return next;
}

void Wires::send(std::string_view method, std::string_view params,
                 std::optional<std::uint64_t> id) {
    const std::string name = id ? fmt::format(R"("id":{},)", *id) : "";
    for_server_.push_back(
        fmt::format(R"({{"jsonrpc":"2.0",{}"method":"{}","params":{}}})", name, method, params));
}

} // namespace ew::mcp

// From a call of a tool to the request of execward's own protocol that does it. Pure.
#pragma once

#include "base/result.h"
#include "mcp/pages.h"
#include "mcp/tools.h"
#include "protocol/until.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace ew::json {
struct Value;
}

namespace ew::mcp {

// What a call wants, and what later steps of it need.
struct Order {
    Tool tool = Tool::list_processes;
    std::string_view method = {};
    std::string params = {};             // JSON text
    std::string process = {};            // of the tools that have an id
    std::optional<PageCursor> page = {}; // of read_output with after
};

// Errors: invalid_params, which names the argument.
Result<Order> order_of(Tool tool, const json::Value* arguments);

// The params of a request that waits for this process, at most for that time, and gives its new
// output. A time of 0 is over at once.
std::string wait_params(const std::string& process, std::uint64_t wait_ms,
                        std::optional<protocol::Until> until = {});

} // namespace ew::mcp

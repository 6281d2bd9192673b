// What the tool `screen` tells.
#pragma once

#include "mcp/answers.h"
#include "protocol/screen.h"

#include <string>

namespace ew::mcp {

// `process` is its id, as the tools name it.
ToolResult result_of(const protocol::ScreenResult& screen, const std::string& process);

} // namespace ew::mcp

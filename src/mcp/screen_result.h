// What the tool `screen` and the resource of a screen tell.
#pragma once

#include "mcp/answers.h"
#include "protocol/screen.h"

#include <string>

namespace ew::mcp {

// Returns the rows, without the empty ones at the bottom.
std::string screen_text(const protocol::ScreenResult& screen);

// `process` is its id, as the tools name it.
ToolResult result_of(const protocol::ScreenResult& screen, const std::string& process);

} // namespace ew::mcp

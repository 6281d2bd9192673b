// The errors and hints of the server name members and methods of its own protocol. A model knows
// the tools and their arguments only. Pure.
#pragma once

#include <string>
#include <string_view>

namespace ew::mcp {

// Returns the text with the names of the tools and their arguments.
std::string in_tool_words(std::string_view text);

} // namespace ew::mcp

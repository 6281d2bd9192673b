// What a model reads about each tool: its name, description and schemas, as JSON texts in lines.
#pragma once

#include "mcp/tools.h"

#include <string_view>

namespace ew::mcp {

// In place of the schema of an outcome.
constexpr std::string_view outcome_mark = "@OUTCOME@";

std::string_view text_of(Tool tool);

// The result of the tools that deal with one program or patch (mcp/outcome.h).
std::string_view outcome_schema();

} // namespace ew::mcp

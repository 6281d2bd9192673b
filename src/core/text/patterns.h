// Which texts are patterns for paths, in settings and requests that take paths and patterns. What
// patterns mean is in sandbox/policy/glob.h.
#pragma once

#include <string>
#include <string_view>

namespace ew::core {

// Returns true if there is one of * ? [ in the text, or a {…} with a comma in it.
bool is_pattern(std::string_view text);

// Returns a pattern that only this path matches.
std::string pattern_for(std::string_view path);

} // namespace ew::core

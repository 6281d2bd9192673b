// What changed between two texts, for a person to read before a file is written.
#pragma once

#include <string>
#include <string_view>

namespace ew::cli {

// A unified diff with three lines around each change; empty if the texts are equal. Lines are made
// visible (core/display.h), so it is for reading and not for patch(1). `old_name` and `new_name`
// must be so already.
std::string unified_diff(std::string_view before, std::string_view after, std::string_view old_name,
                         std::string_view new_name);

} // namespace ew::cli

// Absolute paths as text: nothing is looked up.
#pragma once

#include <string>
#include <string_view>

namespace ew::core {

// "/a" + "b"; "/" + "b"; either may be empty.
std::string joined(std::string_view directory, std::string_view rest);

std::string parent_of(std::string_view path); // of "/a" and of "/": "/"

// Strictly below. Nothing is below what is no path.
bool is_below(std::string_view path, std::string_view directory);

bool is_at_or_below(std::string_view path, std::string_view directory);

} // namespace ew::core

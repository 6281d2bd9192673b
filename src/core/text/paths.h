// Absolute paths as text: nothing is looked up.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace ew::core {

// "/a" + "b"; "/" + "b"; either may be empty.
std::string joined(std::string_view directory, std::string_view rest);

std::string parent_of(std::string_view path); // of "/a" and of "/": "/"

// Strictly below. Nothing is below what is no path.
bool is_below(std::string_view path, std::string_view directory);

bool is_at_or_below(std::string_view path, std::string_view directory);

// An absolute path of a file system that cannot be looked at, without what means nothing. Absent:
// it has a "..", which leads elsewhere behind a link, or a NUL.
std::optional<std::string> path_as_written(const std::string& path);

} // namespace ew::core

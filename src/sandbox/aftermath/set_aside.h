// Moves a file or directory aside: within its own file system, under a name that neither git nor an
// agent looks for, and over nothing.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace ew::sandbox {

// Moves `name`, a path below the directory `holder`, into `holder`, or else within its own
// directory. Returns the new path, or nullopt if it could not be moved. No link is followed.
std::optional<std::string> set_aside(const std::string& holder, const std::string& name);

// Is it a name that set_aside() gives?
bool is_set_aside(std::string_view name);

} // namespace ew::sandbox

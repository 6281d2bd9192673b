// Reads and writes whole files, for small ones that the user names.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace ew::cli {

// Return nullopt or false, with errno set, if it failed.
std::optional<std::string> read_file(const std::string& path);
bool write_file(const std::string& path, std::string_view text);

} // namespace ew::cli

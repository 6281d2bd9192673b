// JSON arrays of strings for storage outside of messages (database, files).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ew::json {

std::string strings_to_json(const std::vector<std::string>& strings);

// Returns nullopt if `text` is not a JSON array of strings.
std::optional<std::vector<std::string>> strings_from_json(std::string_view text);

} // namespace ew::json

// JSON arrays of strings, as they are kept outside of messages.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ew::json {

std::string strings_to_json(const std::vector<std::string>& strings);

// Absent: this is not JSON, or not an array of strings.
std::optional<std::vector<std::string>> strings_from_json(std::string_view text);

} // namespace ew::json

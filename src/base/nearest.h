// Finds the name that was probably meant.
#pragma once

#include <string_view>
#include <vector>

namespace ew {

// Returns the name that differs least from `name`, case apart. Requires at least one name.
std::string_view nearest(std::string_view name, const std::vector<std::string_view>& names);

} // namespace ew

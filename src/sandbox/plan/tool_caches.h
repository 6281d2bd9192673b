// The caches of compilers and package managers, which lie in the home directory and are needed even
// to build: in a sandbox they are read-only, so their tools fail (each tool's documentation names
// the variable).
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace ew::sandbox {

// Returns variables that lead the caches below `place`. Caches that also hold what cannot be made
// anew without a network, or settings, are led there only where `home` has none. Looks at the disk.
std::vector<std::pair<std::string, std::string>> cache_variables(const std::string& home,
                                                                 const std::string& place);

} // namespace ew::sandbox

// The search of the workspace for a plan.
#pragma once

#include "sandbox/walk/walk_order.h"

#include <string>
#include <vector>

namespace ew::sandbox {

// Asks the walker, or walks until all is searched. After a while it returns what has been found by
// then, if the directories that are left can be closed.
// `kept_open`: directories that cannot be hidden. `walker`: see make_plan().
WalkFindings search_workspace(const WalkOrder& order, const std::vector<std::string>& kept_open,
                              int walker = -1);

// Returns the root that the path is in: the nearest of `roots` at or above it. Empty: none is.
std::string innermost(const std::vector<std::string>& roots, const std::string& path);

} // namespace ew::sandbox

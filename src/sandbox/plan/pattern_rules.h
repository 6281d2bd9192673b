// What is hidden because of one pattern, within bounds: the paths that match it, and directories
// that were not searched for such paths or have too many in them.
#pragma once

#include "sandbox/walk/walk_order.h"

#include <cstdint>
#include <string>
#include <vector>

namespace ew::sandbox {

struct Hiding {
    std::vector<std::string> paths = {}; // that match
    // Directories in which there may be further matches: they cannot be looked into, or have too
    // many matches in them; or they were not searched.
    std::vector<std::string> unclear = {};
    std::vector<std::string> unsearched = {};
    bool is_complete = true; // false: too much would have to be hidden, and is not
};

// `kept_open`: directories that the command needs, so they cannot be hidden.
Hiding hiding_for(const WalkFindings& found, std::uint32_t pattern, const std::string& base,
                  const std::vector<std::string>& kept_open);

} // namespace ew::sandbox

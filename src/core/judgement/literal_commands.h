// The commands written out in a script that cannot be taken apart completely.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ew::core {

// The commands written out anywhere in a script: in conditions, loops, groups, functions and
// substitutions. A best effort for scripts with an obstacle, good enough to forbid and too weak to
// allow. A word with an expansion keeps what is literal in it.
std::vector<std::vector<std::string>> literal_commands(std::string_view script);

} // namespace ew::core

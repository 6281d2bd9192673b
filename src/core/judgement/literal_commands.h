// Finds literal commands in a script that cannot be decomposed completely.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ew::core {

// Returns the commands written literally anywhere in a script: in conditions, loops, groups,
// functions and substitutions. This is a best effort for scripts with an obstacle: good enough to
// forbid, too weak to allow. A * stands for what the shell computes.
std::vector<std::vector<std::string>> literal_commands(std::string_view script);

} // namespace ew::core

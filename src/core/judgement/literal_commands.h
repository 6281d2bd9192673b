// Finds literal commands in a script that cannot be decomposed completely.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ew::core {

// Stands for a program that is not known. No program has this name.
constexpr std::string_view unknown_program = "$";

struct FoundCommands {
    std::vector<std::vector<std::string>> commands = {};
    bool is_whole = true;     // false at a bound: there may be more commands
    bool has_unknown = false; // a * stands for words that a program puts into a command
};

// Returns the commands written literally anywhere in a script: in conditions, loops, groups,
// functions and substitutions. This is a best effort for scripts with an obstacle: good enough to
// forbid, too weak to allow. A * stands for what the shell computes.
FoundCommands literal_commands(std::string_view script);

} // namespace ew::core

// Takes a command line apart into the commands that it runs: through a shell's script, and through
// the shells in it.
#pragma once

#include "core/command_safety.h"
#include "core/rules.h"

#include <string>
#include <string_view>
#include <vector>

namespace ew::core {

// One command of a script, or a whole argv.
struct Part {
    ShellCommand command;
    std::string obstacle = {}; // it runs more than its words say, and this is why nobody knows
    std::vector<Words> inner_shells = {}; // calls of shells, in the script, that led to it
    bool is_in_shell = false;             // builtins are at hand
    bool has_left_workspace = false;      // a `cd` before it led elsewhere
};

// `argv` itself if it is no shell with a script. Never empty. `workspace` may be empty: every
// absolute path is outside then.
std::vector<Part> take_apart(const Words& argv, std::string_view workspace,
                             const ProgramTrust& trust);

} // namespace ew::core

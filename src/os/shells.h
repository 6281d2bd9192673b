// Which shell runs a script.
#pragma once

#include "base/result.h"

#include <optional>
#include <string>
#include <vector>

namespace ew::os {

struct ShellProgram {
    std::string name; // bash, dash, ksh, sh or zsh
    std::string path; // absolute
};

// Absent: the user's login shell (of $SHELL, else of the user database) if it is of a known kind
// and lies where only root or the user can put it, else bash, else sh. A name: looked for only in
// the system's directories. A path: absolute, executable, and named like a known shell. That says
// nothing about what it is: before its script is read as a shell would, ask whether the path is one
// of TrustedPrograms.
// The user database may be on a network: call it once, not for each command.
Result<ShellProgram> find_shell(const std::optional<std::string>& wanted);

// The same with the login shells to consider, best first.
Result<ShellProgram> find_shell(const std::optional<std::string>& wanted,
                                const std::vector<std::string>& login_shells);

std::vector<std::string> shell_argv(const ShellProgram& shell, bool login,
                                    const std::string& script);

} // namespace ew::os

// Selects the shell that runs a script.
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

// Without `wanted`: returns the user's login shell (from $SHELL, else from the user database) if
// its kind is known and only root or the user can write to its place; else bash, else sh. A name is
// searched only in the system directories. A path must be absolute, executable, and named like a
// known shell. The name does not prove what the program is: before its script is parsed as a shell
// would, ask TrustedPrograms about the path.
// The user database may be on a network: call this once, not for each command.
Result<ShellProgram> find_shell(const std::optional<std::string>& wanted);

// The login shell as above, with the paths to consider, best first.
Result<ShellProgram> find_login_shell(const std::vector<std::string>& candidates);

std::vector<std::string> shell_argv(const ShellProgram& shell, bool login,
                                    const std::string& script);

// A long script, which the shell reads from script_fd (base/script_file.h).
struct ScriptInFile {
    std::string command; // the short script in its place, behind -c
    std::string content; // of the file
};

// The script keeps the meaning that it has behind -c: $0, the parameters, the standard input, and
// what a shell reads before it runs anything. Only the shell's own messages name another place.
// `program` is the file of the shell.
ScriptInFile script_in_file(const std::string& program, const std::string& script);

} // namespace ew::os

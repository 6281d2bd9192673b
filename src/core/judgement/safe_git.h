// The command lines of git that only read. The function expects "git" as the first word.
#pragma once

#include "core/judgement/shell_words.h"

#include <string>
#include <vector>

namespace ew::core {

bool is_safe_git(const ShellCommand& command);

// git's words without the options in front of the subcommand, if all of them are known: "git -C sub
// push" is {"git", "push"}. Otherwise empty.
std::vector<std::string> git_without_options(const std::vector<std::string>& argv);

} // namespace ew::core

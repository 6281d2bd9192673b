// Recognises the command lines of git that only read. The first word must be "git".
#pragma once

#include "core/judgement/shell_words.h"

#include <string>
#include <vector>

namespace ew::core {

bool is_safe_git(const ShellCommand& command);

// Returns git's words without the options before the subcommand: "git -C sub push" gives {"git",
// "push"}. Returns no words if one of these options is unknown.
std::vector<std::string> git_without_options(const std::vector<std::string>& argv);

} // namespace ew::core

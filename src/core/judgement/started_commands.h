// Finds the commands that a command starts or may start, as far as its words show them.
#pragma once

#include "core/judgement/literal_commands.h"

#include <string>
#include <string_view>
#include <vector>

namespace ew::core {

// Returns the command and the commands that it would start, as far as its words show them: behind
// sudo, env, xargs and similar programs, behind find's -exec, and in the script of a shell.
FoundCommands with_started_commands(const std::vector<std::string>& argv);

// The same for several commands, within the bounds of one search.
FoundCommands with_started_commands(const std::vector<std::vector<std::string>>& commands);

// Returns true if the text contains a setting that redefines git subcommands.
bool holds_alias(std::string_view text);

// Returns true for programs that start other programs (sudo, env, timeout, …), by base name.
bool is_launcher(std::string_view program);

} // namespace ew::core

// Programs that start the command behind their own words, with further words that are not known
// before.
#pragma once

#include "core/judgement/shell_words.h"

#include <optional>
#include <vector>

namespace ew::core {

// Returns the command that xargs starts, with a * where it puts what it reads. The first word must
// be "xargs". Returns nullopt if its own options do more, or if its input is not the output of
// another command of the script.
std::optional<std::vector<ShellCommand>> started_by_xargs(const ShellCommand& command);

} // namespace ew::core

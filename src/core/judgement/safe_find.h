// Recognises the command lines of find that only read. The first word must be "find".
#pragma once

#include "core/judgement/shell_words.h"

#include <optional>
#include <vector>

namespace ew::core {

// Returns the commands behind -exec, with a * in place of the path of a file. Returns nullopt if
// find itself does more than read.
std::optional<std::vector<ShellCommand>> started_by_find(const ShellCommand& command);

} // namespace ew::core

// The command lines of find that only read. The function expects "find" as the first word.
#pragma once

#include "core/judgement/shell_words.h"

namespace ew::core {

bool is_safe_find(const ShellCommand& command);

} // namespace ew::core

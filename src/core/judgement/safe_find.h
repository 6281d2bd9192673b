// Recognises the command lines of find that only read. The first word must be "find".
#pragma once

#include "core/judgement/shell_words.h"

namespace ew::core {

bool is_safe_find(const ShellCommand& command);

} // namespace ew::core

// Recognises the scripts of sed and awk that only print. The first word must be the program's name.
#pragma once

#include "core/judgement/shell_words.h"

namespace ew::core {

bool is_safe_sed(const ShellCommand& command);
bool is_safe_awk(const ShellCommand& command);

} // namespace ew::core

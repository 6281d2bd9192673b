// Checks programs whose harmless command lines need more than a list of options. Each function
// expects its program's name as the first word.
#pragma once

#include "core/judgement/shell_words.h"

namespace ew::core {

bool is_safe_date(const ShellCommand& command);
bool is_safe_printf(const ShellCommand& command);

} // namespace ew::core

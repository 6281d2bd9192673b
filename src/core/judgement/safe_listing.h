// Programs that list what is in archives and settings, and that could also write or start
// something. Each function expects its program's name as the first word.
#pragma once

#include "core/judgement/shell_words.h"

namespace ew::core {

bool is_safe_getconf(const ShellCommand& command);
bool is_safe_tar(const ShellCommand& command);
bool is_safe_tree(const ShellCommand& command);
bool is_safe_unzip(const ShellCommand& command);
bool is_safe_zipinfo(const ShellCommand& command);
bool is_safe_gzip(const ShellCommand& command);
bool is_safe_dpkg(const ShellCommand& command);

} // namespace ew::core

// What shells do with the words of a command beside starting a program.
#pragma once

#include "core/judgement/shell_words.h"

#include <string>
#include <string_view>
#include <vector>

namespace ew::core {

// Returns true for a name that no shell and no program of the system gives a meaning of its own.
bool is_own_variable(std::string_view name);

// Returns why this may do more than start a program with these words. Returns an empty string if
// it does not. `is_several` has one item per word: it may become several words, or none.
std::string obstacle_of_words(const ShellCommand& command, const std::vector<bool>& is_several,
                              Dialect dialect);

// Returns true for `set` with options by which a script ends sooner, and nothing else: -e, -u and
// -o pipefail.
bool is_safe_set(const ShellCommand& command);

// Returns true for an operator about one file or text, such as -f and -n.
bool is_unary_test(std::string_view word);

// Returns true for `test` and `[` with one comparison of files, texts or numbers, which computes
// nothing that its words say.
bool is_safe_test(const ShellCommand& command);

} // namespace ew::core

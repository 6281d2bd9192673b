// Characters that a person cannot see, in texts that are judged.
#pragma once

#include <string_view>

namespace ew::core {

// Returns true if a text must not be shown to a person as part of a command: it contains control
// characters, non-ASCII blanks, characters that reorder text, or bytes that are not UTF-8. Tabs and
// newlines are accepted.
bool has_hidden_text(std::string_view text);

} // namespace ew::core

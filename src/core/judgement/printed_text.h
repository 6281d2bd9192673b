// What echo, print and printf print, as far as their words show it.
#pragma once

#include <string>
#include <vector>

namespace ew::core {

// Returns the text that printf makes of its format, and the words as echo prints them. If there are
// escapes, the text follows once more without them.
std::string printed_text(const std::vector<std::string>& words);

} // namespace ew::core

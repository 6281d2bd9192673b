// Asks the person at the terminal to say yes or no.
#pragma once

#include <optional>
#include <string_view>

namespace ew::cli {

// Asks on the terminal, or on stdin if that is a terminal. Returns nullopt if there is none.
std::optional<bool> confirm(std::string_view question);

} // namespace ew::cli

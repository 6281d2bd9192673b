// The quotes $'…' of shells, and the escapes in texts that echo and printf print.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace ew::core {

// Returns what the shell puts in place of $'…'. `at` is the offset behind the opening quote, and
// becomes the offset behind the closing one.
std::string read_ansi_quoted(std::string_view text, std::size_t& at);

// Returns the text with its escapes replaced, as printf and the echo of dash do it.
std::string without_escapes(std::string_view text);

} // namespace ew::core

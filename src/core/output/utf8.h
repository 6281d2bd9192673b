// Where UTF-8 text may be cut.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace ew::core {

// The longest character has 4 bytes, so at most 3 can be waiting for the rest.
constexpr std::size_t longest_unfinished = 3;

// How many bytes at the end of `bytes` begin a character whose rest may still come: 0 to 3. Bytes
// that no continuation could make valid (Unicode 15, table 3-7) are not waited for.
std::size_t unfinished_tail(std::string_view bytes);

// UTF-8 text for a message to a person: cut between characters if it is long.
std::string shortened(std::string_view text);

} // namespace ew::core

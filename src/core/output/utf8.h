// Finds positions where UTF-8 text may be cut.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace ew::core {

// The length of the longest incomplete character: the longest character has 4 bytes.
constexpr std::size_t longest_unfinished = 3;

// Returns how many bytes at the end of `bytes` begin a character that may still be completed: 0 to
// 3. Bytes that no continuation could make valid (Unicode 15, table 3-7) do not count.
std::size_t unfinished_tail(std::string_view bytes);

// Shortens UTF-8 text for a message to a person. Cuts between characters.
std::string shortened(std::string_view text);

} // namespace ew::core

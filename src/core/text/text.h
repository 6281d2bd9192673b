// Bytes as text: characters one at a time, and valid UTF-8 out of whatever a program wrote.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace ew::core {

constexpr std::string_view replacement = "\xef\xbf\xbd"; // U+FFFD

// What the first bytes of a text are: a character, or as much of an invalid sequence as one U+FFFD
// stands for (a maximal subpart: Unicode 15, section 3.9).
struct Character {
    std::size_t size = 0; // bytes; 0 only at the end of the text
    bool is_valid = false;
    char32_t code_point = 0; // if it is valid
};

Character first_character(std::string_view bytes);

// How many bytes at the front are valid UTF-8.
std::size_t valid_prefix(std::string_view bytes);

// `bytes` with U+FFFD in place of each maximal invalid subpart: always valid UTF-8. What ends in
// the middle of a character ends in U+FFFD, so cut before (utf8.h, unfinished_tail).
std::string lossy(std::string_view bytes);
void append_lossy(std::string& out, std::string_view bytes);

} // namespace ew::core

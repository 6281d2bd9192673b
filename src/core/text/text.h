// Converts bytes to text: reads one character at a time, and makes valid UTF-8 from any output.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace ew::core {

constexpr std::string_view replacement = "\xef\xbf\xbd"; // U+FFFD

// The first bytes of a text: a character, or the part of an invalid sequence that one U+FFFD
// replaces (a maximal subpart: Unicode 15, section 3.9).
struct Character {
    std::size_t size = 0; // bytes; 0 only at the end of the text
    bool is_valid = false;
    char32_t code_point = 0; // only if valid
};

Character first_character(std::string_view bytes);

// Returns the number of bytes at the front that are valid UTF-8.
std::size_t valid_prefix(std::string_view bytes);

// Returns `bytes` with U+FFFD in place of each maximal invalid subpart, so the result is always
// valid UTF-8. An incomplete character at the end becomes U+FFFD, so cut before it (utf8.h,
// unfinished_tail).
std::string lossy(std::string_view bytes);
void append_lossy(std::string& out, std::string_view bytes);

} // namespace ew::core

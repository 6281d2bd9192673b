// The words and numbers of files in /proc.
#pragma once

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>
#include <system_error>

namespace ew::os {

// Returns the next word, and removes it. Empty at the end.
inline std::string_view next_word(std::string_view& rest) {
    constexpr std::string_view blanks = " \t\n";
    rest.remove_prefix(std::min(rest.find_first_not_of(blanks), rest.size()));
    const std::string_view word = rest.substr(0, rest.find_first_of(blanks));
    rest.remove_prefix(word.size());
    return word;
}

// Base 16 may begin with 0x. Returns nullopt if the word is no such number, or too large.
template <class Number>
std::optional<Number> number_in(std::string_view word, int base) {
    if (base == 16 && word.starts_with("0x")) word.remove_prefix(2);
    Number value = 0;
    const auto parsed = std::from_chars(word.data(), word.data() + word.size(), value, base);
    if (parsed.ec != std::errc() || parsed.ptr != word.data() + word.size()) return std::nullopt;
    return value;
}

} // namespace ew::os

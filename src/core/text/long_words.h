// Long texts in what a person or a client is shown: their begin, their end, and how much lies
// between.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace ew::core {

// The length of the longest word of a command line (MAX_ARG_STRLEN in execve(2), without the NUL).
constexpr std::size_t longest_word = 131071;

// Returns the text with its middle left out and counted, if more than `begin` and `end` bytes and
// the words about it are left.
std::string without_middle(std::string text, std::size_t begin, std::size_t end);

// Returns the words with the middle left out of each that is longer than longest_word: a script
// (base/script_file.h).
std::vector<std::string> shown_words(const std::vector<std::string>& words);

} // namespace ew::core

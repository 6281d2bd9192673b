// The output of a program as a model reads it: without the sequences that move a cursor or choose
// colours, and short, with its beginning and its end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace ew::mcp {

// Returns the text without escape sequences and other control characters. Of a line that was
// written over, the last text stays.
std::string plain(std::string_view output);

// Returns the number of bytes that the text takes in a JSON string.
std::size_t escaped_size(std::string_view text);

struct Excerpt {
    std::string text = {};
    std::uint64_t omitted_bytes = 0;
};

// Keeps the beginning and the end of a text that takes more than `most` bytes in a JSON string, and
// says between them how much is missing. `missing` bytes are missing in the text already.
Excerpt shorten(std::string_view text, std::size_t most, std::uint64_t missing);

// Returns the last line that is not blank, shortened; empty if there is none.
std::string last_line(std::string_view output);

} // namespace ew::mcp

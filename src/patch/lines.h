// Text as lines, each with its end.
#pragma once

#include <cstddef>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace ew::patch {

struct TextLine {
    std::string_view text;
    std::string_view end; // "\n", "\r\n", or nothing at the end of the text
};

// At most so many from the beginning. What stands behind the last newline is a line if it is not
// empty.
std::vector<TextLine> lines_of(std::string_view text,
                               std::size_t most = std::numeric_limits<std::size_t>::max());

// Without blanks of ASCII, among which are line ends.
std::string_view trimmed_end(std::string_view text);
std::string_view trimmed(std::string_view text);

// For a message: visible, cut if it is long, and between backquotes.
std::string quoted(std::string_view text);

} // namespace ew::patch

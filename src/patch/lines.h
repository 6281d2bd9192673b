// Text as lines; each line has its line end.
#pragma once

#include <cstddef>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace ew::patch {

struct TextLine {
    std::string_view text;
    std::string_view end; // "\n", "\r\n", or empty at the end of the text
};

// Returns at most the first `most` lines. Text behind the last newline is a line if it is not
// empty.
std::vector<TextLine> lines_of(std::string_view text,
                               std::size_t most = std::numeric_limits<std::size_t>::max());

// Returns the text without ASCII white space, which includes line ends.
std::string_view trimmed_end(std::string_view text);
std::string_view trimmed(std::string_view text);

// Formats text for a message: visible, shortened, and between backquotes.
std::string quoted(std::string_view text);

} // namespace ew::patch

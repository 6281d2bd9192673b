// Text for a person who makes a decision: nothing in it can hide, move or imitate other text. Two
// problems remain: right-to-left letters, which reorder the digits and punctuation between them,
// and characters that look alike (see has_mixed_scripts()).
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ew::core {

// Returns `text` on one line with escapes for everything that is not visible: \n \r \t, other
// control characters and invalid bytes as \x1b, characters as \u{200b}. A backslash is doubled, so
// that escapes are unambiguous. A combining mark becomes an escape if it does not follow a letter
// or digit, or if there are too many.
std::string visible(std::string_view text);

// Returns true if visible() would write an escape for anything except a newline, a tab or a
// backslash.
bool has_invisible(std::string_view text);

// Returns the words on one line, quoted so that bash reads exactly the same words. Words use the
// quoting of POSIX if that is enough, and $'…' if they contain invisible characters.
std::string shell_quoted(const std::vector<std::string>& argv);

// Returns true if one run of letters and digits may look like another one: it has letters of
// several alphabets, or characters that look like ASCII, among ASCII or alone.
bool has_mixed_scripts(std::string_view text);

} // namespace ew::core

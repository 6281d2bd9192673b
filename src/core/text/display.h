// Text for a person who decides: nothing in it can hide, move or imitate something else. What is
// left to judge are right-to-left letters, which reorder the digits and punctuation between them,
// and letters that look alike: see has_mixed_scripts().
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ew::core {

// `text` on one line, with everything that does not show itself as an escape: \n \r \t, other
// controls and invalid bytes as \x1b, characters as \u{200b}. A backslash is doubled, so that the
// text can be told from what it shows. Marks are escapes where they are drawn onto nothing that is
// a letter or digit, or are too many.
std::string visible(std::string_view text);

// Would visible() write an escape for anything but a newline, a tab or a backslash?
bool has_invisible(std::string_view text);

// The words as bash reads them again, exactly, on one line. Words that need no more are quoted as
// POSIX says, and those with something in them that does not show itself as $'…'.
std::string shell_quoted(const std::vector<std::string>& argv);

// Are there Latin, Greek and Cyrillic letters, at least two of the three, in one run of letters
// and digits? Such a word is rarely meant, and may look like one of a single script.
bool has_mixed_scripts(std::string_view text);

} // namespace ew::core

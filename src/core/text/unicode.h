// The properties from the Unicode character database that visible text needs.
#pragma once

namespace ew::core {

// Returns true if a font draws something for this character that is neither blank nor easily
// confused with a character that matters to a shell. The ASCII space is graphic. Unassigned and
// private characters, control and format characters, all other blanks, and characters drawn across
// another character are not.
bool is_graphic(char32_t code_point);

// Returns true for a combining mark, which is drawn onto the character before it.
bool is_mark(char32_t code_point);

// Returns true for a character beyond ASCII that can be taken for one of ASCII (UTS 39).
bool looks_like_ascii(char32_t code_point);

} // namespace ew::core

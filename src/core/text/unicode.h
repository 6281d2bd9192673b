// What a reader needs to know of the Unicode character database.
#pragma once

namespace ew::core {

// Does a font draw something for it that is neither blank nor easily taken for something else that
// matters to a shell? The space of ASCII is graphic; what is unassigned, private, a control or a
// format character, blank in whatever way, or laid across another character is not.
bool is_graphic(char32_t code_point);

// A combining mark: drawn onto the character before it.
bool is_mark(char32_t code_point);

} // namespace ew::core

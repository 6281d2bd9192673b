// Rows of a grid as text. Nothing in it is a control character or changes the direction of text.
#pragma once

#include "core/screen/grid.h"

#include <string>
#include <vector>

namespace ew::core {

// Returns what is drawn for a character that a program wrote, or 0 for nothing. `is_mark` says that
// the character goes onto the one before it. Control and format characters could hide or move other
// text where the screen is shown.
char32_t shown_character(char32_t code_point, bool is_mark);

// Returns true for a character that takes no cell: a mark, or a format character.
bool draws_nothing(char32_t code_point);

void append_utf8(std::string& out, char32_t code_point);

// Appends the character of a cell with its marks, or a space. Nothing for the right half of a wide
// character.
void append_text(std::string& out, const Cell& cell);

// Returns the text without the spaces at its end.
std::string text_of(const Grid::Row& row);

// Neighbouring cells of one style.
struct Run {
    std::size_t col = 0;
    std::size_t width = 0; // cells
    std::string text;
    Style style;
};

// Blank cells in the usual style are left out at the end of the row.
std::vector<Run> runs_of(const Grid::Row& row);

} // namespace ew::core

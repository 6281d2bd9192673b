// A screen as a picture: one SVG file that needs no other file and runs no script.
#pragma once

#include "core/screen/grid.h"

#include <optional>
#include <string>
#include <string_view>

namespace ew::core {

// Returns "#rrggbb". `usual` is for the color that the user of a terminal chooses.
std::string hex_color(const Color& color, std::string_view usual);

// The cursor is drawn if there is one. The title may be any text.
std::string svg_of(const Grid& grid, std::optional<ScreenPosition> cursor, std::string_view title);

} // namespace ew::core

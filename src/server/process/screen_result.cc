#include "server/process/screen_result.h"

#include "core/screen/row_text.h"
#include "core/screen/svg.h"

#include <fmt/format.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace ew::server {

namespace {

// Returns the number of a color of the palette, or its value. Returns nullopt for the usual color.
std::optional<std::string> color_text(const core::Color& color) {
    switch (color.kind) {
    case core::Color::Kind::standard: return std::nullopt;
    case core::Color::Kind::indexed: return fmt::format("{}", color.value[0]);
    case core::Color::Kind::rgb: break;
    }
    return core::hex_color(color, "");
}

protocol::ScreenRun to_wire(core::Run run) {
    protocol::ScreenRun wire;
    wire.col = run.col;
    wire.width = run.width;
    wire.text = std::move(run.text);
    wire.foreground = color_text(run.style.foreground);
    wire.background = color_text(run.style.background);
    wire.underline = run.style.underline;
    wire.bold = run.style.bold;
    wire.italic = run.style.italic;
    wire.blink = run.style.blink;
    wire.reverse = run.style.reverse;
    wire.strike = run.style.strike;
    return wire;
}

void add_rows(protocol::ScreenResult& result, const core::Grid& grid, bool with_cells,
              std::uint64_t since) {
    for (std::size_t i = 0; i < grid.size().rows; ++i) {
        const core::Grid::Row& row = grid.row(i);
        if (row.version <= since) continue;
        protocol::ScreenRow& wire = result.rows.emplace_back();
        wire.row = i;
        wire.text = core::text_of(row);
        if (!with_cells) continue;
        wire.cells.emplace();
        for (core::Run& run : core::runs_of(row))
            wire.cells->push_back(to_wire(std::move(run)));
    }
}

} // namespace

protocol::ScreenResult screen_result(const core::Screen& screen, protocol::ScreenFormat format,
                                     std::uint64_t since) {
    protocol::ScreenResult result;
    const core::ScreenPosition cursor = screen.cursor();
    result.size = {screen.size().rows, screen.size().cols};
    result.cursor = {cursor.row, cursor.col, screen.is_cursor_visible()};
    result.title = screen.title();
    result.alternate = screen.is_alternate();
    switch (format) {
    case protocol::ScreenFormat::text:
    case protocol::ScreenFormat::cells:
        add_rows(result, screen.grid(), format == protocol::ScreenFormat::cells, since);
        break;
    case protocol::ScreenFormat::svg: {
        std::optional<core::ScreenPosition> drawn;
        if (screen.is_cursor_visible()) drawn = cursor;
        result.svg = core::svg_of(screen.grid(), drawn, screen.title());
        break;
    }
    }
    return result;
}

} // namespace ew::server

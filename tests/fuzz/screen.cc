// Output of a program, in pieces and with changes of the size, on its way to text, to cells and to
// a picture: nothing is out of bounds, all text is UTF-8 without control characters, and the result
// does not depend on the cuts.
#include "core/screen/screen.h"

#include "core/screen/row_text.h"
#include "core/screen/svg.h"
#include "core/text/text.h"
#include "fuzz/scenes.h"

#include <algorithm>
#include <optional>

namespace ew::fuzz {

namespace {

using core::Screen;
using core::ScreenSize;

void require_harmless(std::string_view text, bool may_have_lines) {
    require(core::valid_prefix(text) == text.size());
    require(std::ranges::all_of(text, [may_have_lines](char c) {
        const auto byte = static_cast<unsigned char>(c);
        return (byte >= 0x20 && byte != 0x7f) || (may_have_lines && c == '\n');
    }));
}

void require_sound(const Screen& screen) {
    const ScreenSize size = screen.size();
    require(screen.cursor().row < size.rows && screen.cursor().col < size.cols);
    require(screen.title().size() <= Screen::longest_title);
    require_harmless(screen.title(), false);
    for (std::size_t row = 0; row < size.rows; ++row) {
        const core::Grid::Row& cells = screen.grid().row(row);
        require(cells.cells.size() == size.cols);
        require_harmless(core::text_of(cells), false);
        std::size_t end = 0;
        for (const core::Run& run : core::runs_of(cells)) {
            require(run.col == end && run.width > 0);
            end = run.col + run.width;
            require_harmless(run.text, false);
        }
        require(end <= size.cols);
        // A wide character has both of its halves.
        for (std::size_t col = 0; col < size.cols; ++col) {
            const bool is_wide = cells.cells[col].width == 2;
            require(is_wide == (col + 1 < size.cols && cells.cells[col + 1].width == 0));
        }
    }
    const std::string svg = core::svg_of(screen.grid(), screen.cursor(), screen.title());
    require_harmless(svg, true);
    require(svg.find("<script") == std::string::npos && svg.ends_with("</svg>\n"));
}

void feed(Screen& screen, std::string_view bytes) {
    while (!bytes.empty())
        bytes.remove_prefix(screen.feed(bytes));
}

std::string shown(const Screen& screen) {
    std::string text;
    for (std::size_t row = 0; row < screen.size().rows; ++row)
        text += core::text_of(screen.grid().row(row)) + "\n";
    return text;
}

} // namespace

void screen(std::string_view input) {
    if (!Screen::is_available()) return;
    constexpr ScreenSize size = {5, 12};
    Result<Screen> cut_up = Screen::of(size, 1);
    Result<Screen> whole = Screen::of(size, 1);
    require(cut_up && whole);
    for (const std::string& piece : cut(input)) {
        feed(*whole, piece);
        for (const char byte : piece)
            feed(*cut_up, {&byte, 1});
        // Some pieces also give a size.
        if (piece.size() % 8 == 3) {
            const auto number = [&](std::size_t at) -> std::size_t {
                return static_cast<unsigned char>(piece[at]) % 24;
            };
            whole->resize({number(0), number(1)});
            cut_up->resize({number(0), number(1)});
        }
        (void)whole->take_replies();
    }
    require_sound(*whole);
    require(shown(*cut_up) == shown(*whole));
}

} // namespace ew::fuzz

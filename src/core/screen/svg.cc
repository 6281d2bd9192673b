#include "core/screen/svg.h"

#include "core/screen/row_text.h"
#include "core/text/markup.h"

#include <fmt/format.h>

#include <array>
#include <iterator>

namespace ew::core {

namespace {

constexpr std::size_t cell_width = 8;
constexpr std::size_t cell_height = 17;
constexpr std::size_t baseline = 13; // below the upper edge of a cell
constexpr std::size_t font_size = 13;
constexpr std::string_view usual_foreground = "#d0d0d0";
constexpr std::string_view usual_background = "#101010";

// The first 16 colors of xterm.
constexpr std::array<std::string_view, 16> palette = {
    "#000000", "#cd0000", "#00cd00", "#cdcd00", "#0000ee", "#cd00cd", "#00cdcd", "#e5e5e5",
    "#7f7f7f", "#ff0000", "#00ff00", "#ffff00", "#5c5cff", "#ff00ff", "#00ffff", "#ffffff"};

std::string indexed_color(unsigned index) {
    constexpr unsigned cube = 16; // 6 x 6 x 6 colors begin here, and greys after them
    constexpr unsigned greys = 232;
    if (index < cube) return std::string(palette[index]);
    if (index >= greys) {
        const unsigned grey = 8 + 10 * (index - greys);
        return fmt::format("#{0:02x}{0:02x}{0:02x}", grey);
    }
    const auto level = [](unsigned step) { return step == 0 ? 0 : 55 + 40 * step; };
    const unsigned number = index - cube;
    return fmt::format("#{:02x}{:02x}{:02x}", level(number / 36), level(number / 6 % 6),
                       level(number % 6));
}

struct Colors {
    std::string foreground;
    std::string background;
};

Colors colors_of(const Style& style) {
    Colors colors = {hex_color(style.foreground, usual_foreground),
                     hex_color(style.background, usual_background)};
    if (style.reverse) std::swap(colors.foreground, colors.background);
    return colors;
}

class Picture {
public:
    explicit Picture(const Grid& grid) : grid_(grid) {}

    std::string draw(std::optional<ScreenPosition> cursor, std::string_view title) {
        const std::size_t width = grid_.size().cols * cell_width;
        const std::size_t height = grid_.size().rows * cell_height;
        add("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" "
            "viewBox=\"0 0 {0} {1}\">\n",
            width, height);
        std::string shown;
        append_as_content(shown, title);
        if (!shown.empty()) add("<title>{}</title>\n", shown);
        add("<rect width=\"{}\" height=\"{}\" fill=\"{}\"/>\n", width, height, usual_background);
        add("<g font-family=\"DejaVu Sans Mono, Menlo, Consolas, monospace\" font-size=\"{}\" "
            "direction=\"ltr\" unicode-bidi=\"bidi-override\">\n",
            font_size);
        for (std::size_t row = 0; row < grid_.size().rows; ++row)
            draw_row(row);
        out_ += "</g>\n";
        if (cursor)
            add("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"{}\" "
                "fill-opacity=\"0.5\"/>\n",
                cursor->col * cell_width, cursor->row * cell_height, cell_width, cell_height,
                usual_foreground);
        out_ += "</svg>\n";
        return std::move(out_);
    }

private:
    // Cells that are drawn as one text. A wide character, or one with marks, is a text of its own:
    // a font may give it another width than the terminal does.
    static bool is_plain(const Cell& cell) { return cell.width == 1 && cell.text[1] == 0; }

    void draw_row(std::size_t row) {
        const std::vector<Cell>& cells = grid_.row(row).cells;
        for (std::size_t col = 0; col < cells.size();) {
            std::size_t end = col + 1;
            while (end < cells.size() && cells[end].style == cells[col].style &&
                   ((is_plain(cells[col]) && is_plain(cells[end])) || cells[end].width == 0))
                ++end;
            draw_text(row, col, end);
            col = end;
        }
    }

    void draw_text(std::size_t row, std::size_t begin, std::size_t end) {
        const std::vector<Cell>& cells = grid_.row(row).cells;
        const Style& style = cells[begin].style;
        const Colors colors = colors_of(style);
        const std::size_t x = begin * cell_width;
        const std::size_t width = (end - begin) * cell_width;
        if (colors.background != usual_background)
            add("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"{}\"/>\n", x,
                row * cell_height, width, cell_height, colors.background);
        std::string text;
        for (std::size_t col = begin; col < end; ++col)
            append_text(text, cells[col]);
        const bool is_seen =
            text.find_first_not_of(' ') != std::string::npos || style.underline > 0 || style.strike;
        if (!is_seen) return;
        // Not on the group: browsers collapse the spaces of each text that does not say so itself.
        add("<text x=\"{}\" y=\"{}\" textLength=\"{}\" lengthAdjust=\"spacingAndGlyphs\" "
            "xml:space=\"preserve\" fill=\"{}\"",
            x, row * cell_height + baseline, width, colors.foreground);
        if (style.bold) out_ += " font-weight=\"bold\"";
        if (style.italic) out_ += " font-style=\"italic\"";
        if (style.underline > 0 || style.strike)
            add(" text-decoration=\"{}{}\"", style.underline > 0 ? "underline" : "",
                style.strike ? (style.underline > 0 ? " line-through" : "line-through") : "");
        out_ += '>';
        append_as_content(out_, text);
        out_ += "</text>\n";
    }

    template <class... Arguments>
    void add(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
        fmt::format_to(std::back_inserter(out_), format, std::forward<Arguments>(arguments)...);
    }

    const Grid& grid_;
    std::string out_;
};

} // namespace

std::string hex_color(const Color& color, std::string_view usual) {
    switch (color.kind) {
    case Color::Kind::standard: break;
    case Color::Kind::indexed: return indexed_color(color.value[0]);
    case Color::Kind::rgb:
        return fmt::format("#{:02x}{:02x}{:02x}", color.value[0], color.value[1], color.value[2]);
    }
    return std::string(usual);
}

std::string svg_of(const Grid& grid, std::optional<ScreenPosition> cursor, std::string_view title) {
    return Picture(grid).draw(cursor, title);
}

} // namespace ew::core

#include "core/screen/grid.h"
#include "core/screen/svg.h"
#include "support/count_of.h"
#include "support/testing.h"

#include <string>
#include <string_view>

using namespace ew;
using core::Cell;
using core::Grid;

namespace {

Cell cell_of(char32_t character, std::uint8_t width = 1) {
    Cell cell;
    cell.text[0] = character;
    cell.width = width;
    return cell;
}

} // namespace

TEST_CASE("each text of a picture keeps its spaces, also in a browser") {
    Grid grid({2, 8}, 1);
    for (const long row : {0L, 1L})
        for (const long col : {1L, 4L})
            grid.put(row, col, cell_of('x'));

    const std::string svg = core::svg_of(grid, {}, "");

    CHECK(count_of("<text ", svg) == 2);
    CHECK(count_of(" xml:space=\"preserve\"", svg) == 2);
    CHECK(count_of("> x  x   </text>", svg) == 2);
}

TEST_CASE("text of others is escaped in a picture") {
    Grid grid({1, 8}, 1);
    long col = 0;
    for (const char c : std::string_view("<&\">'x"))
        grid.put(0, col++, cell_of(static_cast<unsigned char>(c)));

    const std::string svg = core::svg_of(grid, {}, "</title><script>&");

    CHECK(svg.find(">&lt;&amp;&quot;&gt;&#39;x  </text>") != std::string::npos);
    CHECK(svg.find("<title>&lt;/title&gt;&lt;script&gt;&amp;</title>") != std::string::npos);
    CHECK(svg.find("<script") == std::string::npos);
}

TEST_CASE("a picture without a title has no empty one") {
    const Grid grid({1, 2}, 1);

    CHECK(core::svg_of(grid, {}, "").find("title") == std::string::npos);
    CHECK(core::svg_of(grid, {}, "a").find("<title>a</title>") != std::string::npos);
}

TEST_CASE("a wide character is placed by its column") {
    Grid grid({1, 6}, 1);
    grid.put(0, 0, cell_of('a'));
    grid.put(0, 1, cell_of(0x6f22, 2));
    grid.put(0, 3, cell_of('b'));

    const std::string svg = core::svg_of(grid, {}, "");

    CHECK(svg.find("<text x=\"8\" y=\"13\" textLength=\"16\"") != std::string::npos);
    CHECK(svg.find("<text x=\"24\" y=\"13\" textLength=\"24\"") != std::string::npos);
}

TEST_CASE("a picture has colors, and a cursor only if there is one") {
    Grid grid({2, 4}, 1);
    Cell cell = cell_of('x');
    cell.style.background = {core::Color::Kind::indexed, {1}};
    cell.style.foreground = {core::Color::Kind::rgb, {1, 2, 3}};
    cell.style.bold = true;
    grid.put(1, 1, cell);

    const std::string without = core::svg_of(grid, {}, "");
    const std::string with = core::svg_of(grid, core::ScreenPosition{1, 2}, "");

    CHECK(without.find("fill=\"#cd0000\"") != std::string::npos);
    CHECK(without.find("fill=\"#010203\" font-weight=\"bold\"") != std::string::npos);
    CHECK(count_of("<rect", with) == count_of("<rect", without) + 1);
    CHECK(with.find("<rect x=\"16\" y=\"17\" width=\"8\" height=\"17\"") != std::string::npos);
}

TEST_CASE("colors of the palette have their values") {
    using enum core::Color::Kind;
    CHECK(core::hex_color({}, "#usual") == "#usual");
    CHECK(core::hex_color({indexed, {9}}, "") == "#ff0000");
    CHECK(core::hex_color({indexed, {16}}, "") == "#000000");
    CHECK(core::hex_color({indexed, {231}}, "") == "#ffffff");
    CHECK(core::hex_color({indexed, {232}}, "") == "#080808");
    CHECK(core::hex_color({indexed, {255}}, "") == "#eeeeee");
    CHECK(core::hex_color({rgb, {255, 0, 16}}, "") == "#ff0010");
}

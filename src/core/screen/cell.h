// One cell of a terminal's grid.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace ew::core {

struct ScreenSize {
    std::size_t rows = 24;
    std::size_t cols = 80;

    bool operator==(const ScreenSize&) const = default;
};

struct ScreenPosition {
    std::size_t row = 0;
    std::size_t col = 0;

    bool operator==(const ScreenPosition&) const = default;
};

struct Color {
    enum class Kind : std::uint8_t {
        standard, // what the terminal's user has chosen
        indexed,  // value[0] is the number in the palette
        rgb,
    };

    Kind kind = Kind::standard;
    std::array<std::uint8_t, 3> value = {};

    bool operator==(const Color&) const = default;
};

struct Style {
    Color foreground;
    Color background;
    std::uint8_t underline = 0; // 1: one line, 2: two, 3: a wave
    bool bold = false;
    bool italic = false;
    bool blink = false;
    bool reverse = false;
    bool strike = false;

    bool operator==(const Style&) const = default;
};

struct Cell {
    // A character and the marks on it. The most that are kept; the first 0 ends them.
    static constexpr std::size_t most_characters = 6;

    std::array<char32_t, most_characters> text = {}; // empty: blank
    std::uint8_t width = 1;                          // 0: the right half of a wide character
    Style style = {};

    bool operator==(const Cell&) const = default;
};

} // namespace ew::core

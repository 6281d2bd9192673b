#include "core/screen/row_text.h"

#include "core/text/unicode.h"

#include <algorithm>
#include <array>

namespace ew::core {

namespace {

constexpr char32_t replacement_character = 0xfffd;

struct Range {
    char32_t first;
    char32_t last;
};

// Control characters, line and paragraph separators, and format characters (Unicode 15, Cc, Zl, Zp
// and Cf), without those that belong to letters of one script.
constexpr std::array<Range, 13> hidden = {{
    {0x0, 0x1f},
    {0x7f, 0x9f},
    {0xad, 0xad},
    {0x61c, 0x61c},
    {0x180e, 0x180e},
    {0x200b, 0x200f},
    {0x2028, 0x202e},
    {0x2060, 0x206f},
    {0xd800, 0xdfff},
    {0xfeff, 0xfeff},
    {0xfff9, 0xfffb},
    {0xfffe, 0xffff},
    {0xe0000, 0xe0fff},
}};

constexpr char32_t zero_width_joiner = 0x200d;
constexpr Range variations = {0xfe00, 0xfe0f};

bool is_in(Range range, char32_t code_point) {
    return code_point >= range.first && code_point <= range.last;
}

bool is_blank(const Cell& cell) {
    return cell.width == 1 && (cell.text[0] == 0 || cell.text[0] == ' ') && cell.text[1] == 0;
}

// Format characters of Arabic and other scripts, characters that only libvterm still takes for
// marks, and the middle and last letters of a Korean syllable.
constexpr std::array<Range, 10> further_marks = {{
    {0x600, 0x605},
    {0x6dd, 0x6de},
    {0x70f, 0x70f},
    {0x8e2, 0x8e2},
    {0x1160, 0x11ff},
    {0x110bd, 0x110bd},
    {0x110cd, 0x110cd},
    {0x13430, 0x1343f},
    {0x1bca0, 0x1bca3},
    {0x1d173, 0x1d17a},
}};

// Hidden characters that take no cell.
constexpr std::array<Range, 7> zero_width = {{
    {0x61c, 0x61c},
    {0x180e, 0x180e},
    {0x200b, 0x200f},
    {0x202a, 0x202e},
    {0x2060, 0x206f},
    {0xfeff, 0xfeff},
    {0xe0000, 0xe0fff},
}};

template <std::size_t size>
bool is_in_any(const std::array<Range, size>& ranges, char32_t code_point) {
    return std::ranges::any_of(
        ranges, [code_point](const Range& range) { return is_in(range, code_point); });
}

} // namespace

bool draws_nothing(char32_t code_point) {
    constexpr char32_t first_mark = 0x300;
    constexpr Range chinese = {0x3400, 0x9fff};
    constexpr Range korean = {0xac00, 0xd7a3};
    if (code_point < first_mark || is_in(chinese, code_point) || is_in(korean, code_point))
        return false;
    return is_mark(code_point) || is_in_any(further_marks, code_point) ||
           is_in_any(zero_width, code_point) || is_in({0xfff9, 0xfffb}, code_point);
}

void append_utf8(std::string& out, char32_t code_point) {
    const auto put = [&](char32_t byte) { out += static_cast<char>(byte); };
    const auto put_rest = [&](int shift) { put(0x80 | ((code_point >> shift) & 0x3f)); };
    if (code_point < 0x80) return put(code_point);
    if (code_point < 0x800) {
        put(0xc0 | (code_point >> 6));
    } else if (code_point < 0x10000) {
        put(0xe0 | (code_point >> 12));
        put_rest(6);
    } else {
        put(0xf0 | (code_point >> 18));
        put_rest(12);
        put_rest(6);
    }
    put_rest(0);
}

char32_t shown_character(char32_t code_point, bool is_mark_here) {
    constexpr Range ascii = {0x20, 0x7e};
    if (is_in(ascii, code_point)) return code_point;
    if (is_mark_here) {
        const bool is_kept = is_mark(code_point) || is_in_any(further_marks, code_point) ||
                             is_in(variations, code_point) || code_point == zero_width_joiner;
        return is_kept ? code_point : 0;
    }
    const bool is_hidden = code_point > 0x10ffff || is_in_any(hidden, code_point);
    return is_hidden ? replacement_character : code_point;
}

void append_text(std::string& out, const Cell& cell) {
    if (cell.width == 0) return;
    if (cell.text[0] == 0) out += ' ';
    for (const char32_t code_point : cell.text) {
        if (code_point == 0) return;
        append_utf8(out, code_point);
    }
}

std::string text_of(const Grid::Row& row) {
    std::string text;
    for (const Cell& cell : row.cells)
        append_text(text, cell);
    text.resize(text.find_last_not_of(' ') + 1);
    return text;
}

std::vector<Run> runs_of(const Grid::Row& row) {
    std::size_t end = row.cells.size();
    while (end > 0 && is_blank(row.cells[end - 1]) && row.cells[end - 1].style == Style())
        --end;
    std::vector<Run> runs;
    for (std::size_t col = 0; col < end; ++col) {
        const Cell& cell = row.cells[col];
        if (runs.empty() || !(runs.back().style == cell.style))
            runs.push_back({col, 0, {}, cell.style});
        ++runs.back().width;
        append_text(runs.back().text, cell);
    }
    return runs;
}

} // namespace ew::core

#include "core/judgement/hidden_text.h"

#include <algorithm>
#include <array>
#include <cstddef>

namespace ew::core {

namespace {

// Returns the length of the UTF-8 sequence at the front and sets `point`. Returns 0 if the sequence
// is invalid.
std::size_t code_point(std::string_view text, char32_t& point) {
    const auto byte = [&](std::size_t i) {
        return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U;
    };
    const unsigned first = byte(0);
    const std::size_t size = first < 0x80 ? 1 : first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
    if (first >= 0xf8 || (first >= 0x80 && first < 0xc2) || size > text.size()) return 0;
    point = size == 1 ? first : first & (0x7fU >> size);
    for (std::size_t i = 1; i < size; ++i) {
        if ((byte(i) & 0xc0U) != 0x80) return 0;
        point = (point << 6U) | (byte(i) & 0x3fU);
    }
    const bool is_overlong = (size == 3 && point < 0x800) || (size == 4 && point < 0x10000);
    const bool is_surrogate = point >= 0xd800 && point <= 0xdfff;
    return is_overlong || is_surrogate || point > 0x10ffff ? 0 : size;
}

struct Span {
    char32_t first;
    char32_t last;
};

// Non-ASCII blanks, characters without a width, characters that change the direction, tags.
constexpr std::array<Span, 17> hidden = {{{0x7f, 0xa0},
                                          {0xad, 0xad},
                                          {0x34f, 0x34f},
                                          {0x61c, 0x61c},
                                          {0x115f, 0x1160},
                                          {0x1680, 0x1680},
                                          {0x17b4, 0x17b5},
                                          {0x180b, 0x180f},
                                          {0x2000, 0x200f},
                                          {0x2028, 0x202f},
                                          {0x205f, 0x206f},
                                          {0x2800, 0x2800},
                                          {0x3000, 0x3000},
                                          {0x3164, 0x3164},
                                          {0xfeff, 0xfeff},
                                          {0xfff0, 0xffff},
                                          {0xe0000, 0xe0fff}}};

bool is_hidden(char32_t point) {
    if (point < 0x20) return point != '\t' && point != '\n';
    return std::any_of(hidden.begin(), hidden.end(),
                       [&](const Span& span) { return point >= span.first && point <= span.last; });
}

} // namespace

bool has_hidden_text(std::string_view text) {
    while (!text.empty()) {
        char32_t point = 0;
        const std::size_t size = code_point(text, point);
        if (size == 0 || is_hidden(point)) return true;
        text.remove_prefix(size);
    }
    return false;
}

} // namespace ew::core

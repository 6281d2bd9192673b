#!/usr/bin/env python3
"""Writes src/core/text/unicode.cc: the characters that can be shown, the combining marks, and the
characters that look like one of ASCII.

The categories are those of this Python's unicodedata. Newer characters count as unassigned, which is
safe: they are shown as escapes. The look-alikes are those of Unicode's confusables.txt (UTS 39), as
the ICU library has them (Debian: libicu72).
"""
import ctypes
import pathlib
import sys
import unicodedata

OUT = pathlib.Path(__file__).resolve().parents[2] / "src" / "core" / "text" / "unicode.cc"
ICU = "72"
LAST = 0x10FFFF

# Letters, marks and symbols that fonts draw as nothing or as a blank (Default_Ignorable_Code_Point
# of Unicode's DerivedCoreProperties.txt, and a few that fonts leave empty).
BLANK = [
    (0xAD, 0xAD), (0x34F, 0x34F), (0x61C, 0x61C), (0x115F, 0x1160), (0x17B4, 0x17B5), (0x180B, 0x180F),
    (0x200B, 0x200F), (0x202A, 0x202E), (0x2060, 0x206F), (0x2800, 0x2800), (0x2D7F, 0x2D7F),
    (0x3164, 0x3164), (0xFE00, 0xFE0F), (0xFEFF, 0xFEFF), (0xFFA0, 0xFFA0), (0xFFF0, 0xFFFC),
    (0x16FE4, 0x16FE4), (0x1BCA0, 0x1BCA3), (0x1D159, 0x1D159), (0x1D173, 0x1D17A), (0xE0000, 0xE0FFF),
]
# Marks that fonts draw across or around the previous character, and that so disguise it.
OVERLAY = [(0x334, 0x338), (0x20D2, 0x20D3), (0x20D8, 0x20DA), (0x20DD, 0x20E0), (0x20E2, 0x20E6), (0x20EA, 0x20EB)]
# Punctuation that looks like ; - / \ : | . of ASCII. A shell acts on the ASCII characters only.
LIKE_ASCII = [
    (0x37E, 0x37E), (0x2010, 0x2012), (0x2024, 0x2024), (0x2044, 0x2044), (0x2212, 0x2212), (0x2215, 0x2216),
    (0x2223, 0x2223), (0x2236, 0x2236), (0x29F5, 0x29F5), (0x29F8, 0x29F9), (0xA789, 0xA789), (0xFE68, 0xFE68),
]


def is_in(ranges, code_point):
    return any(first <= code_point <= last for first, last in ranges)


def is_graphic(code_point):
    if unicodedata.category(chr(code_point))[0] not in "LMNPS":
        return False
    return not is_in(BLANK + OVERLAY + LIKE_ASCII, code_point)


def is_mark(code_point):
    return unicodedata.category(chr(code_point))[0] == "M"


class Skeletons:
    """What ICU compares to find out whether texts look alike."""

    def __init__(self):
        library = ctypes.CDLL("libicui18n.so." + ICU)
        opens = getattr(library, "uspoof_open_" + ICU)
        opens.restype = ctypes.c_void_p
        self.checker = opens(ctypes.byref(ctypes.c_int(0)))
        self.skeleton = getattr(library, "uspoof_getSkeletonUTF8_" + ICU)
        self.skeleton.argtypes = [
            ctypes.c_void_p, ctypes.c_uint32, ctypes.c_char_p, ctypes.c_int32, ctypes.c_char_p, ctypes.c_int32,
            ctypes.c_void_p,
        ]
        # Quotation marks are in many texts, and shells do not act on them.
        quotes = {self.of(c) for c in "'\"`"}
        self.ascii = {self.of(chr(c)) for c in range(0x21, 0x7F)} - quotes

    def of(self, character):
        error, out, text = ctypes.c_int(0), ctypes.create_string_buffer(256), character.encode()
        size = self.skeleton(self.checker, 0, text, len(text), out, len(out), ctypes.byref(error))
        assert error.value <= 0, error.value
        return out.raw[:size].decode()

    def looks_like_ascii(self, code_point):
        return is_graphic(code_point) and self.of(chr(code_point)) in self.ascii


def ranges_of(condition):
    """Returns the ranges of code points above ASCII for which the condition holds."""
    found, first = [], None
    for code_point in range(0x80, LAST + 2):
        holds = code_point <= LAST and condition(code_point)
        if holds and first is None:
            first = code_point
        if not holds and first is not None:
            found.append((first, code_point - 1))
            first = None
    return found


def table(name, ranges):
    items = ["{0x%x, 0x%x}" % one for one in ranges]
    lines, line = [], "   "
    for item in items:
        if len(line) + len(item) + 2 > 100:
            lines.append(line)
            line = "   "
        line += " %s," % item
    lines.append(line.rstrip(","))
    return "constexpr std::array<Range, %d> %s = {{\n%s,\n}};\n" % (len(items), name, "\n".join(lines))


HEAD = """// Written by scripts/generate/unicode.py from the character database of Unicode %s
// and the look-alikes of ICU %s.
#include "core/text/unicode.h"

#include <algorithm>
#include <array>

namespace ew::core {

namespace {

struct Range {
    char32_t first;
    char32_t last;
};

// clang-format off
"""

TAIL = """
// clang-format on

template <std::size_t size>
bool is_in(const std::array<Range, size>& ranges, char32_t code_point) {
    const auto after =
        std::upper_bound(ranges.begin(), ranges.end(), code_point,
                         [](char32_t c, const Range& range) { return c < range.first; });
    return after != ranges.begin() && code_point <= std::prev(after)->last;
}

} // namespace

bool is_graphic(char32_t code_point) {
    if (code_point < 0x80) return code_point >= 0x20 && code_point < 0x7f;
    return is_in(graphic, code_point);
}

bool is_mark(char32_t code_point) {
    return is_in(marks, code_point);
}

bool looks_like_ascii(char32_t code_point) {
    return is_in(like_ascii, code_point);
}

} // namespace ew::core
"""


def text():
    return "".join([
        HEAD % (unicodedata.unidata_version, ICU),
        table("graphic", ranges_of(is_graphic)),
        "\n",
        table("marks", ranges_of(is_mark)),
        "\n",
        table("like_ascii", ranges_of(Skeletons().looks_like_ascii)),
        TAIL,
    ])


def main():
    if sys.argv[1:]:
        sys.exit(__doc__)
    OUT.write_text(text(), encoding="utf-8")


main()

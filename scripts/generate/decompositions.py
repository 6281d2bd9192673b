#!/usr/bin/env python3
"""Writes src/core/text/decompositions.cc: the canonical decompositions of Unicode and the classes of
combining marks, from this Python's unicodedata. Hangul syllables are computed and have no entry.
"""
import pathlib
import sys
import unicodedata

OUT = pathlib.Path(__file__).resolve().parents[2] / "src/core/text/decompositions.cc"
LAST = 0x10FFFF


def decompositions():
    """Returns (character, first, second); second is 0 if it decomposes into one character."""
    for code_point in range(0x80, LAST + 1):
        parts = unicodedata.decomposition(chr(code_point)).split()
        if parts and not parts[0].startswith("<"):
            first, second = (int(part, 16) for part in (parts + ["0"])[:2])
            yield code_point, first, second


def classes():
    """Returns ranges of characters with the same class, without class 0."""
    found = []
    for code_point in range(0x80, LAST + 1):
        number = unicodedata.combining(chr(code_point))
        if not number:
            continue
        if found and found[-1][1] == code_point - 1 and found[-1][2] == number:
            found[-1][1] = code_point
        else:
            found.append([code_point, code_point, number])
    return found


def table(kind, name, rows):
    items = ["{%s}" % ", ".join("0x%x" % value for value in row) for row in rows]
    lines, line = [], "   "
    for item in items:
        if len(line) + len(item) + 2 > 100:
            lines.append(line)
            line = "   "
        line += " %s," % item
    lines.append(line.rstrip(","))
    return "constexpr std::array<%s, %d> %s = {{\n%s,\n}};\n" % (kind, len(items), name, "\n".join(lines))


HEAD = """// Written by scripts/generate/decompositions.py from the character database of Unicode %s.
#include "core/text/decompositions.h"

#include <algorithm>
#include <array>

namespace ew::core {

namespace {

struct ClassRange {
    char32_t first;
    char32_t last;
    std::uint8_t combining_class;
};

// clang-format off
"""

TAIL = """
// clang-format on

} // namespace

Decomposition decomposition_of(char32_t character) {
    const auto* const at =
        std::ranges::lower_bound(decompositions, character, {}, &Decomposition::character);
    return at != decompositions.end() && at->character == character ? *at : Decomposition();
}

std::uint8_t combining_class(char32_t character) {
    const auto* const at = std::ranges::lower_bound(classes, character, {}, &ClassRange::last);
    return at != classes.end() && at->first <= character ? at->combining_class : std::uint8_t{0};
}

} // namespace ew::core
"""


def main():
    if sys.argv[1:]:
        sys.exit(__doc__)
    OUT.write_text("".join([
        HEAD % unicodedata.unidata_version,
        table("Decomposition", "decompositions", list(decompositions())),
        "\n",
        table("ClassRange", "classes", classes()),
        TAIL,
    ]), encoding="utf-8")


main()

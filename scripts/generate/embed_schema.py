#!/usr/bin/env python3
"""Writes schema/protocol.json and schema/types.json as a C++ file: embed_schema.py PROTOCOL TYPES OUT."""
import json
import sys

PIECE = 12000  # bytes; the length of a string literal is limited, also that of joined ones


def pieces(path):
    text = json.dumps(json.load(open(path, encoding="utf-8")), separators=(",", ":"))
    return [text[i:i + PIECE] for i in range(0, len(text), PIECE)]


def main():
    protocol, types, out = sys.argv[1:]
    with open(out, "w", encoding="utf-8") as f:
        f.write('#include "cli/schema_text.h"\n\n#include <array>\n\nnamespace ew::cli {\n\n')
        for name, path in (("protocol", protocol), ("types", types)):
            parts = pieces(path)
            f.write("static constexpr std::array<std::string_view, %d> %s_pieces = {\n" % (len(parts), name))
            f.write("".join('    R"json(%s)json",\n' % part for part in parts))
            f.write("};\n\nstd::string %s_json() {\n    std::string text;\n" % name)
            f.write("    for (const std::string_view piece : %s_pieces)\n        text += piece;\n" % name)
            f.write("    return text;\n}\n\n")
        f.write("} // namespace ew::cli\n")


main()

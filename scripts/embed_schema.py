#!/usr/bin/env python3
"""Writes schema/protocol.json and schema/types.json as a C++ file: embed_schema.py PROTOCOL TYPES OUT."""
import json
import sys

PIECE = 12000  # a string literal may not be arbitrarily long everywhere; neighbours are joined


def literal(path):
    text = json.dumps(json.load(open(path, encoding="utf-8")), separators=(",", ":"))
    pieces = (text[i:i + PIECE] for i in range(0, len(text), PIECE))
    return "\n    ".join('R"json(%s)json"' % piece for piece in pieces)


def main():
    protocol, types, out = sys.argv[1:]
    with open(out, "w", encoding="utf-8") as f:
        f.write('#include "cli/schema_text.h"\n\nnamespace ew::cli {\n\n')
        for name, path in (("protocol_json", protocol), ("types_json", types)):
            f.write("const std::string_view %s =\n    %s;\n\n" % (name, literal(path)))
        f.write("} // namespace ew::cli\n")


main()

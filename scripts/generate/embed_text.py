#!/usr/bin/env python3
"""Writes files as constants of a C++ file: embed_text.py HEADER NAMESPACE OUT FILE…

page.css becomes the constant page_css, which HEADER declares."""
import pathlib
import sys


def main():
    header, namespace, out, *files = sys.argv[1:]
    parts = ['#include "%s"\n\nnamespace %s {\n' % (header, namespace)]
    for file in map(pathlib.Path, files):
        text = file.read_text(encoding="utf-8")
        parts.append('const std::string_view %s = R"text(%s)text";\n' % (file.name.replace(".", "_"), text))
    parts.append("} // namespace %s\n" % namespace)
    pathlib.Path(out).write_text("\n".join(parts), encoding="utf-8")


main()

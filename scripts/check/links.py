#!/usr/bin/env python3
"""Checks that every relative link in the Markdown files of this repository leads to a file and a heading."""

import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
INLINE_CODE = re.compile(r"(?<!`)(`+)(?!`).*?(?<!`)\1(?!`)", re.S)


def lines_outside_code(text):
    """Returns the text without fenced and indented code; inline code stays, since headings contain
    it.
    """
    return [line for line in re.sub(r"^ *```.*?^ *```$", "", text, flags=re.M | re.S).split("\n") if line[:4] != "    "]


def anchors(page):
    """Returns the names that GitHub gives to the headings of a page."""
    text = page.read_text(encoding="utf-8")
    found = set(re.findall(r'<a (?:id|name)="([^"]+)"', text))
    for line in lines_outside_code(text):
        if re.match("#+ ", line):
            name = re.sub(r"[^\w\- ]", "", line.lstrip("#").strip().lower()).replace(" ", "-")
            found.add(next(f"{name}{n}" for n in ["", *(f"-{i}" for i in range(1, 99))] if f"{name}{n}" not in found))
    return found


def faults(page):
    text = "\n".join(lines_outside_code(page.read_text(encoding="utf-8")))
    for link in LINK.findall(INLINE_CODE.sub("", text)):
        path, _, anchor = link.partition("#")
        target = page.parent / path if path else page
        if re.match(r"\w+:", link):
            continue
        if not target.exists():
            yield f"{page.relative_to(ROOT)}: {link}: no such file"
        elif anchor and anchor not in anchors(target):
            yield f"{page.relative_to(ROOT)}: {link}: no such heading"


listing = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "*.md"]
names = subprocess.run(listing, cwd=ROOT, stdout=subprocess.PIPE, check=True).stdout.decode().split("\0")
found = [fault for name in names if name and (ROOT / name).exists() for fault in faults(ROOT / name)]
print("\n".join(found), end="\n" if found else "")
sys.exit(1 if found else 0)

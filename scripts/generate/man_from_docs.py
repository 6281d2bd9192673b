#!/usr/bin/env python3
"""Makes a man page of a document, with lowdown.

usage: scripts/generate/man_from_docs.py LOWDOWN DOCUMENT NAME SECTION SUMMARY OUTPUT

The title becomes the name, and links between documents become their text.
"""

import pathlib
import re
import subprocess
import sys

LINK = re.compile(r"\[([^][]+)\]\((?!https?:)[^()]*\)")


def page_of(document, name, summary):
    """Returns the Markdown of the page."""
    title = re.search(r"^# .*\n", document, re.MULTILINE)
    if not title:
        sys.exit("man_from_docs: the document has no title")
    parts = document[title.end():].split("\n```")  # every other one is code
    parts[::2] = [LINK.sub(r"\1", part) for part in parts[::2]]
    return f"# NAME\n\n{name} - {summary}\n\n# DESCRIPTION\n" + "\n```".join(parts)


def main():
    lowdown, document, name, section, summary, output = sys.argv[1:]
    page = page_of(pathlib.Path(document).read_text(encoding="utf-8"), name, summary)
    made = subprocess.run(
        [lowdown, "-s", "-Tman", f"-Mtitle={name.upper()}", f"-Msection={section}",
         "-Msource=execward"],
        input=page.encode(), capture_output=True, check=False)
    if made.returncode != 0:
        sys.exit(made.stderr.decode())
    # Justified text leaves gaps in the columns of tables.
    text = re.sub(rb"^(\.TH .*\n)", rb"\1.ad l\n", made.stdout, count=1, flags=re.MULTILINE)
    pathlib.Path(output).write_bytes(text)


if __name__ == "__main__":
    main()

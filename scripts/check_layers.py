#!/usr/bin/env python3
"""Checks that includes in src/ only go downwards: the table below and a loop over #include "…"."""

import pathlib
import re
import sys

SRC = pathlib.Path(__file__).resolve().parent.parent / "src"

LOW = {"core", "json", "os", "toml", "files", "patch", "base"}
MIDDLE = {"protocol", "sandbox", "store", "transcript", "config"}

# Folder (or, for a file directly in src, its name) and what it may include besides itself.
MAY_INCLUDE = {
    "base": set(),
    "core": {"base"},
    "json": {"base"},
    "files": {"patch", "core", "os", "json", "base"},
    "os": {"base"},
    "patch": {"core", "base"},
    "toml": {"base"},
    "protocol": LOW,
    "sandbox": LOW,
    "store": LOW,
    "transcript": LOW,
    "config": LOW,
    "keeper": {"os", "base"},
    "backend": {"protocol"} | LOW,
    "server": {"backend"} | MIDDLE | LOW,
    "cli": {"server", "keeper"} | MIDDLE | LOW,
    "main": {"cli", "server", "keeper"} | MIDDLE | LOW,
}

# Constants that everyone may know.
FREE = {"version"}

INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"')


def layer(path):
    """The layer of a path below src: its first folder, or the name of a file without one."""
    first = pathlib.PurePosixPath(path).parts[0]
    return first.rsplit(".", 1)[0]


def offence(here, included):
    """What is wrong with this include, or None."""
    there = layer(included)
    if there not in MAY_INCLUDE and there not in FREE:
        return f"{there} is not in the table of scripts/check_layers.py; write the path from src/"
    if there in FREE or there == here or there in MAY_INCLUDE.get(here, set()):
        return None
    return f"{here} must not include {there}"


def offences_of(file):
    relative = file.relative_to(SRC)
    here = layer(relative.as_posix())
    if here not in MAY_INCLUDE and here not in FREE:
        yield f"src/{relative}: {here} is not in the table of scripts/check_layers.py"
        return
    for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
        match = INCLUDE.match(line)
        problem = match and offence(here, match[1])
        if problem:
            yield f"src/{relative}:{number}: {problem}: {match[1]}"


def main():
    files = sorted(file for ending in ("*.cc", "*.h") for file in SRC.rglob(ending))
    if not files:
        sys.exit(f"check_layers: no sources below {SRC}")
    offences = [offence for file in files for offence in offences_of(file)]
    print("\n".join(offences or [f"check_layers: {len(files)} files include only downwards"]))
    return 1 if offences else 0


if __name__ == "__main__":
    sys.exit(main())

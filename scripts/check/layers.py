#!/usr/bin/env python3
"""The map of src/: its rooms, and the rooms that each of them may include.

Checks that includes only go downwards, by the table below and a loop over #include "…".
"""

import pathlib
import re
import sys

SRC = pathlib.Path(__file__).resolve().parents[2] / "src"

# One row for each room, the highest first. A room is a folder, or a file directly in src (keeper,
# main). A room may include only those lower rooms that its row names. "core" stands for core and
# all rooms in it, "core/." for the files in the folder itself.
MAP = {
    "main": "cli keeper protocol os base",
    "cli/.": "cli/setup cli/run cli/shared keeper server report config store transcript sandbox mcp"
             " protocol files patch core json os toml base",
    "cli/setup": "cli/shared config patch core json os toml base",
    "cli/run": "cli/shared server/exec server/confine server/approval server/request server/session"
               " sandbox config store core protocol json os base",
    "cli/shared": "report transcript config store files patch core json os base",
    "keeper": "os base",
    "server/.": "server/patch server/exec server/environment server/local server/fs server/process"
                " server/confine server/approval server/request server/session server/connection"
                " sandbox config store transcript mcp core protocol json os base",
    "server/patch": "server/exec server/fs server/process server/confine server/approval"
                    " server/request server/session server/connection sandbox files patch core"
                    " protocol store json os base",
    "server/exec": "server/environment server/process server/confine server/approval"
                   " server/request server/session server/connection peer sandbox config store core"
                   " protocol json os base",
    "server/environment": "server/process server/request server/session server/connection peer"
                          " sandbox config core protocol json os base",
    "server/local": "server/process server/confine server/request server/connection sandbox core"
                    " protocol os base",
    "server/fs": "server/process server/confine server/request server/connection sandbox files core"
                 " protocol json os base",
    "server/process": "server/confine server/request server/connection peer sandbox core protocol"
                      " json os base",
    "server/confine": "server/request server/connection sandbox core protocol os base",
    "server/approval": "server/request server/session server/connection sandbox config store core"
                       " protocol json os base",
    "server/request": "server/session sandbox config core protocol json os base",
    "server/session": "config store core protocol os base",
    "server/connection": "mcp protocol transcript json os base",
    "report": "sandbox/policy store core json os base",
    "sandbox/start": "sandbox/launch sandbox/walk sandbox/init files",
    "sandbox/trial": "sandbox/run sandbox/launch sandbox/plan sandbox/policy sandbox/init core json"
                     " os base",
    "sandbox/run": "sandbox/supervise sandbox/gateway sandbox/launch sandbox/aftermath sandbox/policy core os base",
    "sandbox/supervise": "sandbox/gateway sandbox/launch sandbox/aftermath sandbox/plan sandbox/policy"
                         " core os base",
    "sandbox/gateway": "sandbox/launch core os base",
    "sandbox/launch": "sandbox/aftermath sandbox/plan sandbox/walk sandbox/policy sandbox/init core"
                      " os base",
    "sandbox/aftermath": "sandbox/plan core os base",
    "sandbox/plan": "sandbox/walk sandbox/policy sandbox/init core os base",
    "sandbox/walk": "sandbox/policy core os base",
    "sandbox/policy": "core os base",
    "sandbox/init": "core base",
    "files/verbs": "files/patch files/. core json os base",
    "files/patch": "files/. patch core os base",
    "files/.": "os base",
    "patch": "core base",
    "mcp": "protocol core json base",
    "peer": "protocol core json os base",
    "transcript": "json os core base",
    "store": "os json core base",
    "config": "json toml os core base",
    "protocol": "json core base",
    "core/.": "core/network core/judgement core/output core/screen core/text base",
    "core/network": "core/judgement json base",
    "core/judgement": "core/output core/text base",
    "core/screen": "core/output core/text json base",
    "core/output": "core/text base",
    "core/text": "base",
    "toml": "base",
    "json": "base",
    "os": "base",
    "base": "",
    "older_c_library": "",
    "pch": "",
}

# Constants that every room may use; the build writes all but version.
FREE = {"version", "build_features", "build_places"}

INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"')


def room_of(path):
    """Returns the room of a path below src: its folder, or the name of a file without an extension.
    """
    folder = pathlib.PurePosixPath(path).parent.as_posix()
    if folder == ".":
        return pathlib.PurePosixPath(path).stem
    if folder in MAP or folder in FREE:
        return folder
    return folder + "/."


def may_include(here):
    """Returns all rooms that this row names."""
    for name in MAP[here].split():
        yield name
        if not name.endswith("/."):
            yield from (room for room in MAP if room.startswith(name + "/"))


def mistakes_of_map():
    """Checks that each room names only rooms below it, so that there are no cycles."""
    order = list(MAP)
    for here, row in MAP.items():
        for name in row.split():
            rooms = [r for r in order if r == name or r.startswith(name + "/")]
            if not rooms:
                yield f"the row of {here} names {name}, which is no room"
            yield from (f"{here} names {r}, which stands above it"
                        for r in rooms if order.index(r) < order.index(here))


def offence(here, included):
    """Returns the mistake in this include, or None."""
    there = room_of(included)
    if there not in MAP and there not in FREE:
        return f"{there} is not in the map of scripts/check/layers.py; write the path from src/"
    if there in FREE or there == here or there in may_include(here):
        return None
    return f"{here} must not include {there}"


def offences_of(file):
    relative = file.relative_to(SRC)
    here = room_of(relative.as_posix())
    if here not in MAP and here not in FREE:
        yield f"src/{relative}: {here} is not in the map of scripts/check/layers.py"
        return
    if here in FREE:
        return
    for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
        match = INCLUDE.match(line)
        problem = match and offence(here, match[1])
        if problem:
            yield f"src/{relative}:{number}: {problem}: {match[1]}"


def main():
    files = sorted(file for ending in ("*.cc", "*.h") for file in SRC.rglob(ending))
    if not files:
        sys.exit(f"layers: no sources below {SRC}")
    offences = list(mistakes_of_map()) + [row for file in files for row in offences_of(file)]
    print("\n".join(offences or [f"layers: {len(files)} files include only downwards"]))
    return 1 if offences else 0


if __name__ == "__main__":
    sys.exit(main())

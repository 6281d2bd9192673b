"""Patches as text, and the cases in tests/patches."""

import base64
import contextlib
import json
import os

CASES = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "patches")


def patch(*lines):
    return "\n".join(["*** Begin Patch", *lines, "*** End Patch"]) + "\n"


def adding(path, *lines):
    return patch("*** Add File: " + path, *("+" + line for line in lines))


def replacing(path, old, new):
    return patch("*** Update File: " + path, "@@", "-" + old, "+" + new)


def cases():
    """Returns all cases by name, with bytes as contents."""
    found = {}
    for name in sorted(os.listdir(CASES)):
        if not name.endswith(".json"):
            continue
        with open(os.path.join(CASES, name)) as file:
            case = json.load(file)
        if not isinstance(case["patch"], str):
            case["patch"] = "".join(line + "\n" for line in case["patch"])
        for part in ("before", "after"):
            if part in case:
                case[part] = {path: as_bytes(data) for path, data in case[part].items()}
        found[name.removesuffix(".json")] = case
    return found


def as_bytes(content):
    if isinstance(content, str):
        return content.encode()
    return base64.b64decode(content["base64"])


def write_tree(root, files):
    for path, data in files.items():
        where = os.path.join(root, path)
        os.makedirs(os.path.dirname(where), exist_ok=True)
        with open(where, "wb") as file:
            file.write(data)


def read_tree(root):
    """Returns all files below a directory, by path. A server may be cleaning up at this time, so files
    that go while they are listed are left out.
    """
    files = {}
    for directory, _, names in os.walk(root):
        for name in names:
            path = os.path.join(directory, name)
            with contextlib.suppress(FileNotFoundError), open(path, "rb") as file:
                files[os.path.relpath(path, root)] = file.read()
    return files

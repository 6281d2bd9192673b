#!/usr/bin/env python3
"""Compares the numbers of system calls in the sources with the kernel's headers.

usage: scripts/check/call_numbers.py [--headers ARCHITECTURE=FOLDER]...

The headers of x86-64 are the system's; those of aarch64 come with linux-libc-dev-arm64-cross, or lie in FOLDER,
which has asm/unistd.h. An architecture without headers is skipped. A call that is newer than the headers is named
and not counted. Each number is a case; the last line is 'N passed, N failed'.
"""

import argparse
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
TABLE = ROOT / "src/sandbox/launch/system_calls.h"
ROW = re.compile(r'constexpr SystemCall \w+\{"(\w+)", (\d+|no_number), (\d+|no_number)\};')
HEADERS = {"x86_64": ["/usr/include/x86_64-linux-gnu", "/usr/include"],
           "aarch64": ["/usr/aarch64-linux-gnu/include"]}


def rows():
    """Returns (name, numbers by architecture); None stands for no number."""
    text = TABLE.read_text(encoding="utf-8")
    found = [(name, {"x86_64": number(x86), "aarch64": number(arm)})
             for name, x86, arm in ROW.findall(text)]
    if len(found) != text.count("constexpr SystemCall "):
        sys.exit(f"call_numbers: cannot read each row of {TABLE}")
    return found


def number(text):
    return None if text == "no_number" else int(text)


def numbers_of(architecture, folders):
    """Returns the numbers by name, as the preprocessor sees them. No other architecture is defined."""
    command = ["cc", "-E", "-dM", "-undef", "-nostdinc", f"-D__{architecture}__", "-D__LP64__",
               *[f"-isystem{folder}" for folder in folders], "-include", "asm/unistd.h", "-"]
    done = subprocess.run(command, input="", capture_output=True, text=True, check=True)
    found = re.findall(r"^#define __NR_(\w+) (\w+)$", done.stdout, re.MULTILINE)
    values = dict(found)
    # The number of one call may be the name of another one: __NR_fcntl is __NR3264_fcntl.
    names = dict(re.findall(r"^#define (__NR\w*) (\w+)$", done.stdout, re.MULTILINE))
    for name, value in found:
        while not value.isdigit() and value in names:
            value = names[value]
        values[name] = int(value) if value.isdigit() else None
    return values


def compare(architecture, known):
    newest = max(value for name, value in known.items() if value is not None and "syscalls" not in name)
    passed = failed = 0
    for name, numbers in rows():
        ours = numbers[architecture]
        if ours is not None and ours > newest:
            print(f"{architecture}: {name} is newer than the headers")
        elif known.get(name) == ours:
            passed += 1
        else:
            failed += 1
            print(f"FAIL {architecture}: {name} is {known.get(name)}, not {ours}")
    print(f"{architecture}: {passed} numbers compared, the newest of the headers is {newest}")
    return passed, failed


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--headers", metavar="ARCHITECTURE=FOLDER", action="append", default=[])
    headers = dict(HEADERS)
    for option in parser.parse_args().headers:
        architecture, _, folder = option.partition("=")
        headers[architecture] = [folder]
    totals = [0, 0]
    for architecture, folders in headers.items():
        if not any((pathlib.Path(folder) / "asm/unistd.h").exists() for folder in folders):
            print(f"SKIP {architecture}: there are no headers in {folders[0]}")
            continue
        for i, count in enumerate(compare(architecture, numbers_of(architecture, folders))):
            totals[i] += count
    print(f"{totals[0]} passed, {totals[1]} failed")
    return 1 if totals[1] or not totals[0] else 0


if __name__ == "__main__":
    sys.exit(main())

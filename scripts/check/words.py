#!/usr/bin/env python3
"""Compares how execward and the shells split the same scripts into commands and words.

usage: scripts/check/words.py PROGRAM [--count N] [--seed N]

PROGRAM is the test program words_cli. The scripts are those of tests/cases/shell_tricks.jsonl, for bash, and
N random ones, of which each shell that is installed gets those that execward accepts for it. Scripts that
name a program by a path, or have $? in them, are left out. tests/support/shells.py says how a shell is made
to tell. scripts/soak/words.py makes scripts that more often mean something.
"""

import argparse
import json
import os
import pathlib
import random
import sys

sys.path.insert(0, os.path.abspath(__file__ + "/../../../tests"))
from support.shells import SHELLS, difference, taken_apart

CORPUS = pathlib.Path(__file__).resolve().parents[2] / "tests/cases/shell_tricks.jsonl"
PIECES = (
    "a b ab ls echo - -n x=1 = ' \" \\ \\\n $ # ## ~ { } {a} , .. ! * ? [ ] ; ;; & && | || |& "
    "2>&1 2>/dev/null >/dev/null </dev/null > < ( ) ` \u00e9 ^ % @ : + 0 1 2 'a' \"b\" '' \"\" \"$\" \"a b\" if"
).split(" ") + [" ", " ", " ", " ", " ", "\t", "\n", "\\ ", "' '", '"\\"', "\\\\"]


def made_up(count, seed):
    source = random.Random(seed)
    for _ in range(count):
        script = "".join(source.choice(PIECES) for _ in range(source.randint(1, 12)))
        if "$?" not in script:
            yield script


def compare(program, shell, scripts):
    """Returns the numbers of scripts that were accepted, compared and read differently."""
    accepted = compared = failed = 0
    for script, understood in zip(scripts, taken_apart(program, shell.dialect, scripts)):
        if understood is None:
            continue
        accepted += 1
        if not shell.can_try(understood.commands):
            continue
        compared += 1
        problem = difference(shell, script, understood)
        if problem:
            failed += 1
            print(f"FAIL {script!r}: {problem}; ours: {understood}", flush=True)
    print(f"{shell.name}: {len(scripts)} scripts, {accepted} accepted, {compared} compared", flush=True)
    return accepted, compared, failed


def corpus():
    for line in CORPUS.read_text(encoding="utf-8").splitlines():
        argv = json.loads(line)["argv"]
        if len(argv) == 3 and "\0" not in argv[2] and "$?" not in argv[2]:
            yield argv[2]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--count", type=int, default=1500)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    compared = failed = 0
    for shell in SHELLS:
        if not shell.is_here():
            print(f"{shell.name}: not on this machine")
            continue
        scripts = list(made_up(options.count, options.seed))
        if shell.name == "bash":
            scripts += corpus()
        _, tried, wrong = compare(options.program, shell, scripts)
        compared += tried
        failed += wrong
    print(f"{compared - failed} passed, {failed} failed")
    return 1 if failed or not compared else 0


if __name__ == "__main__":
    sys.exit(main())

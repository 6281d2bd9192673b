#!/usr/bin/env python3
"""Compares how execward and bash split the same scripts into commands and words.

usage: scripts/check/words.py PROGRAM [--count N] [--seed N]

PROGRAM is the test program words_cli. The scripts are those of tests/cases/shell_tricks.jsonl and N random
ones. bash gets only scripts that execward accepts, in an empty directory, with a PATH without programs and
with only the two builtins that are needed. Each command then ends in the handler for unknown commands, which
prints its words. Scripts that name a program by a path, or have $? in them, are left out.
"""

import argparse
import json
import pathlib
import random
import subprocess
import sys
import tempfile

CORPUS = pathlib.Path(__file__).resolve().parents[2] / "tests/cases/shell_tricks.jsonl"
PIECES = (
    "a b ab ls echo - -n x=1 = ' \" \\ \\\n $ # ## ~ { } {a} , .. ! * ? [ ] ; ;; & && | || |& "
    "2>&1 2>/dev/null >/dev/null </dev/null > < ( ) ` \u00e9 ^ % @ : + 0 1 2 'a' \"b\" '' \"\" \"$\" \"a b\" if"
).split(" ") + [" ", " ", " ", " ", " ", "\t", "\n", "\\ ", "' '", '"\\"', "\\\\"]

# The words of each command, with \001 after the last, go to descriptor 9. STATUS decides which
# sides of && and || run.
SETUP = r"""
exec 9>&1 >/dev/null 2>&1 </dev/null
set -f
command_not_found_handle() { printf '%s\0' "$@" $'\001' >&9; return STATUS; }
PATH=/nonexistent
for name in $(compgen -b); do case $name in printf|return|enable) ;; *) enable -n "$name";; esac; done
enable -n enable
"""


def taken_apart(program, scripts):
    """Returns None for each script that is not understood, else its commands as lists of bytes."""
    data = b"".join(script.encode() + b"\0" for script in scripts)
    output = subprocess.run([program], input=data, stdout=subprocess.PIPE, check=True).stdout
    results = []
    for line in output.decode().splitlines():
        if line == "!":
            results.append(None)
        else:
            results.append(
                [
                    [bytes.fromhex(word[1:]) for word in command.split()]
                    for command in line.split("; ")
                ]
            )
    return results


def is_harmless_to_try(commands):
    return all(b"/" not in words[0] and words[0] not in (b"printf", b"return") for words in commands)


def seen_by_bash(script, status, directory):
    run = subprocess.run(
        ["/bin/bash", "--norc", "--noprofile", "-c", SETUP.replace("STATUS", str(status)) + script],
        env={"LC_ALL": "C.UTF-8"},
        cwd=directory,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        timeout=20,
        check=False,
    )
    commands, words = [], []
    for word in run.stdout.split(b"\0")[:-1]:
        if word == b"\1":
            commands.append(words)
            words = []
        else:
            words.append(word)
    return commands


def difference(script, commands, directory):
    """Returns the difference, or None. The commands of a pipe print in any order."""
    if subprocess.run(
        ["/bin/bash", "-n", "-c", "--", script], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False
    ).returncode:
        return "bash finds a syntax error"
    ours = sorted(map(tuple, commands))
    theirs = [sorted(map(tuple, seen_by_bash(script, status, directory))) for status in (0, 1)]
    for side in theirs:
        for words in side:
            if words not in ours:
                return f"bash has a command {words}"
    for words in ours:
        if words not in theirs[0] and words not in theirs[1]:
            return f"bash does not have {words}"
    return None


def made_up(count, seed):
    source = random.Random(seed)
    for _ in range(count):
        script = "".join(source.choice(PIECES) for _ in range(source.randint(1, 12)))
        if "$?" not in script:
            yield script


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--count", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    scripts = []
    for line in CORPUS.read_text(encoding="utf-8").splitlines():
        argv = json.loads(line)["argv"]
        if len(argv) == 3 and "\0" not in argv[2]:
            scripts.append(argv[2])
    scripts += made_up(options.count, options.seed)
    accepted = compared = failed = 0
    with tempfile.TemporaryDirectory() as directory:
        for script, commands in zip(scripts, taken_apart(options.program, scripts)):
            if commands is None:
                continue
            accepted += 1
            if not is_harmless_to_try(commands):
                continue
            compared += 1
            problem = difference(script, commands, directory)
            if problem:
                failed += 1
                print(f"FAIL {script!r}: {problem}; ours: {commands}")
        if left := list(pathlib.Path(directory).iterdir()):
            failed += 1
            print(f"FAIL files appeared: {left}")
    print(f"{len(scripts)} scripts, {accepted} accepted, {compared} compared")
    print(f"{compared - failed} passed, {failed} failed")
    return 1 if failed or not compared else 0


if __name__ == "__main__":
    sys.exit(main())

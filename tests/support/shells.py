"""Compares how execward takes scripts apart with what shells make of them.

A shell gets only scripts that execward accepts. It runs them in an empty directory, with a PATH without
programs other than those of the test, and without the builtins that can be switched off: each command then
writes its words to descriptor 9. A script is run twice, so that both sides of && and || are seen.
"""

import os
import re
import shutil
import subprocess
import tempfile

# Each command writes its words and \001, each with a NUL behind it, in one write: commands of a pipe write
# at the same time. bash would write each line by itself, so \003 stands for a newline there.
BASH = r"""
exec 9>&1 >/dev/null 2>&1 </dev/null
set -f
command_not_found_handle() { printf '%s\0' "${@//$'\n'/$'\003'}" $'\001' >&9; return STATUS; }
PATH=/nonexistent
for name in $(compgen -b); do case $name in printf|return|enable) ;; *) enable -n "$name";; esac; done
enable -n enable
"""
# A precommand modifier stays what it is: with one, the words behind it are the command.
ZSH = r"""
exec 9>&1 >/dev/null 2>&1 </dev/null
setopt noglob
command_not_found_handler() { printf '%s\0' "$@" $'\001' >&9; return STATUS; }
PATH=/nonexistent
disable ${(k)builtins:#(printf|return|disable|-|builtin|command|exec|nocorrect|noglob)}
disable disable
"""
# dash has no such handler. Its builtins are functions here, and other commands are files in PATH.
DASH = r"""
exec 9>&1 >/dev/null 2>&1 </dev/null
set -f
MARK=$(printf '\001')
FUNCTIONS
PATH=$PWD/../bin
"""
DASH_FUNCTIONS = (
    "alias bg cd chdir command echo false fc fg getopts hash jobs kill pwd read test true type ulimit "
    "umask unalias wait"
).split()
DASH_SPECIAL = (
    b". : [ break continue eval exec exit export local printf readonly return set shift times trap unset"
).split()
RECORDER = """#!/bin/dash
printf '%s\\0' "${0##*/}" "$@" "$(printf '\\001')" >&9
exit $STATUS
"""


class Shell:
    def __init__(self, name, dialect, argv, setup):
        self.name, self.dialect, self.argv, self.setup = name, dialect, argv, setup

    def is_here(self):
        return os.path.exists(self.argv[0])

    def can_try(self, commands):
        """A builtin that cannot be switched off would run."""
        first = [words[0] for words in commands]
        if self.name == "dash" and any(word in DASH_SPECIAL for word in first):
            return False
        return all(b"/" not in word and word not in (b"printf", b"return", b"..") for word in first)

    def accepts(self, script):
        """Is its syntax right to this shell?"""
        done = subprocess.run(
            [*self.argv, "-n", "-c", "--", script],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            check=False,
        )
        return done.returncode == 0

    def run(self, script, status, directory):
        """Returns the commands that it runs."""
        run = subprocess.run(
            [*self.argv, "-c", self.setup.replace("STATUS", str(status)) + script],
            env={"LC_ALL": "C.UTF-8", "STATUS": str(status)},
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
                words.append(word.replace(b"\3", b"\n"))
        return commands


def dash_setup():
    record = "%s() { printf '%%s\\0' %s \"$@\" \"$MARK\" >&9; return STATUS; }"
    return DASH.replace("FUNCTIONS", "\n".join(record % (name, name) for name in DASH_FUNCTIONS))


SHELLS = (
    Shell("bash", "bash", ["/bin/bash", "--norc", "--noprofile"], BASH),
    Shell("bash --posix", "bash", ["/bin/bash", "--norc", "--noprofile", "--posix"], BASH),
    Shell("dash", "bash", ["/bin/dash"], dash_setup()),
    Shell("zsh", "zsh", ["/bin/zsh", "-f"], ZSH),
)


def taken_apart(program, dialect, scripts):
    """Returns None for each script that is not understood, else its commands, as lists of bytes, and the
    files that the shell writes.
    """
    data = b"".join(script.encode() + b"\0" for script in scripts)
    done = subprocess.run([program, dialect], input=data, stdout=subprocess.PIPE, check=True)
    results = []
    for line in done.stdout.decode().splitlines():
        if line == "!":
            results.append(None)
            continue
        commands, written = [], set()
        for command in line.split("; "):
            tokens = [(token[0], bytes.fromhex(token[1:])) for token in command.split()]
            commands.append([text for kind, text in tokens if kind == "x"])
            written |= {text for kind, text in tokens if kind == ">"}
        results.append((commands, written))
    return results


def differing(words_of, ours, theirs):
    """Returns how the commands of two runs differ from ours, or None."""
    for side in theirs:
        for words in side:
            if words not in ours:
                return f"{words_of} has a command {words}"
    for words in ours:
        if words not in theirs[0] and words not in theirs[1]:
            return f"{words_of} does not have {words}"
    return None


def difference(shell, script, understood):
    """Returns the difference between what execward understood and what the shell does, or None."""
    commands, written = understood
    if not shell.accepts(script):
        return f"{shell.name} finds a syntax error"
    ours, theirs, files = set(map(tuple, commands)), [], set()
    with tempfile.TemporaryDirectory() as place:
        directory = os.path.join(place, "work")
        if shell.name == "dash":
            make_programs(os.path.join(place, "bin"), script, commands)
        for status in (0, 1):
            for path in [b".", *written]:
                os.makedirs(os.path.dirname(os.path.join(os.fsencode(directory), path)), exist_ok=True)
            theirs.append(set(map(tuple, shell.run(script, status, directory))))
            files |= files_in(os.fsencode(directory))
            shutil.rmtree(directory)
    here = {os.path.normpath(path) for path in written}
    if files - here:
        return f"{shell.name} wrote {sorted(files - here)}"
    if here - files:
        return f"{shell.name} did not write {sorted(here - files)}"
    return differing(shell.name, ours, theirs)


def files_in(directory):
    return {
        os.path.relpath(os.path.join(place, name), directory)
        for place, _, names in os.walk(directory)
        for name in names
    }


def make_programs(directory, script, commands):
    """Makes programs that write their words: one for each command, and for each word of the script, in case
    the shell reads it otherwise.
    """
    os.mkdir(directory)
    with open(os.path.join(directory, ".recorder"), "w") as file:
        file.write(RECORDER)
    os.chmod(file.name, 0o755)
    plain = re.findall(rb"[^\s;&|<>()'\"\\$/]+", script.encode())
    for name in {words[0] for words in commands} | set(plain):
        path = os.path.join(os.fsencode(directory), name)
        if name and not os.path.lexists(path):
            os.symlink(b".recorder", path)

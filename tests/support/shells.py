"""Compares how execward takes scripts apart with what shells make of them.

A shell gets only scripts that execward accepts. It runs them in an empty directory, with a PATH without
programs other than those of the test, and without the builtins that can be switched off: each command then
writes its words to descriptor 9. A script is run twice, so that both sides of && and || are seen.
"""

import os
import re
import shutil
import signal
import subprocess
import tempfile

# Each command writes its words and \001, each with a NUL behind it, in one write: commands of a pipe write
# at the same time. bash would write each line by itself, so \003 stands for a newline there.
BASH = r"""
exec 9>&1 >/dev/null 2>&1 </dev/null
set -f
command_not_found_handle() {
    printf '%s\0' "${@//$'\n'/$'\003'}" $'\001' >&9
    printf -- '-v "w' 2>/dev/null
    return STATUS
}
PATH=/nonexistent
for name in $(compgen -b); do
    case $name in printf|return|enable|read|break|continue) ;; *) enable -n "$name";; esac
done
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
    "alias bg cd chdir command echo false fc fg getopts hash jobs kill pwd test true type ulimit "
    "umask unalias wait"
).split()
DASH_SPECIAL = (
    b". : [ break continue eval exec exit export local printf readonly return set shift times trap unset"
).split()
RECORDER = """#!/bin/dash
printf '%s\\0' "${0##*/}" "$@" "$(printf '\\001')" >&9
printf '%s' '-v "w' 2>/dev/null
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
        kept = (b"printf", b"return", b"..", b"read", b"break", b"continue")
        return all(b"/" not in word and word not in kept for word in first)

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
        """Returns the commands that it runs; of a loop without an end, those of some time."""
        argv = [*self.argv, "-c", self.setup.replace("STATUS", str(status)) + script]
        environment = {"LC_ALL": "C.UTF-8", "STATUS": str(status)}
        null = subprocess.DEVNULL
        with subprocess.Popen(
            argv, env=environment, cwd=directory, stdin=null, stdout=subprocess.PIPE, stderr=null, process_group=0
        ) as process:
            try:
                output = process.communicate(timeout=5)[0]
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                output = process.communicate()[0]
        commands, words = [], []
        for word in output.split(b"\0")[:-1]:
            if word == b"\1":
                commands.append(words)
                words = []
            else:
                words.append(word.replace(b"\3", b"\n"))
        return commands


def dash_setup():
    record = "%s() { printf '%%s\\0' %s \"$@\" \"$MARK\" >&9; printf '%%s' '-v \"w'; return STATUS; }"
    return DASH.replace("FUNCTIONS", "\n".join(record % (name, name) for name in DASH_FUNCTIONS))


SHELLS = (
    Shell("bash", "bash", ["/bin/bash", "--norc", "--noprofile"], BASH),
    Shell("bash --posix", "sh", ["/bin/bash", "--norc", "--noprofile", "--posix"], BASH),
    Shell("dash", "sh", ["/bin/dash"], dash_setup()),
    Shell("zsh", "zsh", ["/bin/zsh", "-f"], ZSH),
)


class Unknown(bytes):
    """A word in which a * stands for what is not known. The word * may also be several words, or none."""

    def matches(self, word):
        return re.fullmatch(b".*".join(map(re.escape, self.split(b"*"))), word, re.DOTALL)


class Understood:
    """How execward takes a script apart: its commands, as lists of bytes, and the files that the shell writes."""

    def __init__(self, line):
        self.is_plain, self.commands, self.written = line.startswith("="), [], set()
        for command in line[2:].split("; "):
            tokens = [(token[0], bytes.fromhex(token[1:])) for token in command.split()]
            self.commands.append([Unknown(text) if kind == "?" else text for kind, text in tokens if kind != ">"])
            self.written |= {text for kind, text in tokens if kind == ">"}

    def __repr__(self):
        return repr(self.commands)


def taken_apart(program, dialect, scripts):
    """Returns None for each script that is not understood, else what is understood."""
    data = b"".join(script.encode() + b"\0" for script in scripts)
    done = subprocess.run([program, dialect], input=data, stdout=subprocess.PIPE, check=True)
    return [None if line == "!" else Understood(line) for line in done.stdout.decode().splitlines()]


def covers(ours, theirs):
    """Can the words with what is not known be these?"""
    if not ours:
        return not theirs
    first = ours[0]
    if not isinstance(first, Unknown):
        return bool(theirs) and first == theirs[0] and covers(ours[1:], theirs[1:])
    if first == b"*" and (covers(ours[1:], theirs) or (theirs and covers(ours, theirs[1:]))):
        return True
    return bool(theirs and first.matches(theirs[0]) and covers(ours[1:], theirs[1:]))


def differing(words_of, understood, theirs):
    """Returns how the commands of two runs differ from ours, or None."""
    ours = set(map(tuple, understood.commands))
    unknown = [words for words in ours if any(isinstance(word, Unknown) for word in words)]
    for words in set().union(*theirs):
        if words not in ours and not any(covers(one, words) for one in unknown):
            return f"{words_of} has a command {words}"
    for words in ours if understood.is_plain else ():
        if words not in theirs[0] and words not in theirs[1]:
            return f"{words_of} does not have {words}"
    return None


def difference(shell, script, understood):
    """Returns the difference between what execward understood and what the shell does, or None."""
    written = understood.written
    if not shell.accepts(script):
        return f"{shell.name} finds a syntax error"
    theirs, files = [], set()
    with tempfile.TemporaryDirectory() as place:
        directory = os.path.join(place, "work")
        if shell.name == "dash":
            make_programs(os.path.join(place, "bin"), script, understood.commands)
        for status in (0, 1):
            for path in [b".", *written]:
                os.makedirs(os.path.dirname(os.path.join(os.fsencode(directory), path)), exist_ok=True)
            theirs.append(set(map(tuple, shell.run(script, status, directory))))
            files |= files_in(os.fsencode(directory))
            shutil.rmtree(directory)
    here = {os.path.normpath(path) for path in written}
    if files - here:
        return f"{shell.name} wrote {sorted(files - here)}"
    if here - files and understood.is_plain:
        return f"{shell.name} did not write {sorted(here - files)}"
    return differing(shell.name, understood, theirs)


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

#!/usr/bin/env python3
"""Writes the lists of options in docs/execward.1 from the tables of a built execward.

Usage: man_page.py EXECWARD [--check]. With --check: only reports if the page is stale.
"""
import json
import pathlib
import re
import subprocess
import sys

PAGE = pathlib.Path(__file__).resolve().parent.parent.parent / "docs" / "execward.1"
BEGIN = '.\\" Options of the subcommands, written by scripts/generate/man_page.py.\n'
END = '.\\" End of these options.\n'


def escaped(text):
    return text.replace("\\", "\\e").replace("-", "\\-")


def words_of(text):
    return text.replace("|", " ").split()


def typeset(text, argument):
    """Returns a sentence in roff: options and `so` in bold, the argument and paths in italics."""
    pattern = r"`[^`]+`|--[a-z][a-z-]*|(?<![\w$.])[~$]?/[\w./~-]*\w|\$[A-Z]\w*"
    if argument:
        pattern += r"|\b%s\b" % argument

    def piece(match):
        found = match[0].strip("`")
        if match[0] == argument:
            return "\\fI%s\\fP" % escaped(found.lower())
        return ("\\fB%s\\fP" if found != match[0] or found.startswith("--") else "\\fI%s\\fP") % escaped(found)

    parts = []
    end = 0
    for match in re.finditer(pattern, text):
        parts += [escaped(text[end:match.start()]), piece(match)]
        end = match.end()
    line = "".join(parts) + escaped(text[end:])
    return "\\&" + line if line.startswith((".", "'")) else line


def sentences(option):
    """Returns the meaning as sentences, with the other facts of the table."""
    meaning = option["meaning"]
    yield meaning[0].upper() + meaning[1:] + "."
    if option["default"] in words_of(option["choices"]):
        yield "The default is `%s`." % option["default"]
    elif option["default"]:
        yield "Without it: %s." % option["default"]
    if option["repeats"]:
        yield "Can be given again."
    if option["actions"]:
        yield "Only for %s." % " and ".join("`%s`" % name for name in words_of(option["actions"]))
    if option["details"]:
        yield from re.split(r"(?<=[.]) (?=[A-Z`])", option["details"])


def option_lines(option):
    flag = ("-" if len(option["name"]) == 1 else "--") + option["name"]
    head = "\\fB%s\\fP" % escaped(flag)
    if option["argument"]:
        head += "\\ " if len(option["name"]) == 1 else "="
        names = words_of(option["choices"])
        head += "|".join("\\fB%s\\fP" % escaped(name) for name in names) or "\\fI%s\\fP" % option["argument"].lower()
    return [".TP", head] + [typeset(sentence, option["argument"]) for sentence in sentences(option)]


def option_lists(commands):
    lines = []
    for command in commands:
        if command["options"]:
            lines.append(".SS Options of " + command["name"])
        for option in command["options"]:
            lines += option_lines(option)
    return "\n".join(lines) + "\n"


def main(arguments):
    if not 1 <= len(arguments) <= 2 or arguments[1:] not in ([], ["--check"]):
        print("usage: scripts/generate/man_page.py EXECWARD [--check]", file=sys.stderr)
        return 2
    run = subprocess.run([arguments[0], "completions", "json"], check=True, stdout=subprocess.PIPE)
    before, rest = PAGE.read_text(encoding="utf-8").split(BEGIN)
    old, after = rest.split(END)
    new = option_lists(json.loads(run.stdout))
    if arguments[1:] and old != new:
        print("docs/execward.1 is stale: run scripts/generate/man_page.py BUILD/execward")
        return 1
    PAGE.write_text(before + BEGIN + new + END + after, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

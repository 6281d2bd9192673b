"""execward completions: shells complete subcommands and options, and the man page lists the same ones."""

import json
import os
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.abspath(__file__ + "/../../.."))
from support.client import PYTHON, REPOSITORY, check, equal, within
from support.runner import main, test

# Completes the given words; the cursor is at the last one.
COMPLETE = """
source <("$1" completions bash)
shift
COMP_WORDS=(execward "$@")
COMP_CWORD=$#
_execward
printf '%s\\n' "${COMPREPLY[@]}"
"""


def completions(scene, *arguments):
    return scene.once("completions", *arguments)


def completed(scene, *words):
    done = subprocess.run(
        ["bash", "--norc", "-c", COMPLETE, "bash", scene.command[0], *words],
        capture_output=True,
        text=True,
        timeout=within(30),
    )
    equal((done.returncode, done.stderr), (0, ""), "status and errors for %r" % (words,))
    return done.stdout.split()


@test
def bash_completes_subcommands_actions_options_and_values(scene):
    equal(completed(scene, "do"), ["doctor"], "subcommands")
    equal(completed(scene, "help", "do"), ["doctor"], "subcommands to have explained")
    equal(completed(scene, "policy", ""), ["explain", "check", "suggest"], "actions")
    equal(completed(scene, "audit", "tail", "--j"), ["--json"], "options")
    equal(completed(scene, "serve", "--framing", "=", "h"), ["headers"], "values behind a sign")
    equal(completed(scene, "serve", "--log-format", ""), ["text", "json"], "values")
    equal(completed(scene, "config", "init", "--client", "=", "e"), ["emacs"], "of two words")
    equal(completed(scene, "patch", "check", "x"), [], "words that are files")


@test
def every_shell_is_told_every_option(scene):
    known = json.loads(completions(scene, "json").stdout)
    check(len(known) > 11, "only %d subcommands" % len(known))
    for shell in ("bash", "zsh", "fish"):
        done = completions(scene, shell)
        equal((done.returncode, done.stderr), (0, ""), "status and errors")
        for command in known:
            for option in command["options"]:
                check(option["name"] in done.stdout, "%s: nothing about %s" % (shell, option["name"]))
        if shutil.which(shell):
            subprocess.run([shell, "-n"], input=done.stdout, text=True, check=True)


@test
def the_options_in_the_man_page_are_those_of_the_program(scene):
    script = os.path.join(REPOSITORY, "scripts/generate/man_page.py")
    done = subprocess.run(
        [PYTHON, script, scene.command[0], "--check"], capture_output=True, text=True
    )
    equal((done.returncode, done.stdout), (0, ""), "status and output")


@test
def help_lists_every_option(scene):
    for command in json.loads(completions(scene, "json").stdout):
        words = command["name"].split()
        done = subprocess.run(
            [scene.command[0], *words, "--help"], capture_output=True, text=True
        )
        equal((done.returncode, done.stderr), (0, ""), "status and errors")
        check(done.stdout.startswith("Usage: execward " + command["name"]), done.stdout)
        for option in command["options"]:
            flag = ("--%s" if option["name"][1:] else "-%s") % option["name"]
            check("\n  %s" % flag in done.stdout, "%s: no %s" % (command["name"], flag))


@test
def a_shell_that_is_not_known_is_a_usage_error(scene):
    for arguments in ((), ("tcsh",), ("bash", "zsh")):
        done = completions(scene, *arguments)
        equal((done.returncode, done.stdout), (2, ""), "status and output of %s" % (arguments,))
        check("execward completions --help" in done.stderr, done.stderr)


if __name__ == "__main__":
    main()

"""Scripts that are too long for the kernel's limit of one word: a shell reads them from a file, and they mean
what they would mean behind -c."""

import os
import re
import shutil
import sys

sys.path.insert(0, os.path.abspath(__file__ + "/../../.."))
from support.client import brief, check, equal
from support.exec import UNCONFINED, Home, approve, asks, denied, exec_server, ran, untrusting
from support.runner import main, test

LONGEST_WORD = 131071
LONGEST_SCRIPT = 8 << 20
PADDING = "# %s\n" % ("x" * 98)  # of 101 bytes


def padded(script, size=2 * LONGEST_WORD):
    """Puts comments before and behind the script."""
    lines = PADDING * (size // len(PADDING) // 2 + 1)
    return lines + script + "\n" + lines


def shells():
    return [name for name in ("bash", "dash", "zsh") if shutil.which(name, path="/usr/bin:/bin")]


def servers(scene):
    for sandbox in ("workspace-write", UNCONFINED):
        yield exec_server(scene, policy="on-request", sandbox=sandbox)


@test
def a_long_script_runs_as_a_short_one_does(scene):
    script = (
        'echo "$0 $# $?"; read line; echo "got $line"; f() { echo "f $1"; return 3; }; f "a b"; echo "$?"\n'
        "cat <<'E'\n  $x\n\nE\n"
        "(exit 4); echo $?; ls /proc/self/fd | wc -l; trap 'echo bye' EXIT; exit 5; echo no\n"
    )
    for server in servers(scene):
        for shell in shells():
            short = server.exec(script, shell=shell, stdin="one\ntwo\n")
            long = server.exec(padded(script), shell=shell, stdin="one\ntwo\n")
            equal(short["exitCode"], 5, "exit code of %s: %s" % (shell, brief(short, 500)))
            equal(
                (long["output"], long["exitCode"]), (short["output"], 5), "a long script of " + shell
            )


@test
def what_ends_a_long_script_ends_it_as_a_short_one(scene):
    server = exec_server(scene, sandbox=UNCONFINED)
    for shell in shells():
        for script in ("echo a \\\n", "echo a\\\n\n", "echo a; exit 7", "return 3", "false", "kill $$", "echo 'a"):
            filler = PADDING * (LONGEST_WORD // len(PADDING) + 1)
            short, long = (server.exec(text, shell=shell) for text in (script, filler + script))
            for result in (short, long):  # the messages of the shell name the place
                result["output"] = re.sub(r".*(return|quote|nmatched|EOF|string).*", "message", result["output"])
            equal(
                [long.get(name) for name in ("output", "exitCode", "signal")],
                [short.get(name) for name in ("output", "exitCode", "signal")],
                "%r by %s" % (script, shell),
            )


@test
def a_login_shell_and_a_terminal_get_a_long_script_too(scene):
    for server in servers(scene):
        script = padded("shopt -q login_shell && echo login; test -t 0 && echo terminal")
        result = server.exec(script, shell="bash", login=True, tty=True)
        equal(result["output"].split(), ["login", "terminal"], brief(result, 500))


@test
def scripts_up_to_8_mib_run_and_longer_ones_are_refused(scene):
    for server, names in zip(servers(scene), (shells()[:1], shells()[1:]), strict=True):
        for shell in names:
            script = "echo begin\n: '" + "x" * (LONGEST_SCRIPT - 40) + "'; echo end #"
            result = server.exec(script + "x" * (LONGEST_SCRIPT - len(script)), shell=shell)
            equal((result["output"], result["exitCode"]), ("begin\nend\n", 0), brief(result, 500))
        message = denied(server, server.exec_later("#" * (LONGEST_SCRIPT + 1)))
        check("8388608 at most" in message, message)
        message = denied(server, server.exec_later(["bash", "-c", "#" * (LONGEST_WORD + 1)]))
        check("131071 at most" in message, message)
        equal(server.questions, [], "questions")


@test
def a_script_that_is_not_longer_than_a_word_is_one(scene):
    server = exec_server(scene, sandbox=UNCONFINED)
    script = "tr '\\0' ' ' < /proc/$$/cmdline | wc -c; test -e /proc/$$/fd/9; echo $? #"
    for size, is_word in ((LONGEST_WORD, True), (LONGEST_WORD + 1, False)):
        output = server.output_of(script + "x" * (size - len(script)), shell="bash")
        length, has_file = output.split()
        equal((int(length) > LONGEST_WORD, has_file), (is_word, "1"), "a script of %d bytes" % size)


@test
def a_question_about_a_long_script_shows_its_begin_and_its_end(scene):
    server = untrusting(scene)
    script = "echo begin\n" + ": made = 1\n" * 40000 + "echo end"
    question = asks(server, script)
    shown = question["display"]["command"]
    check(shown.startswith("echo begin\\n") and shown.endswith("\\necho end"), brief(shown, 300))
    left_out = int(re.search(r" … \((\d+) bytes are not shown here\) … ", shown).group(1))
    kept = sum(len(part) for part in re.split(r" … \(\d+ bytes are not shown here\) … ", question["argv"][-1]))
    equal(left_out + kept, len(script), "bytes")
    check(
        any("%d bytes" % len(script) in note for note in question["display"]["notes"]),
        "notes %s" % question["display"]["notes"],
    )
    check(len(str(question.params)) < 200000, "the question is long")
    hidden = asks(server, padded("touch a\u202eb")[: -1])
    check(hidden["display"]["hasInvisibleCharacters"], "no warning about the middle")
    approve(server, script, answer={"scope": "directory"})
    before = len(server.questions)
    ran(server, server.exec_later(script))
    equal(len(server.questions), before, "questions about the same")
    middle = len(script) // 2
    asks(server, script[:middle] + script[middle:].replace("made", "mado", 1))


@test
def events_and_the_audit_of_a_long_script_are_short(scene):
    server = exec_server(scene, sandbox=UNCONFINED)
    script = padded("echo x", 1 << 20)
    ran(server, server.exec_later(script, callId="c"))
    begin = server.wait_end_of_call("c").begin
    check(len(str(begin)) < 200000, "exec/begin is long")
    check("bytes are not shown here" in begin["argv"][-1], "no count of what is left out")
    equal(server.end(), 0, "exit status")
    for row in server.home.audit():
        check(len(str(row)) < 40000, "a row of the audit is long")


@test
def a_ban_counts_wherever_it_stands_in_a_long_script(scene):
    home = Home(scene)
    home.rules("[[rule]]\nprefix = ['touch']\ndecision = 'forbidden'\n")
    server = exec_server(scene, home=home, policy="on-request", sandbox="workspace-write")
    for size in (2 * LONGEST_WORD, LONGEST_SCRIPT - 4096):
        server.questions.clear()
        server.taken_questions = 0
        text = PADDING * (size // 2 // len(PADDING))
        message = denied(server, server.exec_later(text + "if true; then touch made; fi\n" + text))
        check("touch" in message, message)
        check(not server.questions, "it was asked about")
        asks(server, "ls $x\n" * (size // 12) + "touch made\n" + "ls $x\n" * (size // 12))
    check(not os.path.exists(os.path.join(home.project, "made")), "it ran")


if __name__ == "__main__":
    main()

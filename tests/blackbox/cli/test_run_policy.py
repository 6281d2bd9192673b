"""The subcommand run obeys the rules, approvals and settings that hold for exec/command."""

import os
import re
import shlex
import subprocess
import sys

sys.path.insert(0, os.path.abspath(__file__ + "/../../.."))
from support.client import PATIENCE, check, equal
from support.exec import BAN, UNCONFINED, Home, denied, exec_server, is_asked, trusted_ban
from support.runner import main, test
from support.terminals import Terminal

ASKS = "[[rule]]\nprefix = ['touch']\ndecision = 'prompt'\njustification = 'touching is loud'\n"
REFUSED = 125


def run(home, command, *options, sandbox=UNCONFINED, **environment):
    """Runs a command where there is no terminal to ask on."""
    return subprocess.run(
        [home.scene.command[0], "run", "--sandbox=" + sandbox, *options, "--", *command],
        env={**home.environment(), **environment},
        cwd=home.project,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        start_new_session=True,
    )


def runs(home, command, *options, **more):
    """Returns the output of a command that runs without a word of execward."""
    done = run(home, command, *options, **more)
    equal((done.returncode, done.stderr), (0, ""), "status and stderr of %s" % command)
    return done.stdout


def refused(home, command, *options, **more):
    """Returns what was told about a command that does not run."""
    done = run(home, command, *options, **more)
    equal((done.returncode, done.stdout), (REFUSED, ""), "status and output of %s" % command)
    lines = done.stderr.splitlines()
    check(all(line.startswith("execward: ") for line in lines), done.stderr)
    check("the command was not run" in lines[0], done.stderr)
    return done.stderr


def files(home):
    return sorted(name for name in os.listdir(home.project) if not name.startswith("."))


# Rules


@test
def what_a_rule_forbids_does_not_run(scene):
    home = Home(scene)
    home.rules(BAN)
    for sandbox in (UNCONFINED, "workspace-write"):
        for command in (["touch", "a"], ["sh", "-c", "true && touch a"], ["env", "touch", "a"]):
            check("no touching" in refused(home, command, sandbox=sandbox), command)
    equal(files(home), [], "files")


@test
def a_project_bans_once_it_is_trusted(scene):
    home = trusted_ban(scene)
    check("no touching" in refused(home, ["touch", "a"]), "the reason")
    home.good_cli("project", "distrust", ".")
    runs(home, ["touch", "a"])


@test
def what_a_rule_would_ask_about_is_refused_without_a_terminal(scene):
    home = Home(scene)
    home.rules(ASKS)
    told = refused(home, ["touch", "a"])
    check("touching is loud" in told and "no terminal to ask on" in told, told)
    home.rules("")
    runs(home, ["touch", "a"])


@test
def a_file_of_rules_with_a_mistake_lets_only_harmless_commands_run(scene):
    home = Home(scene)
    home.rules("[[rule]]\nprefix = 'touch'\n")
    check("own.toml" in refused_with_warning(home, ["touch", "a"]), "the file")
    done = run(home, ["echo", "x"])
    equal((done.returncode, done.stdout), (0, "x\n"), "a harmless command")


def refused_with_warning(home, command):
    done = run(home, command)
    equal((done.returncode, done.stdout), (REFUSED, ""), "status and output")
    check(done.stderr.startswith("execward: warning: "), done.stderr)
    return done.stderr


# The policy


@test
def the_policy_of_the_settings_and_of_the_command_line_decide(scene):
    home = Home(scene)
    runs(home, ["touch", "a"])
    home.config("approval_policy = 'untrusted'\n")
    told = refused(home, ["touch", "b"])
    check("is not known to be harmless" in told and "--approval-policy=on-request" in told, told)
    runs(home, ["echo", "x"])
    runs(home, ["touch", "b"], "--approval-policy=on-request")
    check("never to ask" in refused(home, ["rm", "-rf", "a"], "--approval-policy=never"), "never")
    equal(files(home), ["a", "b"], "files")


@test
def what_is_dangerous_is_refused_without_a_terminal(scene):
    home = Home(scene)
    runs(home, ["touch", "a"])
    for sandbox in (UNCONFINED, "workspace-write"):
        told = refused(home, ["rm", "-rf", "a"], sandbox=sandbox)
        check("needs a person's approval" in told and "docs/rules.md" in told, told)
    home.rules("[[rule]]\nprefix = ['rm', '-rf']\ndecision = 'allow'\n")
    runs(home, ["rm", "-rf", "a"])
    equal(files(home), [], "files")


COMMANDS = (
    ["touch", "a"],
    ["rm", "-rf", "nothing"],
    ["git", "status"],
    ["sh", "-c", "touch a; rm -rf nothing"],
    ["sh", "-c", "for i in 1 2; do eval echo $i; done"],
    ["env", "A=1", "touch", "a"],
    ["bash", "-c", "true"],
    ["python3", "-c", "pass"],
    ["./script", "x"],
)


@test
def a_command_runs_exactly_if_a_server_would_not_ask(scene):
    home = Home(scene)
    home.file("project/script", "#!/bin/sh\n", 0o755)
    subprocess.run(["git", "init", "-q", home.project], check=True)
    home.rules("[[rule]]\nprefix = ['python3', '-c']\ndecision = 'prompt'\n")
    for policy in ("untrusted", "on-failure", "on-request"):
        server = exec_server(scene, home=home, policy=policy)
        for command in COMMANDS:
            done = run(home, command, "--approval-policy=" + policy)
            equal(done.returncode == REFUSED, is_asked(server, command),
                  "a question about %s with %s" % (command, policy))  # fmt: skip


@test
def what_is_granted_runs_without_a_terminal(scene):
    home = Home(scene)
    home.config("approval_policy = 'untrusted'\n")
    told = refused(home, ["touch", "a"])
    (way,) = re.findall(r"execward (approvals grant .*) allows it there", told)
    home.good_cli(*shlex.split(way), cwd=home.path)
    runs(home, ["touch", "a"])
    runs(home, ["touch", "a", "b"])
    row = home.audit()[-2]
    equal((row["event"], row["decidedBy"]), ("start", "grant"), "row")


# Questions


def at_terminal(home, command, *options, sandbox=UNCONFINED):
    """Runs a command with a terminal to ask on."""
    program = [home.scene.command[0], "run", "--sandbox=" + sandbox, *options, "--", *command]
    return Terminal(program, home.project, home.environment())


def asked(caller):
    """Waits for the question. Returns the words of its lines, by their first word."""
    told = caller.expect(rb"may this command run\?\r\n(.*)execward: your answer \([a-z/]+, then Enter\)\? ")
    text = told.group(1).decode().replace("\r\n" + " " * 13, "")  # long lines are wrapped
    lines = [line.split(None, 1) for line in text.splitlines()]
    return {name: value.strip() for name, value in lines}


@test
def a_question_shows_what_that_of_a_server_shows(scene):
    home = Home(scene)
    home.rules(ASKS)
    command = ["touch", "a b", "\x1b[2Jc"]
    with at_terminal(home, command) as caller:
        seen = asked(caller)
        caller.send(b"n\r")
        equal(caller.status(), REFUSED, "status")
        check(b"it was denied" in caller.seen, caller.seen)
    server = exec_server(scene, home=home)
    message_id = server.exec_later(command)
    question = server.question("a question")
    server.answer(question, "denied")
    server.error(message_id, kind="denied")
    display = question["display"]
    equal(seen["command"], display["command"], "command")
    equal(seen["program"], display["program"], "program")
    equal(seen["directory"], display["workdir"], "directory")
    equal(seen["reason"], display["reason"], "reason")
    equal(seen["sandbox"], question["sandbox"]["type"], "sandbox")
    choices = {(c["decision"], c.get("scope")): c["description"]
               for c in question["availableDecisions"]}  # fmt: skip
    equal(seen["y"], choices["approved", None], "once")
    equal(seen["p"], choices["approvedForSession", "project"], "in this project")
    equal(seen["a"], choices["approvedForSession", "always"], "always")
    equal(seen["n"], choices["denied", None], "not")
    equal(seen["d"], choices["denied", "always"], "never")
    equal(files(home), [], "files")


@test
def an_answer_counts_once_or_from_then_on_for_exactly_this(scene):
    home = Home(scene)
    home.rules(ASKS)
    for answer in (b"y", b"y", b"a"):
        with at_terminal(home, ["touch", "a"]) as caller:
            asked(caller)
            caller.send(answer + b"\r")
            equal(caller.status(), 0, "status after %r" % answer)
    runs(home, ["touch", "a"])
    refused(home, ["touch", "a", "b"])
    refused(home, ["touch", "a"], sandbox="workspace-write")
    server = exec_server(scene, home=home)
    check(not is_asked(server, ["touch", "a"]), "a server asks about what was allowed for ever")
    check(is_asked(server, ["touch", "b"]), "a server does not ask about something else")
    equal([row["event"] for row in home.audit()][:4], ["question", "decision", "start", "question"],
          "events")  # fmt: skip


@test
def an_answer_for_a_project_counts_in_it(scene):
    home = Home(scene)
    home.rules(ASKS)
    with at_terminal(home, ["touch", "a"]) as caller:
        asked(caller)
        caller.send(b"p\r")
        equal(caller.status(), 0, "status")
    runs(home, ["touch", "a"])
    other = os.path.join(home.path, "other")
    os.mkdir(other)
    refused(home, ["touch", "a"], "--directory=" + other)


@test
def what_a_server_may_always_run_runs(scene):
    home = Home(scene)
    home.rules(ASKS)
    server = exec_server(scene, home=home)
    message_id = server.exec_later(["touch", "a"])
    server.answer(server.question("a question"), "approvedForSession", scope="always")
    equal(server.result(message_id)["exitCode"], 0, "exit code")
    runs(home, ["touch", "a"])


@test
def what_a_server_is_never_to_ask_again_is_refused(scene):
    home = Home(scene)
    home.rules(ASKS)
    server = exec_server(scene, home=home)
    message_id = server.exec_later(["touch", "a"])
    server.answer(server.question("a question"), "denied", scope="always")
    server.error(message_id, kind="denied")
    check("denied it before" in refused(home, ["touch", "a"]), "the reason")
    with at_terminal(home, ["touch", "a"]) as caller:
        equal(caller.status(), REFUSED, "status")
        check(b"your answer" not in caller.seen, caller.seen)


@test
def a_denial_for_ever_counts_here_and_for_a_server(scene):
    home = Home(scene)
    home.rules(ASKS)
    with at_terminal(home, ["touch", "a"]) as caller:
        asked(caller)
        caller.send(b"d\r")
        equal(caller.status(), REFUSED, "status")
        check(b"it was denied, now and later" in caller.seen, caller.seen)
    check("denied it before" in refused(home, ["touch", "a"]), "the reason")
    server = exec_server(scene, home=home)
    check("denied it before" in denied(server, server.exec_later(["touch", "a"])), "the reason")
    check(is_asked(server, ["touch", "b"]), "a server does not ask about something else")
    (denial,) = server.approvals()
    equal((denial["kind"], denial["scope"]), ("denial", "always"), "what is listed")
    home.good_cli("approvals", "revoke", denial["id"])
    with at_terminal(home, ["touch", "a"]) as caller:
        asked(caller)
        caller.send(b"n\r")
        equal(caller.status(), REFUSED, "status")
    equal(files(home), [], "files")


@test
def other_answers_are_asked_again_and_the_end_of_the_input_denies(scene):
    home = Home(scene)
    home.rules(ASKS)
    with at_terminal(home, ["touch", "a"]) as caller:
        asked(caller)
        for answer in (b"", b"Y", b"yes", b"s"):
            caller.send(answer + b"\r")
            caller.expect(rb"your answer \(y/p/a/n/d, then Enter\)\? ")
        caller.send(b"\x04")
        equal(caller.status(), REFUSED, "status")
    with at_terminal(home, ["touch", "a"]) as caller:
        asked(caller)
        caller.send(b"\x03")
        equal(caller.status(), -2, "status after Ctrl-C")
    equal(files(home), [], "files")
    equal([row["event"] for row in home.audit()], ["question", "decision", "refusal", "question"],
          "events")  # fmt: skip


@test
def what_was_typed_before_a_question_does_not_answer_it(scene):
    home = Home(scene)
    home.rules(ASKS)
    command = [home.scene.command[0], "run", "--sandbox=" + UNCONFINED, "--", "touch", "a"]
    script = "echo ready; while [ ! -e go ]; do sleep 0.05; done; exec " + shlex.join(command)
    with Terminal(["/bin/sh", "-c", script], home.project, home.environment()) as caller:
        caller.expect(b"ready")
        caller.send(b"y\r")
        caller.expect(rb"y\r\n")
        home.file("project/go", "")
        asked(caller)
        caller.send(b"n\r")
        equal(caller.status(), REFUSED, "status")


@test
def one_question_at_a_time_is_open_on_a_terminal(scene):
    home = Home(scene)
    home.rules(ASKS)
    run_it = shlex.join([home.scene.command[0], "run", "--sandbox=" + UNCONFINED, "--", "touch"])
    script = "%s a & %s b & wait" % (run_it, run_it)
    # Without job control, both are in the foreground.
    with Terminal(["/bin/sh", "-c", script], home.project, home.environment()) as caller:
        both = rb"(?=.*another question is open)(?=.*command +(touch .)\r\n.*your answer)"
        first = caller.expect(both).group(1).decode()
        caller.seen = b""
        caller.send(b"y\r")
        second = asked(caller)["command"]
        caller.send(b"n\r")
        caller.status()
    equal({first, second}, {"touch a", "touch b"}, "questions")
    equal(files(home), [first[-1]], "files")


@test
def a_question_has_no_line_that_a_command_begins(scene):
    home = Home(scene)
    home.rules(ASKS)
    fake = "execward: may this command run?"
    scripts = ("touch a # " + " " * 3000 + fake, "touch a # " + fake * 40, "touch a # " + "\u6f22" * 300)
    for script in scripts:
        with at_terminal(home, ["bash", "-c", script]) as caller:
            told = caller.expect(rb"may this command run\?\r\n(.*)execward: your answer")
            caller.send(b"n\r")
            equal(caller.status(), REFUSED, "status")
        lines = told.group(1).decode().splitlines()
        width = max(len(line) + sum(ord(c) > 127 for c in line) for line in lines)
        check(width <= 100, "a line of %d columns" % width)
        check(all(line.startswith("  ") for line in lines), "lines %r" % lines)
        check(len(lines) < 40, "%d lines" % len(lines))
        check("touch a" in lines[0], lines[0])


@test
def a_terminal_that_was_left_raw_takes_an_answer(scene):
    home = Home(scene)
    home.rules(ASKS)
    run_it = shlex.join([home.scene.command[0], "run", "--sandbox=" + UNCONFINED, "--", "touch"])
    script = "stty raw -echo; %s a; echo done" % run_it
    with Terminal(["/bin/sh", "-c", script], home.project, home.environment()) as caller:
        asked(caller)
        caller.send(b"y\r")
        caller.expect(b"done")
        caller.status()
    equal(files(home), ["a"], "files")


@test
def a_question_goes_on_after_ctrl_z_and_waits_in_the_background(scene):
    home = Home(scene)
    home.rules(ASKS)
    shell = ["/bin/bash", "--norc", "--noprofile", "-i"]
    command = shlex.join([home.scene.command[0], "run", "--sandbox=" + UNCONFINED, "--", "touch"])
    with Terminal(shell, home.project, home.environment()) as caller:
        caller.send(b"PS1='%%'; %s a\r" % command.encode())
        asked(caller)
        caller.send(b"\x1a")
        caller.expect(rb"Stopped.*%")
        caller.send(b"fg\r")
        asked(caller)
        caller.send(b"y\r")
        caller.expect(b"%")
        caller.send(b"%s b & wait %%1; echo wa''ited\r" % command.encode())
        caller.expect(rb"waited\r\n")
        caller.send(b"fg\r")
        asked(caller)
        caller.send(b"y\r")
        caller.expect(b"%")
        caller.send(b"exit\r")
        caller.status()
    equal(files(home), ["a", "b"], "files")


@test
def a_question_leaves_the_input_to_the_command(scene):
    home = Home(scene)
    home.rules(ASKS.replace("touch", "tee"))
    command = "printf 'from the pipe' | %s run -- tee a" % shlex.quote(home.scene.command[0])
    with Terminal(["/bin/sh", "-c", command], home.project, home.environment()) as caller:
        asked(caller)
        caller.send(b"y\r")
        equal(caller.status(), 0, "status")
    equal(open(os.path.join(home.project, "a")).read(), "from the pipe", "what the command has read")


@test
def an_approved_command_gets_the_terminal(scene):
    home = Home(scene)
    home.rules(ASKS.replace("touch", "bash"))
    command = ["bash", "-c", "test -t 0 && echo terminal; read x; echo got $x"]
    with at_terminal(home, command, sandbox="workspace-write") as caller:
        asked(caller)
        caller.send(b"y\r")
        caller.expect(rb"terminal\r\n")
        caller.send(b"typed\r")
        caller.expect(rb"got typed\r\n")
        equal(caller.status(), 0, "status")


@test
def a_question_ends_with_its_time(scene):
    home = Home(scene)
    home.rules(ASKS)
    home.config("approval_timeout_ms = 300\n")
    with at_terminal(home, ["touch", "a"]) as caller:
        asked(caller)
        equal(caller.status(), REFUSED, "status")
        check(b"nobody answered" in caller.seen, caller.seen)


@test
def what_a_rule_forbids_is_not_asked_about(scene):
    home = Home(scene)
    home.rules(BAN)
    with at_terminal(home, ["touch", "a"]) as caller:
        equal(caller.status(), REFUSED, "status")
        check(b"no touching" in caller.seen and b"your answer" not in caller.seen, caller.seen)


# The environment


@test
def secrets_are_withheld_by_the_setting_of_commands(scene):
    home = Home(scene)
    show = ["sh", "-c", "echo $A_TOKEN,$PLAIN,$TERM,$LC_ALL,$SET; true >file"]
    variables = {"A_TOKEN": "secret", "PLAIN": "p", "TERM": "xterm", "LC_ALL": "C"}
    done = run(home, show, **variables)
    equal(done.stdout, ",p,xterm,C,\n", "usual")
    check("withheld" in done.stderr and "A_TOKEN" in done.stderr, done.stderr)
    equal(runs(home, show, "--quiet", **variables), ",p,xterm,C,\n", "quietly")
    home.config("[environment]\ndefault_excludes = false\nexclude = ['PL*']\nset = { SET = 's' }\n")
    for sandbox in (UNCONFINED, "read-only"):
        done = run(home, show, sandbox=sandbox, **variables)
        equal(done.stdout, "secret,,xterm,C,s\n", "with settings")


@test
def what_runs_only_because_it_is_harmless_gets_few_variables(scene):
    home = Home(scene)
    show = ["cat", "/proc/self/environ"]
    variables = {"PLAIN": "p", "TERM": "xterm"}
    check({"PLAIN=p", "TERM=xterm"} <= set(runs(home, show, **variables).split("\0")), "usual")
    given = runs(home, show, "--approval-policy=untrusted", **variables).split("\0")
    check("PLAIN=p" not in given and {"TERM=xterm", "GIT_PAGER=cat"} <= set(given), given)


# The audit


def rows(home):
    """Returns event, decision and source of each row; all rows have the same session."""
    audit = home.audit()
    equal(len({row["session"] for row in audit}), 1, "sessions")
    equal({row["call"] for row in audit}, {"run"}, "calls")
    return [(row["event"], row.get("decision"), row.get("decidedBy")) for row in audit]


@test
def the_audit_has_the_start_and_the_end(scene):
    home = Home(scene)
    equal(run(home, ["sh", "-c", "eval exit 7"], sandbox="read-only").returncode, 7, "status")
    equal(rows(home), [("start", "allow", "policy"), ("exit", "7", None)], "rows")
    start, end = home.audit()
    equal(start["argv"], ["sh", "-c", "eval exit 7"], "argv")
    equal(start["directory"], home.project, "directory")
    check("sandbox: linuxSeccomp" in start["detail"], start)
    check("sandbox: linuxSeccomp" in end["detail"], end)


@test
def the_audit_has_the_start_before_an_unconfined_command_takes_over(scene):
    home = Home(scene)
    done = run(home, [scene.command[0], "audit", "tail"])
    check("start" in done.stdout, done.stdout + done.stderr)


@test
def the_audit_has_refusals_denials_and_failures(scene):
    for name, command, options, expected in (
        ("refusal", ["rm", "-rf", "a"], [], [("refusal", "prompt", "policy")]),
        ("denial", ["bash", "-c", "exec 3<>/dev/tcp/192.0.2.1/9"], ["--quiet"],
         [("start", "allow", "policy"), ("denial", "1", "sandbox"), ("exit", "1", None)]),
        ("failure", ["./text"], [], [("start", "allow", "policy"), ("failure", "allow", "policy")]),
    ):  # fmt: skip
        home = Home(scene, name)
        home.file("project/text", "#!/no/such/interpreter\n", 0o755)
        run(home, command, *options, sandbox="workspace-write")
        equal(rows(home), expected, "rows of a " + name)


@test
def without_a_database_it_warns_and_goes_on(scene):
    home = Home(scene)
    home.file("state", "no directory")
    done = run(home, ["touch", "a"])
    equal(done.returncode, 0, done.stderr)
    equal(len(re.findall("execward: warning: the database", done.stderr)), 1, done.stderr)
    equal(runs(home, ["touch", "a"], "--quiet"), "", "output with --quiet")
    home.rules(BAN)
    done = run(home, ["touch", "b"], "--quiet")
    check(done.returncode == REFUSED and "no touching" in done.stderr, done.stderr)


@test
def without_a_home_it_warns_and_makes_none(scene):
    home = Home(scene)
    missing = scene.path("missing")
    gone = {"HOME": missing, "XDG_STATE_HOME": "", "XDG_CONFIG_HOME": ""}
    done = run(home, ["touch", "a"], **gone)
    equal(done.returncode, 0, done.stderr)
    check("there is no audit" in done.stderr and "XDG_STATE_HOME" in done.stderr, done.stderr)
    runs(home, ["touch", "a"], EXECWARD_DATABASE=":memory:", **gone)
    check(not os.path.exists(missing), "the home was made")


if __name__ == "__main__":
    main()

"""execward policy suggest: rules found in what a person allowed again and again."""

import os
import re
import sys
import tomllib

sys.path.insert(0, os.path.abspath(__file__ + "/../../.."))
from support.audits import Desk
from support.client import check, equal
from support.runner import main, test
from support.terminals import Terminal


def allowed(desk, *commands, times=2):
    """Returns rows of commands that a person allowed, each so many times."""
    return [row for argv in commands for _ in range(times) for row in desk.command_rows(list(argv), "approved")]


def rules(text):
    return tomllib.loads(text).get("rule", [])


def prefixes(text):
    return [rule["prefix"] for rule in rules(text)]


@test
def a_rule_is_suggested_with_all_that_it_would_newly_allow(scene):
    desk = Desk(scene)
    desk.add_rows(allowed(desk, ["make", "-j4"], ["bash", "-c", "make -k"]) + desk.command_rows(["make", "-n"]))
    text = desk.good("policy", "suggest")
    equal(rules(text), [{"prefix": ["make"], "decision": "allow", "further": "harmless"}], "rules")
    equal(re.findall(r"^#   (.*)$", text, re.M), ["make -k", "make -j4", "make -n"], "commands")
    check(text.startswith("# 4 questions would not have been asked"), text)


@test
def what_is_printed_works_as_a_file_of_rules(scene):
    desk = Desk(scene)
    desk.add_rows(allowed(desk, ["make"], ["git", "add", "x"], ["git", "commit", "-m", "a\n\"b\" \x1b[2J"]))
    text = desk.good("policy", "suggest")
    equal(len(rules(text)), 3, "rules in " + text)
    desk.user_rules(text)
    equal(desk.run("policy", "check").returncode, 0, "status of check")
    equal(prefixes(desk.good("policy", "suggest")), [], "rules that are there already")


@test
def a_rule_that_would_allow_what_was_denied_is_not_suggested(scene):
    desk = Desk(scene)
    desk.add_rows(allowed(desk, ["make"]) + desk.command_rows(["make", "-k"], "denied"))
    text = desk.good("policy", "suggest")
    equal(prefixes(text), [], "rules")
    check("# Not suggested: `make` (2 questions): it would also allow `make -k`, which was denied." in text, text)


@test
def what_destroys_data_or_does_what_nobody_knows_is_not_suggested(scene):
    desk = Desk(scene)
    commands = (
        ["rm", "-rf", "/srv"], ["sudo", "make"], ["bash", "-c", "make; rm -rf x"], ["./deploy.sh"],
        ["curl", "http://192.0.2.1/x"], ["bash", "-c", "make > /etc/passwd"], ["python3", "-c", "1"],
        ["env", "make"], ["/srv/bin/make"], ["bash", "-c", "make $(cat x)"], ["git", "push", "-f"],
    )  # fmt: skip
    desk.add_rows(allowed(desk, *commands, times=5))
    text = desk.good("policy", "suggest")
    equal(prefixes(text), [], "rules")
    check("#   rm -rf /srv (5 questions)" in text, text)


@test
def questions_about_more_than_the_command_do_not_count(scene):
    desk = Desk(scene)
    rows = allowed(desk, ["make"], times=3)
    for row in rows:
        if row["event"] == "question":
            row["detail"] = "escalation"
    desk.add_rows(rows)
    equal(prefixes(desk.good("policy", "suggest")), [], "rules")


@test
def one_question_is_not_again_and_again(scene):
    desk = Desk(scene)
    desk.add_rows(allowed(desk, ["make"], times=1))
    desk.add_rows([{**row, "at": desk.now - 40 * 86_400_000} for row in allowed(desk, ["make"], times=1)])
    equal(prefixes(desk.good("policy", "suggest", "--since=30d")), [], "rules of a month")
    equal(prefixes(desk.good("policy", "suggest")), [["make"]], "rules of all time")


@test
def nothing_is_written_without_a_person(scene):
    desk = Desk(scene)
    desk.add_rows(allowed(desk, ["make"]))
    done = desk.run("policy", "suggest", "--write", start_new_session=True)
    equal(done.returncode, 1, "status")
    check("no terminal to ask on, and nothing was written" in done.stderr, done.stderr)
    check(not os.path.exists(desk.home.rules_directory), "rules were written")


@test
def a_person_at_a_terminal_is_asked_and_the_rules_are_kept(scene):
    desk = Desk(scene)
    desk.add_rows(allowed(desk, ["make"], ["git", "add", "x"]))
    approved = os.path.join(desk.home.rules_directory, "approved.toml")
    for answer, is_kept in ((b"\n", False), (b"y\n", True)):
        with Terminal(
            [desk.program, "policy", "suggest", "--write"], desk.project, desk.home.environment()
        ) as terminal:
            terminal.expect(rb"\[y/N\] ")
            terminal.send(answer)
            equal(terminal.status(), 0 if is_kept else 1, "status")
        equal(os.path.exists(approved), is_kept, "a file of rules")
    with open(approved, encoding="utf-8") as file:
        equal(prefixes(file.read()), [["git", "add"], ["make"]], "rules")
    check("suggested, 2 questions before" in desk.good("approvals", "list"), "the list of approvals")
    check("by command line" in desk.good("audit", "tail"), "the audit")


main()

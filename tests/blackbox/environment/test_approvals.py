"""Approvals and rules for commands in an environment: the commands and places that they hold for."""

import os
import sys

sys.path.insert(0, os.path.abspath(__file__ + "/../../.."))
from support.client import check, equal
from support.exec import SESSION, Home, denied, is_asked, ran
from support.peer import Peer, completed, later, names_the_box, server_with
from support.runner import main, test

BASH = {"name": "bash", "path": "/bin/bash"}


# Approvals


def asking(scene, **options):
    """Yields a server that asks, and an environment in which all names are the same as here."""
    home = Home(scene)
    there = Peer(scene, cwd=home.project, shell=BASH)
    return server_with(scene, there, home=home, policy="untrusted", **options), there


def asks(server, what, answer="denied", **params):
    """Checks that the call is a question. Returns the question and the id of the call."""
    message_id = server.exec_later(what, **params)
    question = server.question_about(message_id)
    check(question, "no question about %s %s" % (what, params))
    server.answer(question, answer)
    return question, message_id


def runs_unasked(server, what, **params):
    before = len(server.questions)
    completed(server.exec(what, **params))
    equal(len(server.questions), before, "questions about %s %s" % (what, params))


@test
def a_question_names_the_environment_and_nothing_runs_before_the_answer(scene):
    server, there = asking(scene)
    message_id = server.exec_later("touch made", environment="box")
    question = server.question()
    equal(question["environment"], "box", "environment")
    equal(question["workdir"], server.home.project, "workdir")
    check(names_the_box(question["display"]), "the person is not told where")
    equal(there.sent("process/start"), [], "starts")
    server.answer(question, "approved")
    ran(server, message_id)
    check(os.path.exists(server.home.project + "/made"), "it did not run")


@test
def a_question_about_this_machine_names_no_environment(scene):
    server, _ = asking(scene)
    question, message_id = asks(server, "touch made")
    check("environment" not in question.params, "an environment of this machine")
    denied(server, message_id)


@test
def what_is_denied_is_not_started_there(scene):
    server, there = asking(scene)
    _, message_id = asks(server, "touch made", environment="box")
    denied(server, message_id)
    equal(there.sent("process/start"), [], "starts")
    equal(server.events, [], "events")


@test
def a_rule_forbids_there_too(scene):
    home = Home(scene)
    home.rules('[[rule]]\nprefix = ["touch"]\ndecision = "forbidden"\n')
    there = Peer(scene)
    server = server_with(scene, there, home=home)
    denied(server, server.exec_later("touch made", environment="box"))
    equal(there.sent("process/start"), [], "starts")


@test
def a_client_that_cannot_ask_is_refused_there_too(scene):
    there = Peer(scene)
    server = server_with(scene, there, policy="untrusted", approvals=False)
    denied(server, server.exec_later("touch made", environment="box"))
    equal(there.sent("process/start"), [], "starts")


@test
def nothing_there_is_known_to_be_harmless(scene):
    server, _ = asking(scene)
    runs_unasked(server, ["ls"])
    _, message_id = asks(server, ["ls"], environment="box")
    denied(server, message_id)


@test
def an_approval_for_this_machine_does_not_count_there(scene):
    server, _ = asking(scene)
    _, message_id = asks(server, "touch made", SESSION)
    ran(server, message_id)
    runs_unasked(server, "touch made")
    _, message_id = asks(server, "touch made", environment="box")
    denied(server, message_id)


@test
def an_approval_for_an_environment_counts_there_alone(scene):
    home = Home(scene)
    boxes = [Peer(scene, name, cwd=home.project, shell=BASH) for name in ("box", "other")]
    server = server_with(scene, *boxes, home=home, policy="untrusted")
    _, message_id = asks(server, "touch made", SESSION, environment="box")
    ran(server, message_id)
    runs_unasked(server, "touch made", environment="box")
    for params in ({}, {"environment": "other"}):
        _, message_id = asks(server, "touch made", **params)
        denied(server, message_id)


@test
def the_same_question_about_two_places_is_two_questions(scene):
    server, _ = asking(scene)
    ids = [server.exec_later("touch made"), server.exec_later("touch made", environment="box")]
    questions = [server.question() for _ in ids]
    places = {question.params.get("environment") for question in questions}
    equal(places, {None, "box"}, "environments")
    for question in questions:
        server.answer(question, "denied")
    for message_id in ids:
        denied(server, message_id)


@test
def the_audit_here_tells_of_commands_there(scene):
    server, _ = asking(scene)
    _, message_id = asks(server, "touch made", "approved", environment="box")
    ran(server, message_id)
    _, message_id = asks(server, "touch other", environment="box")
    denied(server, message_id)
    equal(server.end(), 0, "exit status")
    rows = server.home.audit()
    events = [row["event"] for row in rows]
    expected = ["question", "decision", "start", "exit", "question", "decision", "refusal"]
    equal(sorted(events), sorted(expected), "events")
    for row in rows:
        if row["event"] in ("start", "decision"):
            check(names_the_box(row), "a row that does not tell where: %s" % row)


@test
def a_rule_counts_in_scripts_of_the_shell_there_and_of_no_other(scene):
    home = Home(scene)
    home.rules('[[rule]]\nprefix = ["touch", "made"]\ndecision = "allow"\n')
    there = Peer(scene, cwd=home.project, shell=BASH)
    server = server_with(scene, there, home=home, policy="untrusted")
    asked = {
        what: is_asked(server, what, environment="box", **params)
        for what, params in (
            ("touch made", {}),
            ("touch made ", {"shell": "/bin/sh"}),
            ("touch made && ls", {}),
            ("ls", {}),
        )
    }
    expected = {"touch made": False, "touch made ": True, "touch made && ls": True, "ls": True}
    equal(asked, expected, "what was asked about")


@test
def approvals_and_the_audit_name_the_environment(scene):
    home = Home(scene)
    there = Peer(scene, cwd=home.project, shell=BASH)
    server = server_with(scene, there, home=home, policy="untrusted")
    message_id = later(server, "touch made")
    server.answer(server.question(), "approvedForSession")
    ran(server, message_id)
    approvals = server.approvals()
    equal(len(approvals), 1, "approvals")
    check(names_the_box(approvals[0]), "where? %s" % approvals)
    other = later(server, "touch other", "d")
    server.answer(server.question(), "denied")
    denied(server, other)
    equal(server.end(), 0, "exit status")
    rows = [row for row in home.audit() if row["event"] in ("start", "exit", "decision")]
    equal(len(rows), 4, "rows")
    for row in rows:
        check(names_the_box(row), "where? %s" % row)


if __name__ == "__main__":
    main()

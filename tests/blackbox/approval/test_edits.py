"""Answers with another command: it is judged anew, and runs in place of the first one."""

import os
import sys

sys.path.insert(0, os.path.abspath(__file__ + "/../../.."))
from support.client import check, equal
from support.exec import denied, exists, ran, untrusting
from support.runner import main, test

FORBIDDEN = '[[rule]]\nprefix = ["rm"]\ndecision = "forbidden"\njustification = "keep it"\n'


def edit(server, what, *edits, **params):
    """Starts a call and answers its questions with these commands. Returns the id of the call."""
    message_id = server.exec_later(what, **params)
    for one in edits:
        member = "command" if isinstance(one, str) else "argv"
        server.answer(server.question(), "edited", **{member: one})
    return message_id


@test
def a_harmless_command_runs_in_place_of_the_first(scene):
    server = untrusting(scene)
    message_id = edit(server, "touch made", "echo instead")
    result = server.result(message_id)
    equal((result["output"], result["exitCode"]), ("instead\n", 0), "result")
    equal(
        (result["edited"]["from"][-1], result["edited"]["to"][-1]),
        ("touch made", "echo instead"),
        "both commands",
    )
    begin = server.program_of_call(str(message_id)).begin
    equal((begin["argv"][-1], begin["decidedBy"]), ("echo instead", "safe list"), "begin")
    check(not exists(server, "made"), "the first command ran")


@test
def an_edited_command_can_be_words(scene):
    server = untrusting(scene)
    result = server.result(edit(server, ["touch", "made"], ["echo", "a  b"]))
    equal((result["output"], result["edited"]["to"]), ("a  b\n", ["echo", "a  b"]), "result")
    check(not exists(server, "made"), "the first command ran")


@test
def a_model_is_told_of_the_edit(scene):
    server = untrusting(scene)
    result = server.result(edit(server, "touch made", "echo instead", format="model"))
    check("Note: a person edited the command, and " in result["text"], result["text"])


@test
def an_unknown_command_is_asked_about_anew(scene):
    server = untrusting(scene)
    message_id = edit(server, "touch made", "touch other")
    question = server.question()
    equal((question["callId"], question["argv"][-1]), (str(message_id), "touch other"), "question")
    check(any("touch made" in note for note in question["display"]["notes"]), "no note of the edit")
    check(not exists(server, "other"), "it did not wait")
    server.answer(question, "approved")
    ran(server, message_id)
    check(exists(server, "other") and not exists(server, "made"), "another command ran")


@test
def what_is_remembered_is_the_edited_command(scene):
    server = untrusting(scene)
    message_id = edit(server, "touch made", "touch other")
    server.answer(server.question(), "approvedForSession", scope="always")
    ran(server, message_id)
    equal([info["command"].split()[-1] for info in server.approvals()], ["other"], "approvals")


@test
def a_forbidden_command_is_refused(scene):
    server = untrusting(scene)
    server.home.rules(FORBIDDEN)
    message = denied(server, edit(server, "touch made", "rm -rf ."))
    for part in ("keep it", "a person edited the command", "rm -rf .", "touch made"):
        check(part in message, message)
    check(not exists(server, "made"), "the first command ran")


@test
def a_program_that_does_not_exist_is_told(scene):
    server = untrusting(scene)
    message_id = edit(server, "touch made", ["no-such-program"])
    message = server.error(message_id)["message"]
    check("no-such-program" in message and "edited" in message, message)
    check(not exists(server, "made"), "the first command ran")


@test
def the_number_of_edits_is_bounded(scene):
    server = untrusting(scene)
    message_id = edit(server, "touch made", *["touch made-%d" % number for number in range(4)])
    question = server.question()
    check(("edited", None) not in question.offers(), "a fifth edit is offered")
    server.answer(question, "edited", command="echo fifth")
    denied(server, message_id)
    check(not exists(server, "made-3"), "it ran")


@test
def an_edit_holds_for_every_call_of_the_question(scene):
    server = untrusting(scene)
    first = server.exec_later("touch made")
    question = server.question()
    second = server.exec_later("touch made")
    server.answers()
    server.answer(question, "edited", command="echo instead")
    equal([ran(server, one) for one in (first, second)], ["instead\n"] * 2, "outputs")


@test
def the_audit_tells_both_commands(scene):
    server = untrusting(scene)
    ran(server, edit(server, "touch made", "echo instead"))
    equal(server.end(), 0, "exit status")
    rows = server.home.audit()
    told = [row for row in rows if row["decision"] == "edited"]
    equal(len(told), 1, "decisions")
    check("touch made" in str(told[0]["argv"]) and "echo instead" in told[0]["detail"], told)
    check(any("echo instead" in str(row["argv"]) for row in rows if row["event"] == "start"), rows)


if __name__ == "__main__":
    main()

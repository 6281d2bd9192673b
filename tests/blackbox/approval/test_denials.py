"""Denials that are remembered: how far they reach, how they are shown, and how they end."""

import os
import sys

sys.path.insert(0, os.path.abspath(__file__ + "/../../.."))
from support.client import check, equal
from support.exec import (
    NOWHERE,
    approve,
    asks,
    decision,
    denied,
    exec_server,
    exists,
    runs_unasked,
    untrusting,
)
from support.runner import main, test


def deny(server, what, scope, **members):
    """Denies the question about this call for more than once."""
    message_id = server.exec_later(what)
    server.answer(server.question(), "denied", scope=scope, **members)
    return denied(server, message_id)


def refused(server, what, **params):
    """Checks that the call is refused without a question. Returns the error."""
    before = len(server.questions)
    error = server.error(server.exec_later(what, **params), kind="denied")
    equal(len(server.questions), before, "questions about %s" % what)
    return error


def only_denial(server):
    (info,) = server.approvals()
    equal(info["kind"], "denial", "kind")
    return info


@test
def a_denial_for_the_session_is_not_asked_about_again(scene):
    server = untrusting(scene)
    os.makedirs(server.home.project + "/sub")
    deny(server, "touch made", "session", reason="not on a Friday")
    info = only_denial(server)
    for params in ({}, {"workdir": "sub"}):
        error = refused(server, "touch made", **params)
        check("denied it before" in error["message"], error)
        check("denial " + info["id"] in error["message"], error)
        check("not on a Friday" in error["message"], error)
        check("execward approvals revoke " + info["id"] in error["data"]["hint"], error)
    equal((info["scope"], info["command"].endswith("touch made")), ("session", True), "info")
    equal(server.approvals()[0]["uses"], 2, "uses")
    check(not exists(server, "made"), "it ran")
    asks(server, "touch made other")
    asks(untrusting(scene, home=server.home), "touch made")


@test
def a_denial_for_ever_counts_in_other_sessions(scene):
    server = untrusting(scene)
    deny(server, "touch made", "always")
    other = untrusting(scene, home=server.home)
    refused(other, "touch made")
    equal(decision(other, "touch made"), "forbidden", "what policy/explain says")
    check(not exists(server, "made"), "it ran")


@test
def a_denial_without_a_scope_is_not_remembered(scene):
    server = untrusting(scene)
    asks(server, "touch made")
    asks(server, "touch made")
    equal(server.approvals(), [], "approvals")


@test
def a_denial_can_expire(scene):
    server = untrusting(scene)
    deny(server, "touch made", "always", expiresInMs=0)
    asks(server, "touch made")


@test
def a_denial_is_stronger_than_a_rule_that_allows(scene):
    server = untrusting(scene)
    deny(server, "touch made", "always")
    server.home.rules('[[rule]]\nprefix = ["touch"]\ndecision = "allow"\n')
    runs_unasked(server, "touch other")
    refused(server, "touch made")
    check(not exists(server, "made"), "it ran")


@test
def a_denial_is_listed_and_withdrawn_like_an_approval(scene):
    server = untrusting(scene)
    deny(server, "touch made", "always")
    home, number = server.home, only_denial(server)["id"]
    check("refused: " in home.good_cli("approvals", "list"), home.good_cli("approvals", "list"))
    refused(server, "touch made")
    equal(home.good_cli("approvals", "revoke", number), "1 revoked\n", "answer")
    asks(server, "touch made")
    deny(server, "touch made", "session")
    equal(server.call("approvals/revoke", {"everything": True}), {"revoked": 1}, "answer")
    asks(server, "touch made")


@test
def a_second_attempt_can_be_denied_for_the_session(scene):
    server = exec_server(scene, policy="on-failure", sandbox="workspace-write")
    script = "echo kept; %s; exit 77" % NOWHERE
    message_id = server.exec_later(script)
    question = server.question()
    equal(question["kind"], "retry", "kind")
    server.answer(question, "denied", scope="session")
    equal(server.result(message_id)["exitCode"], 77, "exit code")
    (asked,) = [line for line in server.home.good_cli("audit", "tail").splitlines() if " question " in line]
    check("after a denial by the sandbox" in asked and " allow " not in asked, asked)
    number = only_denial(server)["id"]
    check("outside the sandbox" in only_denial(server)["reason"], server.approvals())
    before = len(server.questions)
    result = server.exec(script)
    equal((result["exitCode"], result["output"]), (77, "kept\n"), "result")
    check("execward approvals revoke " + number in result["notice"], result["notice"])
    refused(server, script, sandboxPermissions="requireEscalated")
    equal(len(server.questions), before, "questions")
    server.call("approvals/revoke", {"id": number})
    message_id = server.exec_later(script)
    server.answer(server.question(), "denied")
    server.result(message_id)


@test
def a_denied_escalation_is_stronger_than_an_approved_one(scene):
    server = exec_server(scene, policy="on-request", sandbox="workspace-write")
    outside = {"sandboxPermissions": "requireEscalated", "justification": "test"}
    approve(server, "touch made", "approvedForSession", {"scope": "directory"}, **outside)
    os.makedirs(server.home.project + "/sub")
    message_id = server.exec_later("touch made", workdir="sub", **outside)
    server.answer(server.question(), "denied", scope="session")
    denied(server, message_id)
    refused(server, "touch made", **outside)
    runs_unasked(server, "touch made")


@test
def the_audit_tells_of_a_denial(scene):
    server = untrusting(scene)
    deny(server, "touch made", "always")
    name = "denial " + only_denial(server)["id"]
    refused(server, "touch made")
    server.call("approvals/revoke", {"everything": True})
    equal(server.end(), 0, "exit status")
    told = [(row["event"], row.get("rule"), row.get("decidedBy")) for row in server.home.audit()]
    check(("decision", name, "client") in told, told)
    check(("refusal", name, "denial") in told, told)
    check(("revocation", name, "client") in told, told)


if __name__ == "__main__":
    main()

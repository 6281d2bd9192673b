"""Texts from an environment cannot hide anything that a person must see."""

import os
import sys

sys.path.insert(0, os.path.abspath(__file__ + "/../../.."))
from support.client import check, equal
from support.peer import Peer, confining, entry_of, failed, fake, fate, is_ended_and_failed, later
from support.runner import main, test

RAW = "a\x1b[2Jb\u202ec\nd\x07e"


def nothing_raw(value, what):
    """Checks that no text in the value can move a cursor, reverse a line or begin a new one."""
    if isinstance(value, dict):
        value = [*value.keys(), *value.values()]
    if isinstance(value, list):
        for part in value:
            nothing_raw(part, what)
    elif isinstance(value, str):
        bad = [c for c in value if ord(c) < 32 or c in "\x7f\u202e"]
        equal(bad, [], "characters in %r of %s" % (value, what))


def texts_are_shown(text):
    nothing_raw(text, "a text of the other side")
    check("\\x1b" in text and "u{202e}" in text, "it is not told what was there: %r" % text)


# Texts of the other side


def audit_is_clean(server):
    equal(server.end(), 0, "exit status")
    nothing_raw(server.home.audit(), "the audit")


@test
def what_was_denied_there_cannot_hide_anything_in_a_question(scene):
    denial = {"kind": "file", "operation": RAW, "target": "/etc/" + RAW, "count": 1}
    denial.update(allow=RAW, rule=RAW)
    said = {"sandboxDenied": True, "denials": [denial], "denialCount": 1, "sandboxHint": RAW}
    play = [["stdout", "no\n"], ["exited", 1, said], ["closed"]]
    there = Peer(scene, dialect="execward", play=play)
    server = confining(scene, there)
    message_id = later(server, ["prog"])
    question = server.question_about(message_id)
    check(question, "no question")
    notes = question["display"]["notes"]
    texts_are_shown(" ".join(notes))
    nothing_raw(question["display"], "the question")
    server.answer(question, "denied")
    result = server.reply(message_id)
    nothing_raw(result.get("result", {}).get("sandboxHint"), "the hint")
    nothing_raw(result.get("result", {}).get("denials"), "the denials")
    server.wait_end_of_call("c")
    audit_is_clean(server)


@test
def what_is_missing_there_cannot_hide_anything(scene):
    texts_are_shown(is_ended_and_failed(scene, dialect="execward", missing=[RAW]))


@test
def errors_from_there_cannot_hide_anything(scene):
    error = {"code": -32603, "message": RAW}
    error["data"] = {"kind": "spawnFailed", "hint": RAW, "path": RAW}
    fates = [fate("process/start", "error", error=error, **{"from": 2, "to": 2})]
    fates += [fate(method, "error", error=error) for method in ("process/signal", "process/resize")]
    server, _ = fake(scene, "execward", fates=fates)
    process_id = server.left_running(["cat"], environment="box", tty=True)
    failure = server.exec(["prog"], environment="box")["failure"]
    texts_are_shown(failure["message"])
    nothing_raw(failure, "the failure")
    size = {"rows": 30, "cols": 90}
    for method, more in (("exec/signal", {"signal": "usr1"}), ("exec/resize", {"size": size})):
        refusal = server.refused(method, {"processId": process_id, **more})
        texts_are_shown(refusal["message"])
        nothing_raw(refusal["data"], "the error of " + method)
    server.call("exec/terminate", {"processId": process_id})
    server.wait_end(process_id)
    audit_is_clean(server)


@test
def a_refused_greeting_cannot_hide_anything(scene):
    error = {"code": -32000, "message": RAW}
    server, _ = fake(scene, fates=[fate("initialize", "error", error=error)])
    texts_are_shown(failed(server.result(later(server, "true")), "environmentUnavailable"))
    texts_are_shown(entry_of(server, "box")["failure"])


if __name__ == "__main__":
    main()

"""What once went wrong with environments, each in the form in which it was found."""

import json
import os
import re
import resource
import signal
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from support.client import check, equal, eventually, is_alive, within
from support.exec import Home, denied, is_asked, ran
from support.peer import (
    LONG,
    QUICK,
    Execward,
    Peer,
    answered_in_bounds,
    completed,
    entry_of,
    failed,
    fake,
    fate,
    later,
    rests,
    running,
    server_with,
    token,
    underway,
    wait_gone,
    wait_state,
)
from support.runner import main, test

PIECE = 49152
ANSWER = 5  # seconds for which an answer is waited
BASH = {"name": "bash", "path": "/bin/bash"}
RAW = "a\x1b[2Jb\u202ec\nd\x07e"
BEST_EFFORT = 'confinement.enforcement = "best-effort"\n'


def works_here(server):
    equal(server.output_of("echo here"), "here\n", "on this machine")


def works(server, starts=None, there=None):
    result = server.exec(["/bin/echo", "on"], environment="box")
    equal(completed(result), "on\n", "the next call")
    equal(entry_of(server, "box")["state"], "ready", "state")
    if there:
        equal(len(there.begun()), starts, "starts of the environment")


def works_again(server, there):
    there.tell()
    works(server, 2, there)


def names_the_box(value):
    """As a word: directories of tests have it within one."""
    return re.search(r"\bbox\b", json.dumps(value))


def nothing_raw(value, what):
    """No text in it can move a cursor, turn a line round or begin a new one."""
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


# Starts of the program that leads there


@test
def a_start_that_fails_at_once_ends_nothing_but_the_call(scene):
    there = Peer(scene)
    server = server_with(scene, there, prepare=os.setpgrp)  # it once ended its whole group
    works_here(server)
    soft, hard = resource.prlimit(server.worker(), resource.RLIMIT_NOFILE)
    resource.prlimit(server.worker(), resource.RLIMIT_NOFILE, (3, hard))
    failed(server.result(later(server, "true")), "environmentUnavailable")
    equal(entry_of(server, "box")["state"], "failed", "state")
    resource.prlimit(server.worker(), resource.RLIMIT_NOFILE, (soft, hard))
    works_here(server)
    works(server, 1, there)


@test
def news_of_a_failed_start_are_not_for_who_comes_after_it(scene):
    server, there = fake(scene, fates=[fate("initialize", "hang")])
    first = later(server, "true", "a")
    there.wait_fate()
    there.tell()
    os.kill(server.worker(), signal.SIGSTOP)
    there.kill()
    eventually(lambda: not is_alive(there.begun()[0]), "the end of its program")
    second = later(server, ["/bin/echo", "on"], "b")
    os.kill(server.worker(), signal.SIGCONT)
    failed(server.result(first), "environmentUnavailable")
    equal(completed(server.result(second)), "on\n", "the call that came after the loss")


@test
def variables_of_execward_are_not_for_the_program_that_leads_there(scene):
    there = Peer(scene)
    server = server_with(scene, there, env={"EXECWARD_UNHEARD_OF": "x", "OTHER": "y"})
    completed(server.exec("true", environment="box"))
    (begun,) = [note for note in there.log() if "begun" in note]
    equal(begun["environment"].get("OTHER"), "y", "a variable of the server")
    names = [name for name in begun["environment"] if name.startswith("EXECWARD_")]
    equal(names, [], "variables of execward")


# A gap at the end


def gap_at_the_end(scene, play, pieces):
    """The first piece does not come, and after so many others the other side is gone."""
    last = fate("output", "exit", **{"from": pieces})
    return fake(scene, play=play, withheld=[1], fates=[last])


@test(alone=True)
def a_gap_that_nobody_can_fill_any_more_is_left_out(scene):
    play = [["stdout", "one\n"], ["stdout", "two\n"]]
    server, _ = gap_at_the_end(scene, play, 1)
    result = server.result(later(server, ["prog"]))
    failed(result, "environmentLost")
    equal(result["output"], "two\n", "output")
    end = server.wait_end_of_call("c").end
    equal((end["failure"]["kind"], end["stdout"]), ("environmentLost", "two\n"), "exec/end")
    server.warning("outputLost")
    server.wait_idle()
    before = server.busy_seconds()
    time.sleep(1)
    used = server.busy_seconds() - before
    check(used < within(0.2), "%.3f s of CPU in an idle second" % used)


@test
def what_waits_behind_such_a_gap_comes_however_slowly_it_is_read(scene):
    pieces = 56
    play = [["stdout", "x" * PIECE] for _ in range(pieces + 1)]
    server, there = gap_at_the_end(scene, play, pieces)
    works_here(server)
    server.stop_reading()
    message_id = later(server, ["prog"])
    there.wait_fate()
    eventually(lambda: not running(there.script_path), "the end of its program")
    server.wait_idle()
    server.resume_reading()
    failed(server.result(message_id), "environmentLost")
    program = server.wait_end_of_call("c")
    equal(program.size, pieces * PIECE, "size of the output")
    equal(program.end["failure"]["kind"], "environmentLost", "exec/end")
    server.warning("outputLost")


# What hangs, and what does not listen


@test(alone=True)
def one_that_asks_and_does_not_read_is_lost(scene):
    there = Peer(scene, fates=[fate("initialized", "ask", size=4096)])
    server = server_with(scene, there, Peer(scene, "other"))
    works_here(server)
    before = server.resident_bytes()
    message_id = later(server, "true")
    answered_in_bounds(server, message_id, before)
    failed(server.result(message_id), "environmentLost", "does not read")
    equal(completed(server.exec("echo on", environment="other")), "on\n", "in the other")
    works_here(server)


@test
def one_that_closes_its_input_is_lost(scene):
    server, there = fake(scene, play=[["stdout", "up\n"]], fates=[fate("output", "deafen")])
    first = later(server, ["prog"], "a")
    eventually(lambda: "deaf" in there.notes("note"), "the end of its input")
    second = later(server, ["prog"], "b")
    result = server.result(first)
    failed(result, "environmentLost", "no longer reads")
    equal(result["output"], "up\n", "output")
    failed(server.result(second), "environmentLost", "no longer reads")
    server.wait_end_of_call("a")
    eventually(lambda: not running(there.script_path), "the end of its program")
    works_again(server, there)


@test
def a_start_that_is_not_answered_is_given_up_and_the_rest_goes_on(scene):
    hung = fate("process/start", "hang", **{"from": 2, "to": 2})
    server, there = fake(scene, settings=QUICK, fates=[hung])
    message_id, process_id = underway(server, scene)
    began = time.monotonic()
    failed(server.exec("true", environment="box", yieldTimeMs=LONG), "environmentUnavailable")
    took = time.monotonic() - began
    check(took >= 7.9, "given up after %.3f s" % took)
    there.wait_sent("environment/status")
    works(server, 1, there)
    check(not server.is_answered(message_id), "the other call was answered")
    server.call("exec/terminate", {"processId": process_id})
    completed(server.result(message_id), 137)


@test
def a_start_that_is_answered_too_late_is_ended(scene):
    gate, word = scene.path("gate"), token(scene, "late")
    held = fate("process/start", "hold", until=gate)
    server, there = fake(scene, settings=QUICK, fates=[held])
    failed(server.result(later(server, rests(word))), "environmentUnavailable")
    scene.file("gate")
    there.program()
    there.wait_sent("process/terminate")
    wait_gone(word)


@test
def one_that_answers_nothing_any_more_is_lost(scene):
    blocked = fate("process/start", "block", **{"from": 2})
    server, there = fake(scene, settings=QUICK, fates=[blocked])
    message_id, _ = underway(server, scene)
    failed(server.exec("true", environment="box", yieldTimeMs=LONG), "environmentUnavailable")
    failed(server.result(message_id), "environmentLost", "stopped answering")
    server.wait_end_of_call("c")
    check("stopped answering" in wait_state(server, "box", "failed")["failure"], "failure")
    works_again(server, there)


@test
def so_many_starts_may_wait_and_this_machine_works_all_the_same(scene):
    server, there = fake(scene, fates=[fate("process/start", "hang")])
    ids = [later(server, "true", "c%d" % number) for number in range(32)]
    there.wait_sent("process/start", 32)
    message = server.reply(later(server, "true", "more"))
    error = message.get("error", {}).get("data") or message["result"]["failure"]
    equal(error["kind"], "limit", "kind of %s" % message)
    works_here(server)
    for message_id in ids:
        server.notify("$/cancelRequest", {"id": message_id})
    for message_id in ids:
        server.error(message_id, kind="cancelled")


@test
def a_signal_that_is_not_answered_fails_in_time_or_is_cancelled(scene):
    server, there = fake(scene, fates=[fate("process/signal", "hang")])
    _, process_id = underway(server, scene)
    params = {"processId": process_id, "signal": "interrupt"}
    began = time.monotonic()
    ids = [server.request(layer + "/signal", params) for layer in ("exec", "process", "exec")]
    there.wait_sent("process/signal", 3)
    server.notify("$/cancelRequest", {"id": ids[0]})
    server.error(ids[0], kind="cancelled")
    for message_id in ids[1:]:
        server.error(message_id, kind="environmentUnavailable")
    took = time.monotonic() - began
    check(took > ANSWER - 0.5, "given up after %.3f s" % took)
    order = [key for key in server.replies if int(key) in ids]
    equal(order[0], str(ids[0]), "the first answer: the cancel does not wait")
    works(server, 1, there)


# Confinement


def confining(scene, there, **options):
    return server_with(scene, there, policy="on-failure", sandbox="workspace-write", **options)


def is_ended_and_failed(scene, *words, **script):
    there = Peer(scene, **script)
    server = confining(scene, there)
    word = token(scene, "unconfined")
    message = server.reply(later(server, rests(word)))
    if "error" in message:
        kind, text = message["error"]["data"]["kind"], message["error"]["message"]
    else:
        kind, text = (message["result"]["failure"][name] for name in ("kind", "message"))
    equal(kind, "sandboxUnavailable", "kind of %s" % message)
    for part in words:
        check(part in text, "%r is not in %r" % (part, text))
    there.wait_sent("process/terminate")
    there.program()
    wait_gone(word)
    return text


@test
def a_sandbox_that_is_none_is_no_sandbox(scene):
    is_ended_and_failed(scene, sandbox_type="disabled")


@test
def a_sandbox_that_nobody_knows_is_no_sandbox(scene):
    is_ended_and_failed(scene, sandbox_type="superSandbox")


@test
def a_sandbox_that_lacks_something_is_not_enough(scene):
    is_ended_and_failed(scene, "network, moon", dialect="execward", missing=["network", "moon"])


@test
def best_effort_takes_what_execward_there_can_do_and_tells(scene):
    for kind, missing in (("none", ["files"]), ("linuxSeccomp", ["moon"])):
        there = Peer(scene, "box-" + kind, dialect="execward", sandbox_type=kind, missing=missing)
        server = confining(scene, there, config=BEST_EFFORT, home=Home(scene, "home-" + kind))
        result = server.exec("echo on", environment=there.name, callId="c")
        equal(completed(result), "on\n", "output")
        program = server.wait_end_of_call("c")
        for part in (result, program.begin, program.end):
            sandbox = part["sandbox"]
            equal((sandbox["type"], sandbox["missing"]), (kind, missing), "sandbox")


@test
def best_effort_does_not_count_for_codex(scene):
    there = Peer(scene, sandbox_type="none")
    server = confining(scene, there, config=BEST_EFFORT)
    message = server.reply(later(server, "true"))
    check("sandboxUnavailable" in str(message), "answer %s" % message)


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


# The end of a program


@test
def an_end_that_is_refused_there_is_an_error_and_the_program_goes_on(scene):
    error = {"code": -32603, "message": "cannot kill"}
    server, _ = fake(scene, fates=[fate("process/terminate", "error", error=error, to=2)])
    message_id, process_id = underway(server, scene)
    for method in ("exec/terminate", "process/terminate"):
        refusal = server.refused(method, {"processId": process_id})
        check("cannot kill" in refusal["message"], "message %s" % refusal)
    check(not server.is_answered(message_id), "the call was answered")
    equal(server.listed(process_id)["state"], "running", "state")
    check(running(token(scene, "c")), "it was ended")
    equal(server.call("exec/terminate", {"processId": process_id})["running"], True, "running")
    completed(server.result(message_id), 137)


def dies_at_terminate(scene, dialect):
    server, _ = fake(scene, dialect, fates=[fate("process/terminate", "exit")])
    message_id, process_id = underway(server, scene)
    reply = server.reply(server.request("exec/terminate", {"processId": process_id}))
    failed(server.result(message_id), "environmentLost")
    server.wait_end(process_id)
    return reply


@test
def whether_codex_has_ended_it_nobody_knows_when_it_dies(scene):
    reply = dies_at_terminate(scene, "codex")
    check("error" in reply, "answer %s" % reply)
    equal(reply["error"]["data"]["kind"], "environmentLost", "kind")


@test
def execward_ends_all_when_it_dies(scene):
    reply = dies_at_terminate(scene, "execward")
    equal(reply.get("result", {}).get("running"), True, "answer %s" % reply)


@test
def an_end_is_answered_though_the_client_reads_late(scene):
    there = Execward(scene, "box")
    server = server_with(scene, there)
    flood = ["/bin/sh", "-c", "echo up; exec yes %s" % ("0123456789" * 5)]
    message_id = later(server, flood)
    process_id = server.program_of_call("c").begin["processId"]
    server.wait_delta(process_id, "up\n")
    server.stop_reading()
    server.wait_idle()
    ended = server.request("exec/terminate", {"processId": process_id})
    time.sleep(ANSWER + 1)
    server.resume_reading()
    equal(server.result(ended)["running"], True, "running")
    completed(server.result(message_id), 137)
    server.wait_end(process_id)


@test
def a_polite_end_is_over_when_the_program_is(scene):
    server, there = fake(scene)
    message_id, process_id = underway(server, scene)
    began = time.monotonic()
    params = {"processId": process_id, "graceMs": 25000}
    equal(server.call("exec/terminate", params)["running"], True, "running")
    took = time.monotonic() - began
    check(took < within(20), "it took %.3f s" % took)
    there.wait_sent("process/signal")
    check(server.result(message_id)["exitCode"] != 137, "it was killed")
    wait_gone(token(scene, "c"))


# Lists


@test
def the_list_tells_what_is_so_and_nothing_else(scene):
    old = Peer(scene, "old", dialect="codex-old")
    old.settings["workspace_roots"] = [old.directory, "/srv/other"]
    there = Peer(scene, settings={"workspace_roots": ["/", "/srv"]})
    broken = Peer(scene, "broken", fates=[fate("begin", "exit", status=3)])
    server = server_with(scene, old, there, broken)
    here = [server.left_running("sleep 600") for _ in range(2)]
    underway(server, scene)
    completed(server.exec("true", environment="old"))
    failed(server.exec("true", environment="broken"), "environmentUnavailable")
    found = {e["id"]: e for e in server.call("environment/list")["environments"]}
    counts = {name: entry.get("processes") for name, entry in found.items()}
    equal(counts, {"local": 2, "box": 1, "old": 0, "broken": 0}, "processes")
    equal((found["box"]["cwd"], found["old"]["cwd"]), ("/", old.directory), "directories")
    check("version" not in found["old"]["server"], "a version: %s" % found["old"])
    with_failure = [name for name, entry in found.items() if "failure" in entry]
    equal(with_failure, ["broken"], "those with a failure")
    broken.tell()
    completed(server.exec("true", environment="broken"))
    check("failure" not in entry_of(server, "broken"), "a failure of one that is ready")
    for process_id in here:
        server.call("exec/terminate", {"processId": process_id})


# Approvals


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

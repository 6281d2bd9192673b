"""Environments that start badly, do not answer or do not read: every wait for them fails in time."""

import os
import resource
import signal
import sys
import time

sys.path.insert(0, os.path.abspath(__file__ + "/../../.."))
from support.client import check, equal, eventually, is_alive
from support.peer import (
    ANSWER,
    LONG,
    QUICK,
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
    works_here,
)
from support.runner import main, test


def works(server, starts=None, there=None):
    result = server.exec(["/bin/echo", "on"], environment="box")
    equal(completed(result), "on\n", "the next call")
    equal(entry_of(server, "box")["state"], "ready", "state")
    if there:
        equal(len(there.begun()), starts, "starts of the environment")


def works_again(server, there):
    there.tell()
    works(server, 2, there)


# Starts of the link


@test
def a_start_that_fails_at_once_ends_nothing_but_the_call(scene):
    there = Peer(scene)
    server = server_with(scene, there, prepare=os.setpgrp)  # a bug once killed the whole process group
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


# Programs that hang or ignore signals


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


# Environments that do not answer


@test
def a_time_limit_ends_what_runs_behind_a_dead_line(scene):
    server, _ = fake(scene, fates=[fate("started", "block")])
    message_id = later(server, ["/bin/sleep", "600"], timeoutMs=300)
    result = server.result(message_id)
    equal((result["timedOut"], result["failure"]["kind"]), (True, "environmentLost"), "end")
    equal(entry_of(server, "box")["state"], "failed", "state")


@test(alone=True)
def one_that_asks_before_it_answers_does_not_fill_the_memory(scene):
    server, there = fake(scene, fates=[fate("begin", "ask", size=4096)])
    before = server.resident_bytes()
    message_id = later(server, "true")
    answered_in_bounds(server, message_id, before)
    failed(server.result(message_id), "environmentUnavailable", "does not read")
    equal(len(there.begun()), 1, "starts")


if __name__ == "__main__":
    main()

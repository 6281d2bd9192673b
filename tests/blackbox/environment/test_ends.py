"""Ends of programs in an environment: the end is refused, never reported, or reported wrongly."""

import os
import sys
import time

sys.path.insert(0, os.path.abspath(__file__ + "/../../.."))
from support.client import check, equal, eventually, within
from support.exec import Home, exec_server
from support.peer import (
    ANSWER,
    LAST,
    Execward,
    Peer,
    completed,
    entry_of,
    failed,
    fake,
    fate,
    later,
    played,
    running,
    server_with,
    token,
    underway,
    wait_gone,
)
from support.runner import main, test

PLACES = 64  # for processes
STARTS = 16  # in parallel
ENDED = {"running": True}


def resting(server, text="one\n"):
    """Returns the id of a played program that has printed this."""
    server.exec_later(["prog"], environment="box", callId="c", yieldTimeMs=250)
    process_id = server.program_of_call("c").begin["processId"]
    server.wait_delta(process_id, text)
    return process_id


def is_lost(server, process_id):
    end = server.wait_end(process_id).end
    equal((end["exitCode"], end["failure"]["kind"]), (-1, "environmentLost"), "end")
    check("box" in end["failure"]["message"], "failure %s" % end["failure"])
    equal(entry_of(server, "box")["state"], "ready", "state of the environment")


# Ends that are never reported


@test
def what_was_ended_and_does_not_tell_it_is_given_up(scene):
    server, there = played(
        scene, [["stdout", "one\n"]], fate("process/terminate", "result", result=ENDED)
    )
    process_id = resting(server)
    equal(server.call("exec/terminate", {"processId": process_id})["running"], True, "running")
    is_lost(server, process_id)
    equal(len(there.sent("process/read")), 1, "questions how it is")


@test
def what_the_server_no_longer_knows_is_given_up(scene):
    error = {"code": -32600, "message": "unknown process"}
    server, _ = played(
        scene,
        [["stdout", "one\n"]],
        fate("process/terminate", "error", error=error),
        fate("process/read", "error", error=error),
    )
    process_id = resting(server)
    server.refused("exec/terminate", {"processId": process_id})
    is_lost(server, process_id)


@test
def what_cannot_be_ended_there_and_goes_on_is_not_given_up(scene):
    error = {"code": -32603, "message": "not permitted"}
    server, there = played(
        scene, [["stdout", "one\n"]], fate("process/terminate", "error", error=error)
    )
    process_id = resting(server)
    server.refused("exec/terminate", {"processId": process_id})
    there.wait_sent("process/read")
    server.call("exec/writeStdin", {"processId": process_id, "chars": "", "yieldTimeMs": 11000})
    equal(server.listed(process_id)["state"], "running", "state")


@test
def who_closes_and_does_not_tell_how_it_ended_is_given_up(scene):
    server, _ = played(scene, [["stdout", "one\n"], ["closed alone"]])
    process_id = resting(server)
    is_lost(server, process_id)


@test
def the_end_that_was_lost_is_found_by_asking(scene):
    server, there = played(
        scene,
        [["stdout", "one\n"], *LAST],
        fate("process/terminate", "result", result=ENDED),
        withheld=[2, 3],
    )
    process_id = resting(server)
    server.call("exec/terminate", {"processId": process_id})
    equal(server.wait_end(process_id).end["exitCode"], 3, "exit code")
    equal(len(there.sent("process/read")), 1, "questions how it is")


@test
def what_has_ended_and_does_not_close_gives_its_place_back_when_it_is_ended(scene):
    server, _ = played(scene, [["exited", 0]], fate("process/terminate", "result", result=ENDED))
    for some in range(0, PLACES, STARTS):
        calls = [later(server, ["prog"], "c%d" % i) for i in range(some, some + STARTS)]
        for call in calls:
            completed(server.result(call))
    server.call("exec/terminateAll")

    def is_free():
        result = server.exec("echo here")
        return result["state"] == "completed" and result["output"] == "here\n"

    eventually(is_free, "a place on this machine")


@test
def an_end_of_what_has_closed_is_answered_when_the_connection_ends(scene):
    server, there = played(scene, LAST, fate("process/terminate", "hang"), dialect="execward")
    completed(server.result(later(server, ["prog"])), 3)
    process_id = server.program_of_call("c").begin["processId"]
    ended = server.request("exec/terminate", {"processId": process_id, "graceMs": 3600000})
    there.wait_sent("process/terminate")
    there.kill()
    equal(server.result(ended)["running"], False, "running")


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


# Another server, other numbers


@test
def another_kind_of_server_does_not_run_what_was_judged_for_the_first(scene):
    there = Peer(scene, dialect="execward")
    home = Home(scene)
    home.config('confinement.enforcement = "best-effort"\n' + there.config())
    server = exec_server(scene, home=home, policy="untrusted")
    message_id = later(server, ["touch", "made"])
    question = server.question()
    there.tell(dialect="codex", sandbox_type="none")
    there.kill()
    eventually(lambda: entry_of(server, "box")["state"] != "ready", "the loss in the list")
    server.answer(question, "approved")
    failed(server.result(message_id), "environmentUnavailable", "another one", "box")
    equal(there.sent("process/start"), [], "starts")


@test
def a_status_that_no_program_has_is_not_taken_for_success(scene):
    server, _ = played(scene, [["exited", 1 << 32], ["closed"]])
    result = server.result(later(server, ["prog"]))
    equal(result["exitCode"], -1, "exit code")


@test
def a_program_that_there_is_not_has_not_failed_to_end(scene):
    server = server_with(scene, Peer(scene, relay=["/nowhere/at-all"]))
    message = failed(server.result(later(server, "true")), "environmentUnavailable", "at-all")
    check("has not ended" not in message, message)


if __name__ == "__main__":
    main()

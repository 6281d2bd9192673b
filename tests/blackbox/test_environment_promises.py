"""What a server elsewhere owes us, and what follows when it does not keep to it: an end that never comes,
answers that explain nothing, another server in its place."""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from support.client import check, equal, eventually
from support.exec import Home, exec_server
from support.peer import (
    Peer,
    answered_in_bounds,
    completed,
    entry_of,
    failed,
    fake,
    fate,
    later,
    server_with,
)
from support.runner import main, test

PLACES = 64  # for processes
STARTS = 16  # at a time
ENDED = {"running": True}
NOTHING = {"chunks": [], "nextSeq": 1, "exited": False, "closed": False, "failure": None}
LAST = [["exited", 3], ["closed"]]


def played(scene, events, *fates, dialect="codex", **script):
    return fake(scene, dialect, play=events, fates=list(fates), **script)


def resting(server, text="one\n"):
    """A played program that has printed this; its id."""
    server.exec_later(["prog"], environment="box", callId="c", yieldTimeMs=250)
    process_id = server.program_of_call("c").begin["processId"]
    server.wait_delta(process_id, text)
    return process_id


def is_lost(server, process_id):
    end = server.wait_end(process_id).end
    equal((end["exitCode"], end["failure"]["kind"]), (-1, "environmentLost"), "end")
    check("box" in end["failure"]["message"], "failure %s" % end["failure"])
    equal(entry_of(server, "box")["state"], "ready", "state of the environment")


# Ends that do not come


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


# What is missing


@test
def a_read_that_explains_nothing_is_not_repeated(scene):
    events = [["stdout", "a"], ["stdout", "b"], *LAST]
    server, there = played(
        scene, events, fate("process/read", "result", result=NOTHING), withheld=[1]
    )
    equal(completed(server.result(later(server, ["prog"])), 3), "b", "output")
    equal(len(there.sent("process/read")), 1, "reads")


@test
def all_that_is_missing_is_waited_for_once(scene):
    events = [["stdout", letter] for letter in "aAbBcCdDeEfFgGhHiIjJ"]
    server, there = played(
        scene,
        [*events, *LAST],
        fate("process/read", "hang"),
        withheld=list(range(1, len(events), 2)),
    )
    equal(completed(server.result(later(server, ["prog"])), 3), "ABCDEFGHIJ", "output")
    check(len(there.sent("process/read")) <= 2, "it was asked for one after the other")


# What does not answer


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

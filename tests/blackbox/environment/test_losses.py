"""Environments that fail: they cannot be started, are lost while in use, hang, or send too much.

In each case every call is answered, output from before is reported, the answer contains the reason,
the next call starts the environment again, and nothing else is delayed.
"""

import hashlib
import os
import re
import sys
import time

sys.path.insert(0, os.path.abspath(__file__ + "/../../.."))
from support.client import (
    PYTHON,
    check,
    encoded,
    equal,
    eventually,
    kill_quietly,
    wait_stalled,
    within,
)
from support.exec import ran
from support.peer import (
    LONG,
    Execward,
    Peer,
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
from support.programs import STUBBORN, progress
from support.runner import main, test

MIB = 1 << 20
PLAY = [["stdout", "one\n"], ["exited", 3], ["closed"]]
# The message of ssh when it gives up.
STATUS, LAST_LINE = 255, "ssh: connect to host box port 22: Connection refused"
GIVES_UP = {"do": "exit", "status": STATUS, "stderr": "a warning\n%s\n" % LAST_LINE}
# argv: the server's command. Carries bytes both ways as ssh does, and passes on nothing else.
RELAY = """
import os, subprocess, sys, threading
server = subprocess.Popen(sys.argv[2:], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
def carry(source, sink):
    while data := os.read(source, 1 << 16):
        while data:
            data = data[os.write(sink, data):]
threading.Thread(target=carry, args=(server.stdout.fileno(), 1), daemon=True).start()
carry(0, server.stdin.fileno())
server.stdin.close()
os._exit(server.wait())
"""
# argv: blocks of 16 KiB of text, a file that records how many were written
TEXT_FLOOD = """
import os, sys
for number in range(int(sys.argv[1])):
    data = (b"%015d\\n" % number) * 1024
    while data:
        data = data[os.write(1, data):]
    if number % 16 == 0:
        with open(sys.argv[2], "w") as file:
            file.write(str(number))
"""


def tells_the_end(message, status=STATUS, last_line=LAST_LINE):
    check(re.search(r"\b%s\b" % status, message), "status %s is not in %r" % (status, message))
    check(last_line in message, "%r is not in %r" % (last_line, message))


def is_lost(server, message_id, call="c", output="up\n"):
    """Checks that the call and its program ended because of the loss. Returns the reason."""
    result = server.result(message_id)
    message = failed(result, "environmentLost")
    check(output in result["output"], "output %r" % result["output"])
    end = server.wait_end_of_call(call).end
    equal((end["status"], end["exitCode"]), ("failed", -1), "status and code of exec/end")
    equal(end["failure"]["kind"], "environmentLost", "failure of exec/end")
    equal((end["environment"], end["aggregatedOutput"]), ("box", output), "the rest of exec/end")
    return message


def is_unavailable(server, message_id):
    """Checks that the call failed to start. Returns the reason."""
    return failed(server.result(message_id), "environmentUnavailable")


def is_unsure(server, message_id):
    """Checks that the start was requested and not answered, so that it may have run. Returns the
    reason.
    """
    message = failed(server.result(message_id), "environmentLost")
    check("may have run" in message, "message %r" % message)
    return message


def works_again(server, there, starts=2):
    there.tell()
    equal(completed(server.exec("echo again", environment="box")), "again\n", "the next call")
    equal(entry_of(server, "box")["state"], "ready", "state")
    equal(len(there.begun()), starts, "starts of the environment")


def goes_on(server, *environments):
    """Checks that this machine and these environments still work."""
    equal(server.output_of("echo here"), "here\n", "on this machine")
    for name in environments:
        equal(completed(server.exec("echo on", environment=name)), "on\n", "in " + name)


def kill_the_relay(word):
    (pid,) = running(word)
    kill_quietly(pid)


def relay(word):
    return [PYTHON, "-S", "-c", RELAY, word]


# Environments that cannot be started


@test
def one_that_gives_up_at_once_is_unavailable_and_tells_why(scene):
    server, there = fake(scene, fates=[fate("begin", **GIVES_UP)])
    tells_the_end(is_unavailable(server, later(server, "true")))
    found = entry_of(server, "box")
    equal(found["state"], "failed", "state")
    tells_the_end(found["failure"])
    works_again(server, there)


@test
def one_that_gives_up_when_it_is_greeted_is_unavailable(scene):
    server, there = fake(scene, fates=[fate("initialize", **GIVES_UP)])
    tells_the_end(is_unavailable(server, later(server, "true")))
    works_again(server, there)


@test
def a_program_that_does_not_exist_makes_it_unavailable(scene):
    there = Peer(scene)
    there.command = ["no-such-program"]
    server = server_with(scene, there)
    message = is_unavailable(server, later(server, "true"))
    check("no-such-program" in message, "message %r" % message)
    equal(entry_of(server, "box")["state"], "failed", "state")
    goes_on(server)


@test
def a_directory_that_does_not_exist_makes_it_unavailable(scene):
    there = Peer(scene, settings={"cwd": "/no/such/directory"})
    server = server_with(scene, there)
    message = is_unavailable(server, later(server, "true"))
    check("/no/such/directory" in message, "message %r" % message)


@test
def an_error_in_place_of_a_greeting_makes_it_unavailable(scene):
    error = {"code": -32000, "message": "licence expired"}
    server, there = fake(scene, fates=[fate("initialize", "error", error=error)])
    message = is_unavailable(server, later(server, "true"))
    check("licence expired" in message, "message %r" % message)
    eventually(lambda: not running(there.script_path), "the end of its program")
    works_again(server, there)


@test
def one_that_never_greets_is_given_up_after_its_time(scene):
    there = Peer(
        scene,
        settings={"initialize_timeout_ms": 300},
        ignores_signals=True,
        fates=[fate("initialize", "hang")],
    )
    server = server_with(scene, there)
    began = time.monotonic()
    message_id = later(server, "true")
    is_unavailable(server, message_id)
    took = time.monotonic() - began
    check(0.3 <= took < within(18), "given up after %.3f s" % took)  # earlier than the default of twenty
    eventually(lambda: not running(there.script_path), "the end of its program")
    equal(entry_of(server, "box")["state"], "failed", "state")


@test
def one_that_says_nothing_but_a_banner_is_given_up_too(scene):
    there = Peer(
        scene,
        settings={"initialize_timeout_ms": 500},
        fates=[fate("begin", "say", text="Welcome!\n"), fate("initialize", "hang")],
    )
    server = server_with(scene, there)
    is_unavailable(server, later(server, "true"))
    goes_on(server)


@test
def all_calls_that_wait_for_a_start_fail_with_it(scene):
    server, there = fake(scene, fates=[fate("initialize", "hang")])
    ids = [later(server, "true", "c%d" % number) for number in range(5)]
    there.wait_fate()
    there.kill()
    for message_id in ids:
        is_unavailable(server, message_id)
    works_again(server, there)


@test
def a_call_that_is_cancelled_does_not_wait_for_a_greeting(scene):
    server, there = fake(scene, fates=[fate("initialize", "hang")])
    message_id = later(server, "true")
    there.wait_fate()
    server.notify("$/cancelRequest", {"id": message_id})
    server.error(message_id, kind="cancelled")
    equal(there.sent("process/start"), [], "starts")
    goes_on(server)


# Lost while a program is started


@test
def one_that_gives_up_in_the_middle_of_a_start_may_have_run(scene):
    server, there = fake(scene, fates=[fate("process/start", **GIVES_UP)])
    tells_the_end(is_unsure(server, later(server, "true")))
    works_again(server, there)


@test
def one_that_is_killed_in_the_middle_of_a_start_may_have_run(scene):
    server, there = fake(scene, fates=[fate("process/start", "hang")])
    message_id = later(server, "true")
    there.wait_fate()
    there.kill()
    is_unsure(server, message_id)
    equal([m for m, _ in server.events if m == "exec/begin"], [], "programs")
    works_again(server, there)


@test
def one_that_closes_its_output_in_the_middle_of_a_start_may_have_run(scene):
    server, there = fake(scene, fates=[fate("process/start", "close")])
    is_unsure(server, later(server, "true"))
    eventually(lambda: not running(there.script_path), "the end of its program")
    works_again(server, there)


@test
def a_start_that_is_refused_there_fails_and_nothing_else(scene):
    error = {"code": -32603, "message": "no more pids"}
    server, there = fake(scene, fates=[fate("process/start", "error", error=error)])
    result = server.result(later(server, "true"))
    equal((result["state"], result["exitCode"]), ("failed", -1), "state and code")
    check("no more pids" in result["failure"]["message"], "message %s" % result["failure"])
    equal((entry_of(server, "box")["state"], len(there.begun())), ("ready", 1), "state, starts")


@test
def a_start_that_is_cancelled_and_comes_all_the_same_is_ended(scene):
    gate, word = scene.path("gate"), token(scene, "late")
    server, there = fake(scene, fates=[fate("process/start", "hold", until=gate)])
    message_id = later(server, rests(word))
    there.wait_fate()
    server.notify("$/cancelRequest", {"id": message_id})
    server.error(message_id, kind="cancelled")
    scene.file("gate")
    there.program()
    there.wait_sent("process/terminate")
    wait_gone(word)
    server.wait_end_of_call("c")


# Lost while programs run


@test
def sigkill_of_its_program_fails_the_calls_and_keeps_the_output(scene):
    server, there = fake(scene)
    ids = [underway(server, scene, call) for call in ("a", "b")]
    there.kill()
    for call, (message_id, _) in zip("ab", ids):
        message = is_lost(server, message_id, call)
        check(re.search(r"SIGKILL|\b9\b|\b137\b", message), "message %r" % message)
    goes_on(server)
    works_again(server, there)


@test
def the_status_and_the_last_line_of_its_stderr_are_in_the_reason(scene):
    server, there = fake(scene, fates=[fate("output", **GIVES_UP)])
    message_id = later(server, rests(token(scene, "c")))
    tells_the_end(is_lost(server, message_id))
    found = entry_of(server, "box")
    equal(found["state"], "failed", "state")
    tells_the_end(found["failure"])
    works_again(server, there)


@test
def what_it_said_on_stderr_while_it_was_connected_is_no_reason(scene):
    greeting = "welcome to the box"
    there = Peer(scene, relay=["sh", "-c", 'echo %s >&2; exec "$@"' % greeting, "relay"])
    server = server_with(scene, there)
    message_id, _ = underway(server, scene)
    there.kill()
    message = is_lost(server, message_id)
    check(greeting not in message, "%r is in %r" % (greeting, message))


@test
def an_end_with_status_0_is_a_loss_as_well(scene):
    server, _ = fake(scene, fates=[fate("output", "exit", status=0)])
    is_lost(server, later(server, rests(token(scene, "c"))))


@test
def half_a_message_at_the_end_is_no_output(scene):
    half = '{"method":"process/output","params":{"processId":"'
    server, _ = fake(scene, fates=[fate("output", "exit", last=half)])
    is_lost(server, later(server, rests(token(scene, "c"))))


@test
def one_that_closes_its_output_is_lost_and_ended(scene):
    server, there = fake(scene, ignores_signals=True, fates=[fate("output", "close")])
    is_lost(server, later(server, rests(token(scene, "c"))))
    eventually(lambda: not running(there.script_path), "the end of its program")
    works_again(server, there)


@test
def one_that_closes_its_output_right_after_a_start_is_lost(scene):
    server, there = fake(scene, fates=[fate("started", "close")])
    is_lost(server, later(server, rests(token(scene, "c"))), output="")
    works_again(server, there)


@test
def polls_and_reads_are_answered_at_a_loss(scene):
    server, there = fake(scene)
    process_id = server.left_running(rests(token(scene, "c")), environment="box")
    server.wait_delta(process_id, "up\n")
    poll = server.stdin_later(process_id, noTimeout=True)
    seq = server.read(process_id)["nextSeq"] - 1
    read = server.request(
        "process/read", {"processId": process_id, "afterSeq": seq, "waitMs": 600000}
    )
    there.kill()
    failed(server.result(poll), "environmentLost")
    equal(server.wait_end(process_id).end["failure"]["kind"], "environmentLost", "exec/end")
    result = server.result(read)
    if not result["closed"]:
        result = server.read(process_id, afterSeq=result["nextSeq"] - 1, waitMs=20000)
    check(result["closed"] and result["failure"], "read: %s" % result)


@test
def what_was_lost_can_be_asked_about_and_takes_no_more(scene):
    server, there = fake(scene)
    message_id, process_id = underway(server, scene)
    there.kill()
    is_lost(server, message_id)
    failed(server.stdin(process_id, yieldTimeMs=LONG), "environmentLost")
    listed = server.listed(process_id)
    equal((listed["state"], listed["exitCode"]), ("exited", -1), "state and code in the list")
    equal(server.write(process_id, b"x")["status"], "stdinClosed", "a write")
    terminate = server.call("exec/terminate", {"processId": process_id})
    equal(terminate["running"], False, "running")
    equal(server.read_bytes(process_id), b"up\n", "bytes")


@test
def a_terminal_is_lost_like_pipes(scene):
    server, there = fake(scene)
    message_id = later(server, rests(token(scene, "c")), tty=True)
    server.wait_delta(server.program_of_call("c").begin["processId"], "up\r\n")
    there.kill()
    is_lost(server, message_id, output="up\r\n")


@test
def one_that_is_lost_while_nothing_runs_is_started_again(scene):
    server, there = fake(scene)
    completed(server.exec("true", environment="box"))
    there.kill()
    eventually(lambda: entry_of(server, "box")["state"] != "ready", "the loss in the list")
    works_again(server, there)


@test
def a_question_outlives_a_loss(scene):
    there = Peer(scene)
    server = server_with(scene, there, policy="untrusted")
    first = server.exec_later("touch first", environment="box")
    server.answer(server.question(), "approved")
    ran(server, first)
    message_id = server.exec_later("touch made", environment="box")
    question = server.question()
    there.kill()
    eventually(lambda: entry_of(server, "box")["state"] != "ready", "the loss in the list")
    server.answer(question, "approved")
    ran(server, message_id)
    check(os.path.exists(there.directory + "/made"), "it did not run")
    equal(len(there.begun()), 2, "starts")


@test
def the_audit_has_an_end_for_what_was_lost(scene):
    server, there = fake(scene)
    message_id, _ = underway(server, scene)
    there.kill()
    is_lost(server, message_id)
    equal(server.end(), 0, "exit status")
    rows = server.home.audit()
    equal([row["event"] for row in rows], ["start", "exit"], "events")


# A relay in between


@test
def sigkill_of_a_relay_loses_the_environment(scene):
    word = token(scene, "relay")
    there = Peer(scene, relay=relay(word))
    server = server_with(scene, there)
    message_id, _ = underway(server, scene)
    kill_the_relay(word)
    is_lost(server, message_id)
    wait_gone(token(scene, "c"))
    works_again(server, there)


@test
def sigkill_of_a_relay_ends_what_a_real_server_behind_it_runs(scene):
    word, stubborn = token(scene, "relay"), token(scene, "stubborn")
    there = Execward(scene, "box", relay=relay(word))
    server = server_with(scene, there)
    argv = [PYTHON, "-S", "-c", STUBBORN, stubborn]
    process_id = server.left_running(argv, environment="box")
    server.wait_delta(process_id, "upup")
    poll = server.stdin_later(process_id, noTimeout=True)
    kill_the_relay(word)
    failed(server.result(poll), "environmentLost")
    wait_gone(stubborn)
    equal(completed(server.exec("echo again", environment="box")), "again\n", "the next call")


@test
def sigkill_of_a_relay_in_a_flood_keeps_what_had_come(scene):
    word, flood = token(scene, "relay"), token(scene, "flood")
    there = Execward(scene, "box", relay=relay(word))
    server = server_with(scene, there)
    message_id = later(server, ["/bin/sh", "-c", "while :; do echo line; done", flood])
    process_id = server.program_of_call("c").begin["processId"]
    server.wait(lambda: server.programs_by_id[process_id].size > MIB, "output of the flood")
    kill_the_relay(word)
    failed(server.result(message_id), "environmentLost")
    end = server.wait_end(process_id).end
    equal(end["failure"]["kind"], "environmentLost", "exec/end")
    check(end["aggregatedOutput"].startswith("line\nline\n"), "no output in exec/end")
    wait_gone(flood)


# An environment that hangs delays nothing else


def two(scene, **script):
    """Yields a server with an environment that follows the script, and one that works."""
    boxes = Peer(scene, **script), Peer(scene, "other")
    return server_with(scene, *boxes), boxes[0]


@test
def one_that_hangs_at_a_start_holds_up_nobody_else(scene):
    server, there = two(scene, fates=[fate("process/start", "hang")])
    message_id = later(server, "true")
    there.wait_fate()
    goes_on(server, "other")
    check(not server.is_answered(message_id), "it was answered")
    server.notify("$/cancelRequest", {"id": message_id})
    server.error(message_id, kind="cancelled")


@test
def one_that_does_not_read_holds_up_nobody_else(scene):
    server, there = two(scene, fates=[fate("initialized", "block")])
    ids = [later(server, ["/bin/true", "x" * 100000], "c%d" % number) for number in range(8)]
    there.wait_fate()
    goes_on(server, "other")
    there.kill()
    for message_id in ids:
        is_unsure(server, message_id)


@test
def one_that_blocks_at_a_write_holds_up_nobody_else(scene):
    server, there = two(scene, fates=[fate("process/write", "block")])
    process_id = server.left_running(rests(token(scene, "c")), environment="box", tty=True)
    poll = server.stdin_later(process_id, "some text\n", yieldTimeMs=LONG)
    there.wait_fate()
    writes = [
        server.request("process/write", {"processId": process_id, "chunk": encoded(b"y" * MIB)})
        for _ in range(12)
    ]
    ended = server.request("exec/terminate", {"processId": process_id})
    goes_on(server, "other")
    there.kill()
    failed(server.result(poll), "environmentLost")
    for message_id in (*writes, ended):
        server.reply(message_id)


@test
def one_that_freezes_in_its_output_holds_up_nobody_else(scene):
    server, there = two(scene, fates=[fate("output", "freeze")])
    message_id = later(server, rests(token(scene, "c")))
    there.wait_fate()
    goes_on(server, "other")
    there.kill()
    is_lost(server, message_id)


@test
def a_time_limit_and_a_cancel_do_not_wait_for_one_that_hangs(scene):
    server, there = two(scene, fates=[fate("process/terminate", "hang")])
    limited = later(server, rests(token(scene, "a")), "a", timeoutMs=300)
    cancelled = later(server, rests(token(scene, "b")), "b", onCancel="terminate")
    server.program_of_call("b")
    server.notify("$/cancelRequest", {"id": cancelled})
    server.error(cancelled, kind="cancelled")
    there.wait_sent("process/terminate", 2)
    goes_on(server, "other")
    there.kill()
    server.reply(limited)
    server.wait_end_of_call("a")
    server.wait_end_of_call("b")


@test
def a_terminate_that_is_done_and_not_answered_ends_the_program(scene):
    server, there = fake(scene, fates=[fate("process/terminate", "do it silently")])
    message_id, process_id = underway(server, scene)
    ended = server.request("exec/terminate", {"processId": process_id})
    completed(server.result(message_id), 137)
    equal(server.wait_end(process_id).end["exitCode"], 137, "exit code")
    there.kill()
    server.reply(ended)


@test
def terminate_all_ends_the_rest_though_one_hangs(scene):
    server, there = two(scene, fates=[fate("process/terminate", "hang")])
    underway(server, scene)
    words = {name: token(scene, name) for name in ("local", "other")}
    for name, word in words.items():
        server.left_running(rests(word), environment=name)
    ended = server.request("exec/terminateAll")
    for word in words.values():
        wait_gone(word)
    there.kill()
    equal(len(server.result(ended)["terminated"]), 3, "terminated")


@test
def a_lost_environment_leaves_the_programs_of_others_alone(scene):
    server, there = two(scene)
    message_id, _ = underway(server, scene)
    words = {name: token(scene, name) for name in ("local", "other")}
    for name, word in words.items():
        server.left_running(rests(word), environment=name)
    there.kill()
    is_lost(server, message_id)
    check(all(running(word) for word in words.values()), "others have ended")
    equal(entry_of(server, "other")["state"], "ready", "state of the other")


# Too much


@test(alone=True)
def a_line_without_end_does_not_fill_the_memory(scene):
    server, _ = fake(scene, play=PLAY, fates=[fate("output", "long", mib=70)])
    server.answers()
    before = server.resident_bytes()
    message_id = later(server, ["prog"])
    result = server.result(message_id)
    if result["state"] == "completed":
        equal(completed(result, 3), "one\n", "output")
    else:
        failed(result, "environmentLost")
    server.wait_end_of_call("c")
    if not server.is_sanitized():
        grown = server.resident_bytes() - before
        check(grown < 160 * MIB, "memory grew by %d MiB" % (grown // MIB))
    goes_on(server)


def flood_text(blocks):
    digest = hashlib.md5()
    for number in range(blocks):
        digest.update((b"%015d\n" % number) * 1024)
    return digest.hexdigest()


@test(alone=True)
def an_unread_client_stops_the_program_there_and_loses_nothing(scene):
    counter, blocks, digest = scene.path("counter"), 2000, hashlib.md5()

    def listen(message):
        if message.get("method") == "exec/outputDelta":
            digest.update(message["params"]["delta"].encode())

    there = Peer(scene)
    server = server_with(scene, there, listener=listen)
    completed(server.exec("true", environment="box"))
    before = server.resident_bytes()
    server.stop_reading()
    message_id = later(server, [PYTHON, "-S", "-c", TEXT_FLOOD, str(blocks), counter])
    eventually(lambda: os.path.exists(counter), "the start of the program")
    reached = wait_stalled(lambda: progress(counter), "it runs on although nobody reads") * 16384
    grown = server.resident_bytes() - before
    check(reached < 16 * MIB, "%d MiB of output were taken" % (reached // MIB))
    if not server.is_sanitized():
        check(grown < 16 * MIB, "memory grew by %d KiB" % (grown >> 10))

    server.resume_reading()
    server.result(message_id)
    program = server.program_of_call("c")
    server.wait(lambda: program.end, "exec/end")
    equal((program.end["exitCode"], program.size), (0, blocks * 16384), "code and size")
    equal(digest.hexdigest(), flood_text(blocks), "md5")


@test(alone=True)
def a_flood_there_does_not_hold_up_this_machine(scene):
    server, _ = fake(scene)
    message_id = later(server, ["/bin/sh", "-c", "while :; do echo line; done", token(scene, "c")])
    process_id = server.program_of_call("c").begin["processId"]
    server.wait(lambda: server.programs_by_id[process_id].size > MIB, "output of the flood")
    took = []
    for _ in range(5):
        began = time.monotonic()
        goes_on(server)
        took.append(time.monotonic() - began)
    check(sorted(took)[2] < within(5), "commands here took %s s" % took)
    server.call("exec/terminate", {"processId": process_id})
    completed(server.result(message_id), 137)


# The end of the server


def ends_with_all(scene, server, *words):
    began = time.monotonic()
    equal(server.end(), 0, "exit status")
    took = time.monotonic() - began
    check(took < within(25), "it took %.3f s to end" % took)
    for word in words:
        wait_gone(word)


@test
def the_end_of_the_server_ends_the_environment_and_what_it_runs(scene):
    server, there = fake(scene)
    server.left_running(rests(token(scene, "c")), environment="box")
    ends_with_all(scene, server, token(scene, "c"), there.script_path)
    check("end of input" in there.notes("note"), "its program did not see the end of its input")


@test
def the_end_of_the_server_ends_what_a_real_environment_runs(scene):
    word = token(scene, "stubborn")
    server = server_with(scene, Execward(scene, "box"))
    process_id = server.left_running([PYTHON, "-S", "-c", STUBBORN, word], environment="box")
    server.wait_delta(process_id, "upup")
    ends_with_all(scene, server, word)


@test
def the_end_of_the_server_does_not_wait_for_one_that_hears_nothing(scene):
    server, there = fake(scene, ignores_signals=True, fates=[fate("started", "block")])
    later(server, rests(token(scene, "c")))
    there.wait_fate()
    ends_with_all(scene, server, token(scene, "c"), there.script_path)


@test
def the_end_of_the_server_does_not_wait_for_a_greeting(scene):
    server, there = fake(scene, ignores_signals=True, fates=[fate("initialize", "block")])
    later(server, "true")
    there.wait_fate()
    ends_with_all(scene, server, there.script_path)


@test
def shutdown_ends_environments_too(scene):
    server, there = fake(scene)
    server.left_running(rests(token(scene, "c")), environment="box")
    server.call("shutdown")
    server.notify("exit")
    equal(server.exit_status(), 0, "exit status")
    wait_gone(token(scene, "c"))
    wait_gone(there.script_path)


@test
def sigkill_of_the_worker_ends_the_environment_and_what_it_runs(scene):
    server, there = fake(scene)
    server.left_running(rests(token(scene, "c")), environment="box")
    server.may_be_cut = True
    kill_quietly(server.worker())
    server.exit_status()
    for word in (token(scene, "c"), there.script_path):
        wait_gone(word)


@test
def a_state_can_be_asked_for_while_all_this_goes_on(scene):
    server, there = fake(scene, fates=[fate("initialize", "hang")])
    message_id = later(server, "true")
    wait_state(server, "box", "starting")
    there.wait_fate()
    there.kill()
    is_unavailable(server, message_id)
    wait_state(server, "box", "failed")


if __name__ == "__main__":
    main()

"""Limits for a remote server: memory, leftover processes, and texts that are passed on."""

import os
import sys

sys.path.insert(0, os.path.abspath(__file__ + "/../../.."))
from support.client import check, command_line, equal, eventually, kill_quietly, within
from support.peer import (
    QUICK,
    Peer,
    completed,
    entry_of,
    failed,
    fake,
    fate,
    later,
    running,
    server_with,
    wait_gone,
)
from support.runner import main, test

MIB = 1 << 20
EARLY = {"disorder": ["output before reply"]}
# A command line follows. The shell starts it in the background, with stdin and stdout, and ends.
WRAPPER = ["/bin/sh", "-c", '{ "$@" <&3 3<&- & } 3<&0', "sh"]
# The same in two steps: the process that stays first waits for a child of its own, until it is
# killed.
NESTED = ["/bin/sh", "-c", '{ sh -c \'"$@" <&3 3<&- & wait\' "$@" & } 3<&0', "sh", "sh"]


# Output


@test(alone=True)
def output_that_comes_before_the_answers_to_starts_is_bounded(scene):
    starts = 12
    server, there = fake(
        scene, play=[["stdout", "x" * (30 * MIB)]], starts_at_once=starts + 1, **EARLY
    )
    server.output_of("echo here")
    before = server.resident_bytes()
    for number in range(starts):
        later(server, ["prog"], "c%d" % number)
    eventually(lambda: len(there.notes("out")) > starts, "all pieces", within(60))
    server.wait_idle()
    grown = (server.resident_bytes() - before) // MIB
    bound = 4096 if server.is_sanitized() else 200
    check(grown < bound, "memory grew by %d MiB" % grown)


@test
def output_that_had_no_room_before_the_answer_comes_all_the_same(scene):
    size = 2 * MIB
    pieces = [["stdout", letter * size] for letter in "abcdefgh"]
    server, there = fake(scene, play=[*pieces, ["exited", 3], ["closed"]], **EARLY)
    result = server.result(later(server, ["prog"]))
    completed(result, 3)
    equal(server.wait_end_of_call("c").size, len(pieces) * size, "size of the output")
    there.wait_sent("process/read")


@test
def it_comes_although_nothing_follows_it(scene):
    server, _ = fake(scene, play=[["stdout", "x" * (8 * MIB)]], **EARLY)
    later(server, ["prog"])
    program = server.program_of_call("c")
    eventually(lambda: program.size == 8 * MIB, "the output", within(30))


# Texts


@test
def what_a_sandbox_lacks_is_told_with_a_bound(scene):
    lacking = ["x" * 300, *("guarantee-%d" % number for number in range(20000))]
    there = Peer(scene, dialect="execward", missing=lacking)
    config = 'confinement.enforcement = "best-effort"\n'
    options = {"policy": "on-failure", "sandbox": "workspace-write"}
    server = server_with(scene, there, config=config, **options)
    completed(server.exec(["/bin/echo", "on"], environment="box", callId="c"))
    missing = server.program_of_call("c").begin["sandbox"]["missing"]
    equal(len(missing), 64, "things that are missing")
    check(len(missing[0]) < 210, "the first one has %d characters" % len(missing[0]))
    equal(missing[-1], "and %d more" % (len(lacking) - 63), "the last one")


@test
def a_directory_that_leads_elsewhere_counts_as_not_told(scene):
    there = Peer(scene, told_cwd="/a/../../etc")
    server = server_with(scene, there)
    failed(server.result(later(server, "true")), "environmentUnavailable", "its directory")
    check("cwd" not in entry_of(server, "box"), "a directory is told")


@test
def arguments_of_the_program_that_leads_there_are_not_told_on(scene):
    there = Peer(scene, settings=QUICK, fates=[fate("initialize", "hang")])
    there.command += ["-e", "TOKEN=hunter2"]
    server = server_with(scene, there, env={"EXECWARD_LOG_LEVEL": "info"})
    result = server.result(later(server, "true"))
    failed(result, "environmentUnavailable")
    check(there.command[0] in result["failure"]["hint"], "the program is not in the hint")
    check("hunter2" not in str(result), "the answer has an argument: %s" % result)
    log = server.stderr()
    check("starting" in log and there.command[0] in log, "the start is not in the log: %s" % log)
    check("hunter2" not in log, "the log has an argument: %s" % log)


@test
def a_greeting_that_swallows_the_handshake_is_in_the_reason(scene):
    greeting = "Welcome to \x1b[1mbox\x1b[0m"
    there = Peer(scene, settings=QUICK, fates=[fate("initialize", "say", text=greeting)])
    server = server_with(scene, there)
    message = failed(server.result(later(server, "true")), "environmentUnavailable")
    check("Welcome to \\x1b[1mbox" in message, "the greeting is not in %r" % message)
    there.tell()
    completed(server.exec("true", environment="box"))


# Processes


@test
def what_a_wrapper_has_left_is_ended_with_the_connection(scene):
    there = Peer(scene, relay=WRAPPER, settings=QUICK, fates=[fate("initialize", "block")])
    server = server_with(scene, there)
    for _ in range(3):
        failed(server.result(later(server, "true")), "environmentUnavailable")
        wait_gone(there.script_path)
    equal(len(there.begun()), 3, "starts of the environment")
    there.tell()
    completed(server.exec("true", environment="box"))
    check(running(there.script_path), "the connection has ended with the wrapper")


@test
def what_that_has_left_in_its_turn_is_ended_too(scene):
    there = Peer(scene, relay=NESTED, settings=QUICK, fates=[fate("initialize", "block")])
    server = server_with(scene, there)
    message_id = later(server, "true")
    there.wait_fate()
    (middle,) = [pid for pid in running("wait") if there.script_path in command_line(pid)]
    kill_quietly(middle)
    failed(server.result(message_id), "environmentUnavailable")
    wait_gone(there.script_path)


if __name__ == "__main__":
    main()

"""process/cast: the output of a terminal with its times, for a player."""

import os
import sys
import time

sys.path.insert(0, os.path.abspath(__file__ + "/../../.."))
from support.casts import Cast
from support.client import check, equal
from support.runner import main, test

KEPT = 1 << 20  # bytes of output
PASSWORD = "never shown 7"


def cast_of(server, process_id, version=3):
    result = server.call("process/cast", {"processId": process_id, "format": "asciicast-v%d" % version})
    return Cast(result["cast"], version), result["complete"]


@test
def output_sizes_and_the_end_have_their_times(scene):
    server = scene.server()
    before = time.time()
    script = "stty -echo; printf one; read x; printf two; exit 3"
    server.start_shell("a", script, tty=True, size={"rows": 7, "cols": 30}, env={"TERM": "vt100"})
    server.wait_output("a", b"one")
    printed = time.time()
    server.call("process/resize", {"processId": "a", "size": {"rows": 9, "cols": 40}})
    server.write("a", b"\n")
    server.wait_closed("a")
    after = time.time()
    for version in (2, 3):
        cast, complete = cast_of(server, "a", version)
        equal((cast.size(), complete), ((30, 7), True), "size, complete")
        equal(cast.header["command"], "sh -c '%s'" % script, "command")
        terminal = cast.header["env"]["TERM"] if version == 2 else cast.header["term"]["type"]
        equal(terminal, "vt100", "TERM")
        check(int(before) <= cast.header["timestamp"] <= after, "timestamp: %s" % cast.header)
        equal(cast.codes(), "oro" if version == 2 else "orox", "events")
        equal((cast.data(), cast.data("r")), ("onetwo", "40x9"), "output and size")
        check(cast.time_of("one") <= printed - before + 0.002, "when it came: %s" % cast.events)
        check(cast.events[-1][0] <= after - before + 0.002, "the end: %s" % cast.events)
        if version == 3:
            equal(cast.data("x"), "3", "exit status")
    equal(Cast(server.call("process/cast", {"processId": "a"})["cast"]).header["version"], 3, "format")


@test
def pauses_between_output_are_kept(scene):
    server = scene.server()
    server.start_shell("a", "stty -echo; for i in 1 2; do read x; echo out $i; done", tty=True)
    server.write("a", b"\n")
    server.wait_output("a", b"out 1")
    first = time.monotonic()
    # What is measured: real time has to pass between the two.
    while time.monotonic() - first < 0.3:
        server.call("process/list")
    server.write("a", b"\n")
    server.wait_closed("a")
    cast, _ = cast_of(server, "a")
    pause = cast.time_of("out 2") - cast.time_of("out 1")
    check(0.25 <= pause <= time.monotonic() - first + 0.05, "the pause: %s" % cast.events)


@test
def what_is_typed_unseen_is_not_in_it(scene):
    server = scene.server()
    script = "stty -echo; printf 'Password: '; read x; stty echo; echo; read y; echo done"
    server.start_shell("a", script, tty=True)
    server.wait_output("a", b"Password: ")
    server.write("a", (PASSWORD + "\n").encode())
    server.wait_output("a", b"\r\n")
    server.write("a", b"seen\n")
    server.wait_closed("a")
    for version in (2, 3):
        cast, _ = cast_of(server, "a", version)
        check(PASSWORD not in cast.data() and "seen" in cast.data(), "output: %r" % cast.data())
        equal(cast.data("i"), "", "input")


@test
def characters_that_come_in_pieces_are_whole(scene):
    server = scene.server()
    server.start_shell("a", r"printf 'caf\303'; read x; printf '\251 \377.'", tty=True)
    server.wait_output("a", b"caf")
    server.write("a", b"\n")
    server.wait_closed("a")
    cast, _ = cast_of(server, "a")
    check("\N{REPLACEMENT CHARACTER}." in cast.data(), "bytes that are no text: %r" % cast.data())


@test
def a_long_one_begins_where_output_is_kept(scene):
    server = scene.server()
    server.start_shell("a", "seq 1 400000; echo end", tty=True)
    server.wait_closed("a")
    cast, complete = cast_of(server, "a")
    equal(complete, False, "complete")
    equal(cast.codes()[0], "m", "the first event: %s" % cast.events[0])
    check("no longer kept" in cast.data("m"), cast.data("m"))
    lines = cast.data().split("\r\n")
    check(lines[0].isdigit() and lines[-2] == "end", "output: %r … %r" % (lines[0], lines[-2]))
    equal([int(line) for line in lines[1:-2]], list(range(int(lines[1]), 400001)), "no line is missing")
    check(len(cast.data()) > KEPT - 8192, "%d bytes" % len(cast.data()))
    equal(cast.events[0][0], 0, "when it begins")


@test
def what_has_no_terminal_has_none(scene):
    server = scene.server()
    server.start_shell("a", "echo x")
    error = server.refused("process/cast", {"processId": "a"}, -32600, "notATerminal")
    check("tty" in error["data"]["hint"], error)
    server.refused("process/cast", {"processId": "b"}, -32600, "unknownProcess")
    error = server.refused("process/cast", {"processId": "a", "format": "gif"}, -32602, "invalidParams")
    equal(error["data"]["path"], "format", "path")
    server.refused("process/cast", {"processId": "a", "formt": "x"}, -32602, "invalidParams")


if __name__ == "__main__":
    main()

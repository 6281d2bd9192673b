"""until of process/read: what ends the wait of a reader, and what the answer says of it."""

import os
import socket
import sys

sys.path.insert(0, os.path.abspath(__file__ + "/../../.."))
from support.client import PATIENCE, check, decoded, equal
from support.runner import main, test

FOREVER = int(PATIENCE * 1000)
LISTENS = """
import socket, sys, time
sys.stdin.readline()
listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
time.sleep(1000)
"""


def read_later(server, until, **params):
    params = {"processId": "a", "waitMs": FOREVER, "until": until, **params}
    return server.request("process/read", params)


def read(server, until, **params):
    return server.result(read_later(server, until, **params))


def text_of(answer):
    return b"".join(decoded(chunk["chunk"]) for chunk in answer["chunks"]).decode()


def found(answer):
    """Returns text, line and offset of the match."""
    equal(answer["waitEnd"]["reason"], "pattern", "reason")
    match = answer["waitEnd"]["match"]
    return match["text"], match["line"], match["offset"]


def cat(scene):
    server = scene.server()
    server.start("a", ["cat"], pipeStdin=True)
    return server


@test
def a_text_in_two_pieces_ends_the_wait(scene):
    server = cat(scene)
    waiting = read_later(server, {"pattern": {"text": "ready"}})
    server.write("a", b"one\nit is rea")
    server.wait_output("a", b"rea")
    check(not server.is_answered(waiting), "answered by other output")
    server.write("a", b"dy now\n")
    answer = server.result(waiting)
    equal(found(answer), ("ready", 2, 10), "match")
    check(text_of(answer).startswith("one\nit is ready"), "output: %r" % text_of(answer))
    equal((answer["exited"], answer["closed"]), (False, False), "the state")


@test
def an_expression_ends_the_wait(scene):
    server = cat(scene)
    waiting = read_later(server, {"pattern": {"regex": r"port \d+\."}})
    server.write("a", b"listening on po")
    server.write("a", b"rt 5173.\n")
    equal(found(server.result(waiting)), ("port 5173.", 1, 13), "match")


@test
def what_is_there_counts_from_where_the_answer_begins(scene):
    server = cat(scene)
    server.write("a", b"once\n")
    server.wait_output("a", b"once")
    first = read(server, {"pattern": {"text": "once"}})
    equal(found(first), ("once", 1, 0), "what is there")
    after = first["nextSeq"] - 1
    again = read(server, {"pattern": {"text": "once"}}, afterSeq=after, waitMs=1)
    equal((again["waitEnd"], again["chunks"]), ({"reason": "time"}, []), "what was read before")
    again = read(server, {"pattern": {"text": "nce"}, "from": 0}, afterSeq=after, waitMs=1)
    equal((found(again), again["chunks"]), (("nce", 1, 1), []), "from")
    waiting = read_later(server, {"pattern": {"text": "once"}}, afterSeq=after)
    server.write("a", b"and once more\n")
    equal(found(server.result(waiting)), ("once", 1, 9), "what comes")


@test
def without_a_time_the_answer_comes_at_once(scene):
    server = cat(scene)
    answer = server.read("a", until={"pattern": {"text": "x"}})
    equal((answer["waitEnd"], answer["chunks"]), ({"reason": "time"}, []), "the answer")


@test
def bytes_and_silence_end_a_wait(scene):
    server = cat(scene)
    waiting = read_later(server, {"bytes": 10})
    server.write("a", b"12345678")
    server.wait_output("a", b"8")
    check(not server.is_answered(waiting), "answered too early")
    server.write("a", b"90")
    equal(server.result(waiting)["waitEnd"], {"reason": "bytes"}, "bytes")
    answer = read(server, {"quietMs": 20})
    equal((answer["waitEnd"], text_of(answer)), ({"reason": "quiet"}, "1234567890"), "silence")
    waiting = read_later(server, {"quietMs": 1}, afterSeq=answer["nextSeq"] - 1)
    server.call("process/list")
    check(not server.is_answered(waiting), "silence before any output")
    server.write("a", b"x")
    equal(text_of(server.result(waiting)), "x", "what came")


@test
def a_port_ends_a_wait(scene):
    server = scene.server()
    server.start_python("a", LISTENS, pipeStdin=True)
    any_port = read_later(server, {"port": 0})
    server.write("a", b"\n")
    answer = server.result(any_port)
    port = answer["waitEnd"]["port"]
    equal(answer["waitEnd"], {"reason": "port", "port": port}, "waitEnd")
    equal(read(server, {"port": port})["waitEnd"]["port"], port, "this port")
    socket.create_connection(("127.0.0.1", port)).close()
    equal(read(server, {"port": 1}, waitMs=1)["waitEnd"], {"reason": "time"}, "another port")


@test
def a_question_of_the_program_ends_a_wait(scene):
    server = scene.server()
    server.start_shell("a", "printf 'name? '; read x; echo hello $x; exec sleep 1000", tty=True)
    asked = read(server, {"input": True})
    equal(asked["waitEnd"], {"reason": "input"}, "waitEnd")
    check("name? " in text_of(asked), "output: %r" % text_of(asked))
    server.write("a", b"Ada\n")
    equal(found(read(server, {"pattern": {"text": "hello Ada"}}))[0], "hello Ada", "what follows")


@test
def the_end_of_the_program_ends_a_wait(scene):
    server = cat(scene)
    waiting = read_later(server, {"pattern": {"text": "never"}, "port": 0})
    last = read_later(server, {"pattern": {"text": "last"}})
    server.write("a", b"last\n", closeStdin=True)
    equal(found(server.result(last)), ("last", 1, 0), "the last output")
    answer = server.result(waiting)
    equal((answer["waitEnd"], answer["exited"], answer["exitCode"]), ({"reason": "exit"}, True, 0), "exit")
    equal(read(server, {"pattern": {"text": "never"}})["waitEnd"], {"reason": "exit"}, "afterwards")
    equal(found(read(server, {"pattern": {"text": "last"}})), ("last", 1, 0), "what is kept")


@test
def wrong_waits_are_refused_as_everywhere(scene):
    server = cat(scene)
    for until, path in (
        ({"pattern": {}}, "until.pattern"),
        ({"pattern": {"text": "a", "regex": "b"}}, "until.pattern"),
        ({"pattern": {"regex": "("}}, "until.pattern.regex"),
        ({"pattern": {"text": ""}}, "until.pattern.text"),
        ({"port": 65536}, "until.port"),
        ({"prot": 1}, "until.prot"),
    ):
        error = server.refused("process/read", {"processId": "a", "until": until}, -32602, "invalidParams")
        equal(error["data"]["path"], path, "path of %s" % until)


@test
def eight_waits_for_one_process_and_a_cancelled_one_makes_room(scene):
    server = cat(scene)
    waiting = [read_later(server, {"pattern": {"text": "now"}}) for _ in range(8)]
    server.error(read_later(server, {"bytes": 1}), -32600, "limit")
    server.notify("$/cancelRequest", {"id": waiting[0]})
    server.error(waiting.pop(0), -32800, "cancelled")
    waiting.append(read_later(server, {"pattern": {"text": "now"}}))
    server.write("a", b"now")
    for request in waiting:
        equal(found(server.result(request)), ("now", 1, 0), "match")


@test
def a_wait_does_not_change_other_reads_or_notifications(scene):
    server = cat(scene)
    waiting = read_later(server, {"pattern": {"text": "end"}})
    server.write("a", b"one")
    server.wait_output("a", b"one")
    answer = server.read("a", waitMs=FOREVER)
    equal((text_of(answer), "waitEnd" in answer), ("one", False), "a read without until")
    server.write("a", b" end", closeStdin=True)
    equal(text_of(server.result(waiting)), "one end", "the wait")
    server.wait_closed("a")
    equal(server.output("a"), b"one end", "notifications")


@test
def much_output_is_searched_to_its_end(scene):
    server = scene.server()
    server.start_shell("a", "seq 1 300000; echo the end")
    answer = read(server, {"pattern": {"text": "\nthe end"}})
    equal(found(answer)[1], 300000, "line")
    equal(found(answer)[2], sum(len(str(i)) + 1 for i in range(1, 300001)) - 1, "offset")
    check(answer["lostBytes"] > 0, "all of it was kept")


if __name__ == "__main__":
    main()

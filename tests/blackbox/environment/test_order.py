"""Notifications of an environment in any order, twice, or missing: the client gets them in order."""

import os
import sys
import time

sys.path.insert(0, os.path.abspath(__file__ + "/../../.."))
from support.client import brief, check, equal, eventually, within
from support.peer import LAST, completed, failed, fake, fate, later, played, running, works_here
from support.runner import main, test

# Events of a program that ends with 3, and its whole text.
PLAY = [
    ["stdout", "one\n"],
    ["stderr", "two\n"],
    ["stdout", "three\n"],
    ["exited", 3],
    ["closed"],
]
TEXT = "one\ntwo\nthree\n"
PIECE = 49152
NOTHING = {"chunks": [], "nextSeq": 1, "exited": False, "closed": False, "failure": None}


# Order


def is_in_order(scene, play=PLAY, text=TEXT, code=3, **script):
    """Checks that the text and the end are those of the play, in whatever order the events come."""
    server, _ = fake(scene, play=play, **script)
    for call in ("first", "second"):
        result = server.exec(["prog"], environment="box", callId=call, yieldTimeMs=30000)
        equal(completed(result, code), text, "output of %s" % call)
        program = server.wait_end_of_call(call)
        equal(program.text(), text, "deltas of %s" % call)
        parts = {"stdout": "", "stderr": ""}
        for stream, part in (event for event in play if event[0] in parts):
            parts[stream] += part
        for name, part in parts.items():
            wanted = part.encode("utf-8", "surrogateescape").decode()
            equal(program.end[name], wanted, "%s of %s" % (name, call))
        equal((program.end["exitCode"], program.end["omittedBytes"]), (code, 0), "end")
    equal(len(server.programs_by_id), 2, "programs")


@test
def output_in_order_is_told_in_order(scene):
    is_in_order(scene)


@test
def output_may_come_before_the_answer_of_the_start(scene):
    is_in_order(scene, disorder=["output before reply"])


@test
def the_close_may_come_before_the_exit(scene):
    is_in_order(scene, disorder=["closed first"])


@test
def all_may_be_shuffled(scene):
    lines = ["%d\n" % number for number in range(400)]
    play = [["stdout", line] for line in lines] + [["exited", 0], ["closed"]]
    is_in_order(scene, play, "".join(lines), 0, disorder=["shuffled", "output before reply"])


@test
def what_comes_twice_is_told_once(scene):
    is_in_order(scene, disorder=["twice"])


@test
def what_comes_again_later_is_told_once(scene):
    is_in_order(scene, disorder=["backwards"])


@test
def news_of_strangers_are_ignored(scene):
    is_in_order(scene, disorder=["strangers"])


@test
def all_disorders_at_once_are_set_right(scene):
    disorder = ["output before reply", "closed first", "shuffled", "twice", "backwards"]
    is_in_order(scene, disorder=[*disorder, "strangers"], withheld=[2])


@test
def the_exit_may_have_a_number_before_the_output(scene):
    play = [["exited", 3], *PLAY[:3], ["closed"]]
    is_in_order(scene, play)


@test
def characters_may_be_cut_anywhere(scene):
    play = [["stdout", "caf\udcc3"], ["stdout", "\udca9\n"], ["exited", 0], ["closed"]]
    is_in_order(scene, play, "café\n", 0)


def gap(seqs):
    """Makes a test of notifications that never arrive."""

    def one(scene):
        is_in_order(scene, withheld=seqs)

    one.__name__ = "a_gap_at_%s_is_filled_by_reading" % "_".join(map(str, seqs))
    test(one)


for numbers in ([1], [2], [3], [2, 3], [1, 2, 3], [4], [2, 4]):
    gap(numbers)


@test
def a_close_that_never_comes_holds_nothing_up(scene):
    is_in_order(scene, withheld=[5])


@test
def a_gap_in_a_program_that_goes_on_is_filled(scene):
    play = [["stdout", "one\n"], ["stdout", "two\n"], ["stdout", "three\n"]]
    server, _ = fake(scene, play=play, withheld=[2])
    process_id = server.left_running(["prog"], environment="box")
    program = server.wait_delta(process_id, "three\n")
    equal(program.text(), TEXT, "deltas")
    server.call("exec/terminate", {"processId": process_id})
    equal(server.wait_end(process_id).end["exitCode"], 137, "exit code")


@test
def what_nobody_has_any_more_is_left_out_and_the_rest_is_told(scene):
    server, _ = fake(scene, play=PLAY, withheld=[2], evicted=2)
    result = server.exec(["prog"], environment="box", callId="c", yieldTimeMs=30000)
    output = completed(result, 3)
    check(output.startswith("one\n") and output.endswith("three\n"), "output %r" % output)
    equal(server.wait_end_of_call("c").end["exitCode"], 3, "exit code")


@test
def an_exit_without_a_code_is_no_success(scene):
    server, _ = fake(scene, play=PLAY, disorder=["no exit code"])
    result = server.exec(["prog"], environment="box", callId="c", yieldTimeMs=30000)
    check(result["exitCode"] in (3, -1), "exit code in %s" % brief(result, 400))
    end = server.wait_end_of_call("c").end
    equal((end["status"], end["aggregatedOutput"]), ("failed", TEXT), "end")


@test
def output_that_cannot_be_decoded_is_read_again_or_the_call_fails(scene):
    server, _ = fake(scene, play=PLAY, disorder=["bad base64"])
    result = server.exec(["prog"], environment="box", callId="c", yieldTimeMs=30000)
    server.wait_end_of_call("c")
    if result["state"] == "completed":
        equal(completed(result, 3), TEXT, "output")
    else:
        failed(result, "environmentLost")


@test
def starts_may_be_answered_in_another_order(scene):
    server, _ = fake(scene, "execward", starts_at_once=3)
    words = ("a", "b", "c")
    ids = [server.exec_later(["/bin/echo", word], environment="box") for word in words]
    for word, message_id in zip(words, ids):
        equal(completed(server.result(message_id)), word + "\n", "output")


@test
def a_banner_before_the_first_answer_is_skipped(scene):
    banner = "Last login: yesterday\n\n  *** Be {nice}! ***\r\n[1] mail\n\"hello\"\n"
    is_in_order(scene, fates=[{"at": "begin", "do": "say", "text": banner}])


@test
def lines_that_are_no_messages_are_skipped_later_too(scene):
    is_in_order(scene, fates=[{"at": "output", "do": "say", "text": "warning: {odd}\n"}])


# A gap at the end


def gap_at_the_end(scene, play, pieces):
    """The first piece never arrives, and after this number of pieces the other side ends."""
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


# Missing notifications


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


if __name__ == "__main__":
    main()

"""A client that does not read: memory is bounded, control works, everything arrives later."""

import fcntl
import hashlib
import os
import sys
import threading
import time

sys.path.insert(0, os.path.abspath(__file__ + "/../../.."))
from support.client import (
    PYTHON,
    check,
    decoded,
    encoded,
    equal,
    eventually,
    is_alive,
    is_whole_text,
    wait_stalled,
    within,
)
from support.programs import FILLS_A_WIDE_PIPE, FLOOD, REPEATED, flood_md5, progress
from support.runner import main, test

MIB = 1 << 20


@test(alone=True)
def an_unread_client_stops_the_program_and_loses_nothing(scene):
    server = scene.server()
    counter, blocks = scene.path("counter"), 3000
    server.answers()
    before = server.resident_bytes()
    server.stop_reading()
    server.request(
        "process/start",
        server.start_params("p", [PYTHON, "-S", "-c", FLOOD, str(blocks), "16384", counter]),
    )

    eventually(lambda: os.path.exists(counter), "the start of the program")
    reached = wait_stalled(lambda: progress(counter), "it runs on although nobody reads")
    grown = server.resident_bytes() - before

    check(
        reached * 16384 < 8 * MIB,
        "%d MiB were taken from a program whose output nobody reads" % (reached * 16384 // MIB),
    )
    if not server.is_sanitized():
        check(grown < 8 * MIB, "memory grew by %d KiB" % (grown >> 10))
    server.resume_reading()
    process = server.wait_closed("p")
    equal(
        (process.exited["exitCode"], process.sizes["stdout"], process.md5()),
        (0, blocks * 16384, flood_md5(blocks, 16384)),
        "code, size, md5",
    )


@test(alone=True)
def many_floods_with_an_unread_client_stay_within_bounds(scene):
    server = scene.server()
    server.answers()
    before = server.resident_bytes()
    for number in range(16):
        server.start_python("p%d" % number, FLOOD, "400", "16384", scene.path("c%d" % number))
    server.wait(
        lambda: all(server.process("p%d" % number).size() > 0 for number in range(16)),
        "output of each",
    )
    server.stop_reading()
    wait_stalled(
        lambda: sum(progress(scene.path("c%d" % number)) for number in range(16)), "programs run on"
    )
    if not server.is_sanitized():
        grown = server.resident_bytes() - before
        check(grown < 16 * 2 * MIB + 16 * MIB, "memory grew by %d MiB" % (grown // MIB))
    server.resume_reading()
    for number in range(16):
        process = server.wait_closed("p%d" % number)
        equal(
            (process.sizes["stdout"], process.md5()),
            (400 * 16384, flood_md5(400, 16384)),
            "size and md5 of %d" % number,
        )


@test
def control_requests_act_while_nobody_reads(scene):
    server = scene.server()
    server.start("flood", ["yes"])
    server.start("terminal", ["yes"], tty=True)
    server.start("cat", ["sh", "-c", "cat > copy"], pipeStdin=True)
    pids = [server.entry(name)["pid"] for name in ("flood", "terminal")]
    server.stop_reading()
    wait_stalled(lambda: server.resident_bytes() >> 16, "memory grows", 0.5)

    ids = [
        server.request("process/terminate", {"processId": name}) for name in ("flood", "terminal")
    ]
    eventually(lambda: not any(map(is_alive, pids)), "the end of the floods")
    ids.append(
        server.request("process/start", server.start_params("late", ["touch", scene.path("late")]))
    )
    eventually(lambda: os.path.exists(scene.path("late")), "a start that takes effect")
    ids.append(server.request("process/write", {"processId": "cat", "chunk": "aGVsbG8="}))
    eventually(
        lambda: os.path.exists(scene.path("copy")) and os.path.getsize(scene.path("copy")) == 5,
        "a write that takes effect",
    )

    server.resume_reading()
    for message_id in ids:
        server.result(message_id)
    for name in ("flood", "terminal", "late"):
        server.wait_closed(name)


@test
def a_time_limit_is_kept_while_nobody_reads(scene):
    server = scene.server()
    server.start("flood", ["yes"], timeoutMs=1500)
    pid = server.entry("flood")["pid"]
    server.stop_reading()
    eventually(lambda: not is_alive(pid), "the end of the flood at its time limit")
    server.resume_reading()
    equal(server.wait_closed("flood").exited["timedOut"], True, "timedOut")


@test
def a_time_limit_is_kept_in_an_endless_flood(scene):
    server = scene.server()
    server.start("flood", ["yes"], timeoutMs=int(within(4000)))
    process = server.wait_closed("flood")
    equal(
        (process.exited["timedOut"], process.exited["signal"]),
        (True, "SIGKILL"),
        "timedOut and signal",
    )
    check(process.size() > MIB, "hardly any output came")


@test(alone=True)
def two_hundred_large_answers_that_nobody_reads_yet_all_arrive(scene):
    server = scene.server()
    server.run_shell("p", "head -c 65536 /dev/zero | tr '\\0' k")
    server.stop_reading()
    ids = [server.request("process/read", {"processId": "p"}) for _ in range(200)]
    server.resume_reading()
    for message_id in ids:
        chunks = server.result(message_id)["chunks"]
        equal(sum(len(decoded(chunk["chunk"])) for chunk in chunks), 65536, "bytes of an answer")


def fill_the_lane_of_answers(server):
    """Stops reading, and lets answers pile up until no output is sent any more."""
    server.run_shell("large", "head -c 1000000 /dev/zero | tr '\\0' k")
    server.stop_reading()
    return server.request_at_once([("process/read", {"processId": "large"})] * 2)


@test
def a_read_may_begin_behind_what_was_sent(scene):
    server = scene.server()
    ids = fill_the_lane_of_answers(server)
    script = "echo out; echo err >&2; echo out; echo err >&2"
    places = range(9)
    for after in places:
        params = server.start_params("p%d" % after, ["sh", "-c", script])
        ids.append(server.request("process/start", params))
    server.wait_idle()
    eventually(lambda: not server.programs(), "the end of the programs")
    server.wait_idle()

    reads = [
        server.request("process/read", {"processId": "p%d" % after, "afterSeq": after, **options})
        for after in places
        for options in ({"maxBytes": 1}, {"maxBytes": 1, "waitMs": 1})
    ]
    server.resume_reading()
    for message_id in ids:
        server.result(message_id)
    for after, message_id in enumerate(reads):
        chunks = server.result(message_id)["chunks"]
        check(all(chunk["seq"] > after // 2 for chunk in chunks), "chunks of %d" % (after // 2))
    for after in places:
        process = server.wait_closed("p%d" % after)
        output = (process.output("stdout"), process.output("stderr"))
        equal(output, (b"out\n" * 2, b"err\n" * 2), "output of %d" % after)


@test
def text_that_a_slow_client_takes_is_never_cut_inside_a_character(scene):
    server = scene.server()
    text = "\u20ac\U0001f600".encode()
    for number, tty in enumerate((False, True)):
        name = "p%d" % number
        server.start_python(name, REPEATED, text.hex(), "100000", "65521", tty=tty)
        while not server.process(name).closed:
            server.stop_reading()
            server.wait_idle(0.7)  # longer than bytes are held
            seen = server.received_bytes
            server.resume_reading()
            server.wait(
                lambda: server.received_bytes > seen + 500000 or server.process(name).closed,
                "further output",
            )
        process = server.process(name)
        equal(process.output(), text * 100000, "bytes, tty=%s" % tty)
        cut = [seq for seq, _, data in process.chunks if not is_whole_text(data)]
        check(not cut, "chunks that end inside a character, tty=%s: %s" % (tty, cut[:9]))


@test(alone=True)
def requests_without_end_from_a_client_that_does_not_read_are_bounded(scene):
    server = scene.server()
    server.run_shell("p", "head -c 1000000 /dev/zero | tr '\\0' k")
    server.answers()
    before = server.resident_bytes()
    server.stop_reading()
    ids = [server.new_id() for _ in range(600)]
    for message_id in ids:
        server.expect(message_id, "process/read")
    sent = [0]

    def ask():
        for message_id in ids:
            server.send_bytes(
                b'{"id": %d, "method": "process/read", "params": {"processId": "p", "pad": "%s"}}\n'
                % (message_id, b"x" * 4000)
            )
            sent[0] += 1

    asking = threading.Thread(target=ask)
    asking.start()
    wait_stalled(lambda: sent[0], "requests are taken without end")
    grown = server.resident_bytes() - before
    if not server.is_sanitized():
        check(
            grown < 200 * MIB,
            "memory grew by %d MiB with 600 MB of answers unread" % (grown // MIB),
        )
    server.resume_reading()
    asking.join()
    for message_id in ids:
        equal(
            sum(len(decoded(chunk["chunk"])) for chunk in server.result(message_id)["chunks"]),
            1000000,
            "bytes of an answer",
        )


@test
def ten_thousand_requests_sent_before_reading_are_all_answered(scene):
    server = scene.server()
    server.stop_reading()
    ids = [server.expect(number, "environment/status") for number in range(1000, 11000)]
    sending = threading.Thread(
        target=lambda: [
            server.send_bytes(b'{"id": %d, "method": "environment/status"}\n' % n) for n in ids
        ]
    )
    sending.start()
    sending.join(2)
    server.resume_reading()
    sending.join()
    for message_id in ids:
        server.result(message_id)


@test
def a_reader_in_fits_and_starts_gets_everything(scene):
    server = scene.server()
    server.start("p", ["seq", "1", "1000000"])
    for _ in range(40):
        server.stop_reading()
        seen = server.received_bytes
        server.resume_reading()
        server.wait(
            lambda: server.received_bytes > seen or server.process("p").closed, "further bytes"
        )
    process = server.wait_closed("p")
    wanted = hashlib.md5(b"".join(b"%d\n" % n for n in range(1, 1000001))).hexdigest()
    equal((process.exited["exitCode"], process.md5()), (0, wanted), "code and md5")


@test(alone=True)
def short_programs_run_beside_floods(scene):
    server = scene.server()
    for number in range(8):
        server.start("flood%d" % number, ["yes"], tty=bool(number % 2))
    took = []
    for number in range(40):
        begin = time.monotonic()
        equal(server.run_shell("p%d" % number, "echo here"), (0, b"here\n"), "code and output")
        took.append(time.monotonic() - begin)
    # The machine itself may stall for a while, and delay one or two.
    slow = sorted(took)[-3]
    check(slow < within(3), "short programs took %.1f s beside floods" % slow)


@test(alone=True)
def typing_is_echoed_beside_floods(scene):
    server = scene.server()
    server.start("p", ["cat"], pipeStdin=True)
    for number in range(8):
        server.start("flood%d" % number, ["yes"])
    took = []
    for number in range(60):
        begin = time.monotonic()
        server.write("p", b"%03d." % number)
        server.wait_output("p", b"%03d." % number)
        took.append(time.monotonic() - begin)
    check(sorted(took)[30] < within(1), "half of the echoes took over %.2f s" % sorted(took)[30])


@test
def a_stalled_client_delays_no_exit_of_others(scene):
    server = scene.server()
    server.start("flood", ["yes"])
    server.stop_reading()
    ids = [
        server.request(
            "process/start", server.start_params("p%d" % n, ["sh", "-c", "echo x; exit %d" % n])
        )
        for n in range(20)
    ]
    server.resume_reading()
    for n, message_id in enumerate(ids):
        server.result(message_id)
        equal(server.finished("p%d" % n), (n, b"x\n"), "code and output")


@test
def what_piled_up_from_ended_programs_arrives_without_a_further_request(scene):
    server = scene.server()
    fcntl.fcntl(server.child.stdout, fcntl.F_SETPIPE_SZ, MIB)
    for base in range(0, 20, 4):
        names = ["p%d" % number for number in range(base, base + 4)]
        server.stop_reading()
        for name in names:
            argv = [PYTHON, "-S", "-c", FILLS_A_WIDE_PIPE, "1040000"]
            server.request("process/start", server.start_params(name, argv))
        server.wait_idle()
        eventually(lambda: not server.programs(), "the end of the programs")

        server.resume_reading()

        for name in names:
            equal(server.wait_closed(name).sizes, {"stdout": 1040000}, "bytes of " + name)


@test(alone=True)
def large_reads_in_one_write_cost_no_memory_while_nobody_takes_the_answers(scene):
    server = scene.server()
    server.run_shell("p", "head -c 1000000 /dev/zero | tr '\\0' k")
    server.answers()
    before = server.resident_bytes()
    server.stop_reading()
    ids = server.request_at_once([("process/read", {"processId": "p"})] * 300)
    server.wait_idle(1)
    if not server.is_sanitized():
        grown = server.resident_bytes() - before
        check(grown < 64 * MIB, "memory grew by %d MiB" % (grown // MIB))
    server.resume_reading()
    for message_id in ids:
        chunks = server.result(message_id)["chunks"]
        equal(sum(len(decoded(chunk["chunk"])) for chunk in chunks), 1000000, "bytes of an answer")


@test(alone=True)
def thousands_of_waiting_reads_woken_by_one_chunk_cost_no_memory(scene):
    server = scene.server()
    server.start("p", ["cat"], pipeStdin=True)
    asked = ("process/read", {"processId": "p", "waitMs": 600000})
    ids = server.request_at_once([asked] * 4000)
    server.answers()
    before = server.resident_bytes()
    server.stop_reading()
    writing = server.request(
        "process/write", {"processId": "p", "chunk": encoded(b"k" * 40000), "closeStdin": True}
    )
    server.wait_idle(1)
    if not server.is_sanitized():
        grown = server.resident_bytes() - before
        check(grown < 64 * MIB, "memory grew by %d MiB" % (grown // MIB))
    server.resume_reading()
    server.result(writing)
    for message_id in ids:
        check(server.result(message_id)["chunks"], "a woken read brought nothing")


if __name__ == "__main__":
    main()

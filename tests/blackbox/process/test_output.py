"""Output of programs: every byte, in order, in whole characters, at once and for a later read."""

import os
import sys
import time

sys.path.insert(0, os.path.abspath(__file__ + "/../../.."))
from support.client import (
    PYTHON,
    check,
    decoded,
    equal,
    eventually,
    is_whole_text,
    kill_quietly,
    within,
)
from support.programs import (
    ALL_BYTES,
    ALTERNATING,
    BYTE_BY_BYTE,
    FILLS_A_WIDE_PIPE,
    FLOOD,
    PRINTS_ALL_IT_CAN,
    REPEATED,
    flood_md5,
)
from support.runner import main, test

MIB = 1 << 20


@test
def every_byte_value_passes_a_pipe_and_a_terminal(scene):
    server = scene.server()
    everything = bytes(range(256)) * 3
    server.start_python("out", ALL_BYTES, "1", "3")
    equal(server.finished("out"), (0, everything), "code and bytes of stdout")
    server.start_python("err", ALL_BYTES, "2", "3")
    equal(server.finished("err"), (0, everything), "code and bytes of stderr")
    server.start_python("tty", ALL_BYTES, "1", "3", tty=True)
    equal(server.finished("tty"), (0, everything), "code and bytes of a raw terminal")
    server.start_python("cooked", "import os; os.write(1, bytes(range(256)))", tty=True)
    equal(
        server.finished("cooked"),
        (0, bytes(range(256)).replace(b"\n", b"\r\n")),
        "code and bytes of a plain terminal",
    )


@test
def streams_are_named_and_each_keeps_its_order(scene):
    server = scene.server()
    server.start_shell("p", "for i in 1 2 3 4 5 6 7 8 9; do echo out$i; echo err$i >&2; done")
    process = server.wait_closed("p")
    equal(process.output("stdout"), b"".join(b"out%d\n" % n for n in range(1, 10)), "stdout")
    equal(process.output("stderr"), b"".join(b"err%d\n" % n for n in range(1, 10)), "stderr")
    server.run_shell("t", "echo out; echo err >&2", tty=True)
    equal(set(server.process("t").sizes), {"pty"}, "streams of a terminal")


CHARACTERS = "A\u00e9\u20ac\U0001f600\u4e2d\u007f\u0800\uffff|".encode()


@test
def a_character_that_arrives_byte_by_byte_is_never_cut(scene):
    server = scene.server("--utf8-hold=20000")
    for number, tty in enumerate((False, True)):
        name = "p%d" % number
        server.start_python(name, BYTE_BY_BYTE, CHARACTERS.hex(), tty=tty)
        process = server.wait_closed(name)
        equal(process.output(), CHARACTERS, "bytes, tty=%s" % tty)
        cut = [data for _, _, data in process.chunks if not is_whole_text(data)]
        check(not cut, "chunks that end inside a character, tty=%s: %s" % (tty, cut))


@test
def large_text_is_never_cut_inside_a_character(scene):
    server = scene.server("--utf8-hold=20000")
    text = "\u2500\U0001f600a\u00e9".encode()
    server.start_python("p", REPEATED, text.hex(), "300000", "65537")
    process = server.wait_closed("p")
    equal(process.output(), text * 300000, "bytes")
    cut = [seq for seq, _, data in process.chunks if not is_whole_text(data)]
    check(not cut, "chunks that end inside a character: %s" % cut[:9])


@test
def half_a_character_is_not_held_for_ever(scene):
    server = scene.server()
    for number, tty in enumerate((False, True)):
        name = "p%d" % number
        server.start_shell(name, "printf 'ab\\360\\237\\230'; exec sleep 600", tty=tty)
        server.wait(
            lambda: server.output(name) == b"ab\xf0\x9f\x98",
            "all five bytes while the program lives, tty=%s" % tty,
        )


@test
def half_a_character_at_the_end_comes_before_exited(scene):
    server = scene.server("--utf8-hold=20000")
    for number, tty in enumerate((False, True)):
        name = "p%d" % number
        equal(
            server.run_shell(name, "printf 'ab\\360\\237\\230'", tty=tty),
            (0, b"ab\xf0\x9f\x98"),
            "code and bytes, tty=%s" % tty,
        )
        process = server.process(name)
        check(
            process.chunks[-1][0] < process.exited["seq"],
            "the last byte came after exited, tty=%s" % tty,
        )


@test
def half_a_character_at_the_end_of_a_terminal_that_is_held_open_is_its_output(scene):
    server = scene.server("--utf8-hold=20000")
    script = "trap '' HUP; sleep 600 & printf 'ab\\342\\202'; sleep .05"
    server.start_shell("p", script, tty=True)
    server.wait_exited("p")
    equal(
        [(stream, data) for _, stream, data in server.process("p").chunks],
        [("pty", b"ab"), ("pty", b"\xe2\x82")],
        "chunks before the exit",
    )


@test
def bytes_that_are_no_text_are_not_delayed_by_the_hold(scene):
    server = scene.server("--utf8-hold=20000")
    server.start_shell("p", "printf 'ab\\377\\376\\200\\300'; exec sleep 600")
    server.wait(
        lambda: server.output("p")[:5] == b"ab\xff\xfe\x80", "bytes that can begin no character"
    )


@test
def the_newest_mebibyte_stays_readable_and_the_loss_is_counted(scene):
    server = scene.server()
    server.start_python("p", FLOOD, "40", "65536")
    process = server.wait_closed("p")
    everything = process.output()
    equal(len(everything), 40 * 65536, "bytes that were sent")

    answer = server.read("p")

    kept = b"".join(decoded(chunk["chunk"]) for chunk in answer["chunks"])
    check(MIB - 65536 <= len(kept) <= MIB, "%d bytes are readable" % len(kept))
    equal(kept, everything[-len(kept) :], "what is readable")
    equal(answer["lostBytes"], len(everything) - len(kept), "lostBytes")
    equal(answer["firstSeq"], answer["chunks"][0]["seq"], "firstSeq")


@test
def nothing_is_lost_below_a_mebibyte(scene):
    server = scene.server()
    server.run_shell("p", "head -c 1000000 /dev/zero")
    answer = server.read("p")
    equal(
        (
            sum(len(decoded(chunk["chunk"])) for chunk in answer["chunks"]),
            answer["lostBytes"],
            answer["firstSeq"],
        ),
        (1000000, 0, 1),
        "size, lostBytes, firstSeq",
    )


@test(alone=True)
def no_more_than_8192_chunks_are_kept_however_small(scene):
    server = scene.server()
    server.start("p", ["cat"], pipeStdin=True)
    total = 8300
    for number in range(total):
        server.request("process/write", {"processId": "p", "chunk": "eA=="})
        server.wait(lambda: server.process("p").size() > number, "byte %d" % number)

    answer = server.read("p")

    equal(
        sum(len(decoded(chunk["chunk"])) for chunk in answer["chunks"]) + answer["lostBytes"],
        total,
        "kept and lost bytes",
    )
    check(len(answer["chunks"]) <= 8192, "%d chunks are kept" % len(answer["chunks"]))
    if len(server.process("p").chunks) > 8192:
        check(
            answer["lostBytes"] > 0 and answer["firstSeq"] > 1,
            "no loss is told: firstSeq %d" % answer["firstSeq"],
        )


@test
def reading_takes_nothing_away_and_agrees_with_the_notifications(scene):
    server = scene.server()
    server.start_shell("p", "for i in 1 2 3 4 5; do echo line $i; sleep 0.05; done; echo end >&2")
    process = server.wait_closed("p")
    for _ in range(2):
        chunks = [
            (chunk["seq"], chunk["stream"], decoded(chunk["chunk"]))
            for chunk in server.read("p")["chunks"]
        ]
        equal(chunks, process.chunks, "chunks of read and of the notifications")


@test
def a_reader_who_polls_meanwhile_sees_the_same_chunks(scene):
    server = scene.server()
    slow = FLOOD.replace("import", "import time,").replace(
        "data = block", "time.sleep(0.01); data = block"
    )
    server.start_python("p", slow, "15", "65536")
    after, polled = 0, []
    while True:
        answer = server.read("p", afterSeq=after, waitMs=10000)
        equal(answer["lostBytes"], 0, "lostBytes")
        polled += [(chunk["seq"], decoded(chunk["chunk"])) for chunk in answer["chunks"]]
        after = answer["nextSeq"] - 1
        if answer["closed"]:
            break
    equal(sum(len(data) for _, data in polled), 15 * 65536, "bytes that were polled")
    server.wait_closed("p")
    sent = {seq: data for seq, _, data in server.process("p").chunks}
    for seq, data in polled:
        check(sent.get(seq) == data, "chunk %d differs between read and notification" % seq)


@test
def pages_put_together_are_the_whole(scene):
    server = scene.server()
    server.start_python("p", ALTERNATING)
    process = server.wait_closed("p")
    for limit in (0, 1, 100, 5000, 1000000):
        after, pages = 0, []
        while True:
            answer = server.read("p", afterSeq=after, maxBytes=limit)
            sizes = [len(decoded(chunk["chunk"])) for chunk in answer["chunks"]]
            check(
                len(sizes) <= 1 or sum(sizes) <= limit,
                "a page of %d bytes for maxBytes %d" % (sum(sizes), limit),
            )
            if not sizes:
                equal(answer["nextSeq"], process.closed["seq"] + 1, "nextSeq past the last chunk")
                break
            equal(answer["nextSeq"], answer["chunks"][-1]["seq"] + 1, "nextSeq of a page")
            pages += [
                (chunk["seq"], chunk["stream"], decoded(chunk["chunk"]))
                for chunk in answer["chunks"]
            ]
            after = answer["nextSeq"] - 1
        equal(pages, process.chunks, "pages with maxBytes %d" % limit)


@test
def after_seq_is_exclusive(scene):
    server = scene.server()
    server.start("p", ["cat"], pipeStdin=True)
    for word in (b"one", b"two", b"three"):
        server.write("p", word)
        server.wait_output("p", word)
    equal(server.read_bytes("p"), b"onetwothree", "without afterSeq")
    equal(server.read_bytes("p", afterSeq=None), b"onetwothree", "with afterSeq null")
    equal(server.read_bytes("p", afterSeq=1), b"twothree", "after 1")
    equal(server.read_bytes("p", afterSeq=3), b"", "after 3")
    equal(server.read_bytes("p", afterSeq=2**64 - 1), b"", "after the greatest number")
    equal(server.read("p")["nextSeq"], 4, "nextSeq")


@test
def the_end_is_told_by_read_too(scene):
    server = scene.server()
    server.start("p", ["cat"], pipeStdin=True)
    answer = server.read("p")
    equal(
        (
            answer["exited"],
            answer["exitCode"],
            answer["closed"],
            answer["failure"],
            answer["sandboxDenied"],
        ),
        (False, None, False, None, False),
        "while it runs",
    )
    server.terminate("p")
    server.wait_closed("p")
    answer = server.read("p")
    equal(
        (answer["exited"], answer["exitCode"], answer["closed"], answer["signal"]),
        (True, 137, True, "SIGKILL"),
        "afterwards",
    )
    equal(
        answer["nextSeq"], server.process("p").closed["seq"] + 1, "nextSeq counts exited and closed"
    )


@test
def a_waiting_read_wakes_for_output_and_for_the_end(scene):
    server = scene.server()
    server.start("p", ["cat"], pipeStdin=True)

    waiting = server.request("process/read", {"processId": "p", "waitMs": 600000})
    server.write("p", b"hello")
    equal(
        [decoded(chunk["chunk"]) for chunk in server.result(waiting)["chunks"]],
        [b"hello"],
        "what woke the read",
    )

    waiting = server.request("process/read", {"processId": "p", "afterSeq": 1, "waitMs": 600000})
    server.call("process/closeStdin", {"processId": "p"})
    answer = server.result(waiting)
    equal(
        (answer["chunks"], answer["exited"], answer["exitCode"]), ([], True, 0), "what the end says"
    )


@test
def a_waiting_read_ends_empty_at_its_time(scene):
    server = scene.server()
    server.start("p", ["sleep", "600"])
    answer = server.read("p", waitMs=100)
    equal((answer["chunks"], answer["exited"], answer["nextSeq"]), ([], False, 1), "answer")
    equal(server.read("p", waitMs=0)["chunks"], [], "answer without a wait")


@test
def a_waiting_read_holds_up_nothing(scene):
    server = scene.server()
    server.start("p", ["cat"], pipeStdin=True)
    waiting = [
        server.request("process/read", {"processId": "p", "waitMs": 600000}) for _ in range(100)
    ]

    server.answers()
    equal(server.read("p")["chunks"], [], "a second read of the same process")
    equal(server.run_shell("q", "echo other"), (0, b"other\n"), "another process")
    check(
        not any(server.is_answered(message_id) for message_id in waiting),
        "a waiting read was answered early",
    )

    server.write("p", b"x")
    for message_id in waiting:
        equal(len(server.result(message_id)["chunks"]), 1, "chunks of a woken read")


@test
def after_the_exit_a_read_waits_for_what_still_comes(scene):
    server = scene.server()
    fifo = scene.path("fifo")
    os.mkfifo(fifo)
    server.start_shell("p", "(read line < %s; echo late) & echo early" % fifo)
    exited = server.wait_exited("p")

    at_once = server.read("p", waitMs=600000)
    equal(
        (at_once["exited"], at_once["closed"]),
        (True, False),
        "a read that does not know of the exit",
    )

    waiting = server.request(
        "process/read", {"processId": "p", "afterSeq": exited["seq"], "waitMs": 600000}
    )
    server.answers()
    check(not server.is_answered(waiting), "a read past the exit did not wait")
    with open(fifo, "w") as file:
        file.write("go\n")
    answer = server.result(waiting)
    check(
        answer["closed"] or [decoded(chunk["chunk"]) for chunk in answer["chunks"]] == [b"late\n"],
        "answer: %s" % answer,
    )
    equal(server.finished("p"), (0, b"early\nlate\n"), "code and output")


@test
def a_read_of_nothing_is_refused(scene):
    server = scene.server()
    server.refused("process/read", {"processId": "none"}, -32600, "unknownProcess")
    server.start("p", ["true"])
    for wrong in (
        {"afterSeq": -1},
        {"afterSeq": 1.5},
        {"maxBytes": -1},
        {"maxBytes": "1"},
        {"waitMs": -1},
        {"waitMs": True},
    ):
        server.refused("process/read", {"processId": "p", **wrong}, -32602, "invalidParams")


@test
def exited_does_not_wait_for_a_descendant_that_holds_the_pipe(scene):
    server = scene.server()
    server.start_shell("p", "sleep 600 & echo done; exit 4")
    exited = server.wait_exited("p")
    equal(
        (exited["exitCode"], server.output("p")),
        (4, b"done\n"),
        "code and the output before exited",
    )
    check(not server.process("p").closed, "closed although a descendant holds the pipe")
    equal(server.read("p")["closed"], False, "closed of read")
    for pid in server.entry("p")["descendants"]:
        kill_quietly(pid)
    server.wait_closed("p")


@test
def exited_does_not_wait_for_a_descendant_that_holds_the_terminal(scene):
    server = scene.server()
    for number, script in enumerate(
        ("trap '' HUP; sleep 600 &", "(setsid sleep 600 &) ; sleep 0.1;")
    ):
        name = "p%d" % number
        server.start_shell(name, script + " echo done; exit 4", tty=True)
        exited = server.wait_exited(name)
        equal((exited["exitCode"], server.output(name)), (4, b"done\r\n"), "code and output")
        server.terminate(name)
        server.wait_closed(name)


@test
def what_was_written_before_the_exit_comes_before_exited(scene):
    server = scene.server()
    for base in range(0, 60, 20):
        for n in range(base, base + 20):
            server.request(
                "process/start",
                server.start_params(
                    "p%d" % n,
                    ["sh", "-c", "head -c 20480 /dev/zero | tr '\\0' h; printf END"],
                    tty=bool(n % 2),
                ),
            )
        for n in range(base, base + 20):
            server.wait(lambda: "p%d" % n in server.processes, "start of %d" % n)
            process = server.wait_closed("p%d" % n)
            equal(
                (process.size(), process.output()[-4:]), (20483, b"hEND"), "size and tail of %d" % n
            )
            check(
                process.chunks[-1][0] < process.exited["seq"], "output of %d came after exited" % n
            )


@test
def the_words_of_a_program_that_fails_at_once_are_kept(scene):
    server = scene.server()
    for number in range(50):
        name = "p%d" % number
        server.start_shell(name, "echo boom >&2; exit 1")
        server.wait_closed(name)
        answer = server.read(name, waitMs=1000)
        equal(
            ([(c["stream"], decoded(c["chunk"])) for c in answer["chunks"]], answer["exitCode"]),
            ([("stderr", b"boom\n")], 1),
            "read of %s" % name,
        )


@test(alone=True)
def a_flood_arrives_whole(scene):
    server = scene.server()
    server.start_python("p", FLOOD, "1000", "65536")
    process = server.wait_closed("p")
    equal(
        (process.exited["exitCode"], process.sizes["stdout"], process.md5()),
        (0, 65536000, flood_md5(1000, 65536)),
        "code, size and md5",
    )
    server.start_python("t", "import tty; tty.setraw(1)" + FLOOD, "200", "65536", tty=True)
    process = server.wait_closed("t")
    equal(
        (process.exited["exitCode"], process.sizes["pty"], process.md5("pty")),
        (0, 200 * 65536, flood_md5(200, 65536)),
        "code, size and md5",
    )


@test
def small_writes_are_gathered(scene):
    server = scene.server()
    server.start_python("p", "import os\nfor i in range(1, 100001): os.write(1, b'%d\\n' % i)")
    process = server.wait_closed("p")
    equal(process.output(), b"".join(b"%d\n" % n for n in range(1, 100001)), "bytes")
    check(
        process.closed["seq"] < 60000,
        "%d notifications for 100000 small writes" % process.closed["seq"],
    )


@test
def a_prompt_without_a_newline_arrives(scene):
    server = scene.server()
    for number, tty in enumerate((False, True)):
        name = "p%d" % number
        server.start_shell(
            name,
            "printf 'Password: '; read secret; echo; echo length ${#secret}",
            tty=tty,
            pipeStdin=True,
        )
        server.wait_output(name, b"Password: ")
        server.write(name, b"hunter2\n")
        check(b"length 7" in server.finished(name)[1], "output: %r" % server.output(name))


@test
def closed_waits_no_longer_than_a_grace_when_one_is_set(scene):
    server = scene.server("--close-grace=200")
    server.start_shell("p", "sleep 600 & echo done")
    server.wait_closed("p")
    equal(len(server.entry("p")["descendants"]), 1, "living descendants")
    server.terminate("p")
    eventually(lambda: not server.programs(), "the end of the descendant")


@test
def fifty_silent_ends_are_each_told_once(scene):
    server = scene.server()
    for number in range(50):
        server.start_shell("p%d" % number, "sleep 0.%02d" % (number % 10 * 3))
    for number in range(50):
        equal(server.finished("p%d" % number), (0, b""), "code and output of %d" % number)
        equal(server.process("p%d" % number).closed["seq"], 2, "seq of closed")


@test(alone=True)
def exited_comes_at_once_though_a_daemon_holds_the_terminal(scene):
    seen = {}

    def listen(message):
        params = message.get("params", {})
        seen[params.get("processId"), message.get("method")] = time.monotonic()

    server, took = scene.server(listener=listen), []
    gate = scene.path("gate")
    os.mkfifo(gate)
    script = "(setsid sh -c 'echo up; read line <\"$0\"; echo late' \"$0\" &); read x; echo end"
    for number in range(8):
        name = "p%d" % number
        server.start(name, ["sh", "-c", script, gate], tty=True)
        server.wait_output(name, b"up\r\n")
        server.write(name, b"\n")
        server.wait_exited(name)
        took.append(seen[name, "process/exited"] - seen[name, "process/output"])
        check(not server.process(name).closed, "closed although the terminal is held")
        with open(gate, "w") as file:
            file.write("go\n")
        check(server.finished(name)[1].endswith(b"end\r\nlate\r\n"), "output of the daemon")
    check(min(took) < within(0.1), "exited came %.2f s after the last word" % min(took))


@test
def all_that_a_terminal_was_given_comes_before_exited_however_late_it_is_read(scene):
    server = scene.server()
    server.stop_reading()
    pauses = {"flood": "0", "bursts": "0.115"}  # the server treats a program that pauses as interactive
    for name, pause in pauses.items():
        argv = [PYTHON, "-S", "-c", PRINTS_ALL_IT_CAN, scene.path(name), pause]
        server.request("process/start", server.start_params(name, argv, tty=True))
    for name in pauses:
        eventually(lambda: os.path.exists(scene.path(name)), "the end of " + name)
    eventually(lambda: not server.programs(), "the end of the programs")
    server.wait_idle()

    server.resume_reading()

    for name in pauses:
        process = server.wait_closed(name)
        with open(scene.path(name)) as file:
            equal(process.sizes, {"pty": int(file.read())}, "bytes of " + name)
        check(process.chunks[-1][0] < process.exited["seq"], "%s printed after exited" % name)


@test(alone=True)
def a_grace_that_ends_before_the_client_reads_costs_neither_work_nor_bytes(scene):
    server = scene.server("--close-grace=100")
    server.start("flood", ["yes"])
    server.wait(lambda: server.process("flood").size() > 0, "output of the flood")
    server.stop_reading()
    script = '"$0" -S -c "$1" 1100000; touch ended'
    argv = ["sh", "-c", script, PYTHON, FILLS_A_WIDE_PIPE]
    server.request("process/start", server.start_params("p", argv))
    eventually(lambda: os.path.exists(scene.path("ended")), "the last bytes of the program")
    eventually(lambda: len(server.programs()) == 1, "the end of the program")
    time.sleep(0.5)  # longer than the grace period
    server.wait_idle()

    before = server.busy_seconds()
    time.sleep(1.5)
    busy = server.busy_seconds() - before

    check(busy < 0.15, "%.2f s of work in 1.5 s in which nothing can happen" % busy)
    server.resume_reading()
    process = server.wait_closed("p")
    equal(process.sizes, {"stdout": 1100000}, "bytes")
    server.terminate("flood")
    server.wait_closed("flood")


if __name__ == "__main__":
    main()

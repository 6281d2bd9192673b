"""Input of programs: order, ends, limits, and a queue that does not delay other programs."""

import hashlib
import os
import sys
import time

sys.path.insert(0, os.path.abspath(__file__ + "/../../.."))
from support.client import check, command_line, encoded, equal, eventually, kill_quietly
from support.programs import LEAVES_ITS_TERMINAL, READS_AND_TALKS, READS_WHEN_TOLD
from support.runner import main, test

MIB = 1 << 20


def mebibyte(number):
    return bytes([65 + number % 26]) * MIB


def start_reader(scene, server, name, size, **options):
    """Starts a program that reads its input only after its gate (a fifo) was opened and closed."""
    gate = scene.path("gate-" + name)
    os.mkfifo(gate)
    server.start_python(name, READS_WHEN_TOLD, gate, str(size), **options)
    server.wait_output(name, b"ready")
    return gate


def open_gate(gate):
    with open(gate, "w"):
        pass


def write_later(server, name, data):
    return server.request("process/write", {"processId": name, "chunk": encoded(data)})


@test
def what_is_written_comes_out_of_cat(scene):
    server = scene.server()
    server.start("p", ["cat"], pipeStdin=True)
    equal(server.write("p", b"hello\0\xff\n"), {"status": "accepted"}, "result")
    server.wait_output("p", b"hello\0\xff\n")
    equal(
        server.call("process/closeStdin", {"processId": "p"})["status"],
        "accepted",
        "result of closeStdin",
    )
    equal(server.finished("p"), (0, b"hello\0\xff\n"), "code and output")


@test
def a_terminal_echoes_and_answers(scene):
    server = scene.server()
    server.start("p", ["cat"], tty=True)
    server.write("p", b"hello\n")
    server.wait_output("p", b"hello\r\nhello\r\n")
    server.write("p", b"\x04")
    equal(server.finished("p"), (0, b"hello\r\nhello\r\n"), "code and output")


@test
def a_write_id_is_taken_once_per_process(scene):
    server = scene.server()
    for name in ("p", "q"):
        server.start(name, ["cat"], pipeStdin=True)
    for name in ("p", "q"):
        for data, write_id in (
            (b"one ", "1"),
            (b"one ", "1"),
            (b"changed ", "1"),
            (b"two ", "2"),
            (b"", "3"),
            (b"one ", "1"),
            (b"x", None),
            (b"x", None),
        ):
            equal(server.write(name, data, writeId=write_id)["status"], "accepted", "status")
        server.write(name, b".", closeStdin=True)
    for name in ("p", "q"):
        equal(server.finished(name), (0, b"one two xx."), "code and output of " + name)


@test
def a_wrong_write_is_refused_and_writes_nothing(scene):
    server = scene.server()
    server.start("p", ["cat"], pipeStdin=True)
    good = {"processId": "p", "chunk": "eA=="}
    for change in (
        {"chunk": "eA="},
        {"chunk": "e"},
        {"chunk": "e A="},
        {"chunk": "eA==\n"},
        {"chunk": "eB=="},
        {"chunk": "===="},
        {"chunk": "_-8="},
        {"chunk": 5},
        {"chunk": None},
        {"writeId": ""},
        {"writeId": 5},
    ):
        error = server.refused("process/write", {**good, **change}, -32602, "invalidParams")
        check(
            next(iter(change)) in error["data"].get("path", ""),
            "%s: path %r" % (change, error["data"].get("path")),
        )
    server.call("process/closeStdin", {"processId": "p"})
    equal(server.finished("p"), (0, b""), "code and output")


@test
def input_may_be_closed_with_the_last_write_or_after_it(scene):
    server = scene.server()
    server.start("p", ["cat"], pipeStdin=True)
    equal(server.write("p", b"all of it", closeStdin=True)["status"], "accepted", "status")
    equal(server.finished("p"), (0, b"all of it"), "code and output")

    server.start_shell("q", "cat; echo end; exec sleep 600", pipeStdin=True)
    server.call("process/closeStdin", {"processId": "q"})
    server.wait_output("q", b"end")
    equal(server.write("q", b"x")["status"], "stdinClosed", "status of a write after closeStdin")
    equal(
        server.call("process/closeStdin", {"processId": "q"})["status"],
        "stdinClosed",
        "status of a second closeStdin",
    )


@test
def closing_the_input_of_a_terminal_is_an_end_of_file(scene):
    server = scene.server()
    server.start_shell("p", "cat; echo code=$?", tty=True)
    server.write("p", b"x\n")
    server.wait_output("p", b"x\r\nx\r\n")
    equal(server.call("process/closeStdin", {"processId": "p"})["status"], "accepted", "status")
    equal(server.finished("p"), (0, b"x\r\nx\r\ncode=0\r\n"), "code and output")

    server.start_shell("q", "cat; echo code=$?", tty=True)
    server.write("q", b"last\n", closeStdin=True)
    equal(server.finished("q"), (0, b"last\r\nlast\r\ncode=0\r\n"), "code and output")


@test
def a_write_to_nobody_says_so(scene):
    server = scene.server()
    equal(server.write("none", b"x"), {"status": "unknownProcess"}, "unknown process")
    equal(
        server.call("process/closeStdin", {"processId": "none"})["status"],
        "unknownProcess",
        "closeStdin of an unknown process",
    )
    server.start("p", ["sleep", "600"])
    equal(server.write("p", b"x")["status"], "stdinClosed", "a pipe without input")


@test
def a_write_after_the_exit_says_that_input_is_closed(scene):
    server = scene.server()
    for number, tty in enumerate((False, True)):
        name = "p%d" % number
        server.run(name, ["true"], tty=tty, pipeStdin=True)
        equal(
            server.write(name, b"x")["status"], "stdinClosed", "write after the exit, tty=%s" % tty
        )
        equal(
            server.call("process/closeStdin", {"processId": name})["status"],
            "stdinClosed",
            "closeStdin after the exit",
        )
        server.start("q" + name, ["cat"], tty=tty, pipeStdin=True)
        server.terminate("q" + name)
        server.wait_exited("q" + name)
        equal(server.write("q" + name, b"x")["status"], "stdinClosed", "write after terminate")


@test
def a_program_that_closes_its_own_input_harms_nobody(scene):
    server = scene.server()
    server.start_shell("p", "exec 0<&-; echo ready; exec sleep 600", pipeStdin=True)
    server.wait_output("p", b"ready")
    for _ in range(20):
        check(server.write("p", b"x" * 100000)["status"] in ("accepted", "stdinClosed"), "status")
    eventually(lambda: server.write("p", b"x")["status"] == "stdinClosed", "stdinClosed")
    server.answers()


@test
def pipelined_writes_arrive_in_order(scene):
    server = scene.server()
    for number, tty in enumerate((False, True)):
        name = "p%d" % number
        server.start_shell(
            name, "stty raw -echo 2>/dev/null; echo go; exec head -c 6000", tty=tty, pipeStdin=True
        )
        server.wait_output(name, b"go")
        ids = [write_later(server, name, b"%05d," % n) for n in range(1000)]
        for message_id in ids:
            equal(server.result(message_id)["status"], "accepted", "status")
        server.wait_closed(name)
        equal(
            server.output(name).split(b"\n", 1)[1],
            b"".join(b"%05d," % n for n in range(1000)),
            "order, tty=%s" % tty,
        )


@test
def a_start_and_its_writes_may_be_sent_in_one_go(scene):
    server = scene.server()
    started = server.request("process/start", server.start_params("p", ["cat"], pipeStdin=True))
    written = [write_later(server, "p", b"%d " % n) for n in range(50)]
    closed = server.request("process/closeStdin", {"processId": "p"})
    server.result(started)
    equal(
        [server.result(message_id)["status"] for message_id in [*written, closed]],
        ["accepted"] * 51,
        "statuses",
    )
    equal(server.finished("p"), (0, b"".join(b"%d " % n for n in range(50))), "code and output")


@test
def a_write_that_does_not_fit_waits_alone(scene):
    server = scene.server()
    for tty in (False, True):
        name = "tty" if tty else "pipe"
        gate = start_reader(scene, server, name, 20 * MIB, tty=tty, pipeStdin=True)
        ids = [write_later(server, name, mebibyte(n)) for n in range(20)]

        server.wait(
            lambda: sum(map(server.is_answered, ids)) >= 8, "the answers to the first 8 MiB"
        )
        equal(
            server.run_shell("other-" + name, "echo other"),
            (0, b"other\n"),
            "another process meanwhile",
        )
        equal(server.entry(name)["state"], "running", "state")
        answered = [server.is_answered(message_id) for message_id in ids]
        check(not all(answered[10:]), "20 MiB were accepted at once")
        equal(answered, sorted(answered, reverse=True), "answers come in order")

        open_gate(gate)
        equal(
            [server.result(message_id)["status"] for message_id in ids],
            ["accepted"] * 20,
            "statuses",
        )
        digest = hashlib.md5(b"".join(mebibyte(n) for n in range(20))).hexdigest()
        server.wait_output(name, b"%d %s" % (20 * MIB, digest.encode()))


@test(alone=True)
def more_than_64_mib_waiting_is_over_the_limit(scene):
    server = scene.server()
    gate = start_reader(scene, server, "p", 200 * MIB, pipeStdin=True)
    ids = [write_later(server, "p", mebibyte(n)) for n in range(84)]

    error = server.error(ids[-1])
    equal(error["data"]["kind"], "limit", "kind")
    server.answers()
    refused = [
        n
        for n, message_id in enumerate(ids)
        if server.is_answered(message_id) and "error" in server.reply(message_id)
    ]
    check(60 <= refused[0] <= 80, "the first refused write is number %d" % refused[0])
    equal(refused, list(range(refused[0], 84)), "refused writes")

    server.request("process/closeStdin", {"processId": "p"})
    open_gate(gate)
    for message_id in ids[: refused[0]]:
        equal(server.result(message_id)["status"], "accepted", "status")
    digest = hashlib.md5(b"".join(mebibyte(n) for n in range(refused[0]))).hexdigest()
    server.wait_output("p", b"%d %s" % (refused[0] * MIB, digest.encode()))


@test
def held_writes_are_answered_when_their_process_ends(scene):
    server = scene.server()
    for number, way in enumerate(("terminate", "exit")):
        name = "p%d" % number
        start_reader(scene, server, name, 1, pipeStdin=True)
        ids = [write_later(server, name, mebibyte(n)) for n in range(16)]
        server.wait(
            lambda: sum(map(server.is_answered, ids)) >= 8, "the answers to the first 8 MiB"
        )
        if way == "terminate":
            equal(server.terminate(name)["running"], True, "running")
        else:
            kill_quietly(server.entry(name)["pid"])
        server.wait_closed(name)
        statuses = [server.result(message_id)["status"] for message_id in ids]
        equal(statuses[-1], "stdinClosed", "status of the last write")
        check(set(statuses) == {"accepted", "stdinClosed"}, "statuses: %s" % statuses)


@test
def an_end_of_file_waits_for_the_bytes_before_it(scene):
    server = scene.server()
    gate = start_reader(scene, server, "p", 100 * MIB, pipeStdin=True)
    ids = [write_later(server, "p", mebibyte(n)) for n in range(12)]
    closing = server.request("process/closeStdin", {"processId": "p"})
    server.answers()
    open_gate(gate)
    for message_id in ids:
        equal(server.result(message_id)["status"], "accepted", "status")
    equal(server.result(closing)["status"], "accepted", "status of closeStdin")
    server.wait_output("p", b"%d " % (12 * MIB))
    equal(server.finished("p")[0], 0, "exit code")


@test
def a_line_longer_than_the_terminal_takes_is_noted(scene):
    server = scene.server()
    server.start_shell(
        "p", "stty -echo; echo go; while read -r line; do echo ${#line}; done", tty=True
    )
    server.wait_output("p", b"go")
    check("notice" not in server.write("p", b"a" * 3000 + b"\n"), "a notice for a line that fits")
    server.wait_output("p", b"3000\r\n")

    long_line = server.write("p", b"b" * 9000 + b"\n")
    check(long_line.get("notice"), "no notice for a line of 9000 characters: %s" % long_line)

    server.write("p", b"ok\n")
    server.wait_output("p", b"\r\n2\r\n")


@test
def an_erase_takes_a_whole_character(scene):
    server = scene.server()
    server.start("p", ["cat"], tty=True)
    server.write("p", b"caf\xc3\xa9\x7f\n")
    server.wait_output("p", b"\r\ncaf\r\n")


@test
def control_c_interrupts_and_the_shell_goes_on(scene):
    server = scene.server()
    server.start("p", ["bash", "--norc", "--noprofile", "-i"], tty=True, env={"PS1": "$ "})
    server.wait_output("p", b"$ ")
    server.write("p", b"sleep 500; true\n")
    eventually(lambda: "sleep 500" in map(command_line, server.programs()), "sleep below the shell")
    server.write("p", b"\x03")
    server.write("p", b"echo code=$?\n")
    server.wait_output("p", b"code=130")
    server.write("p", b"exit 7\n")
    equal(server.finished("p")[0], 7, "exit code of the shell")


@test
def pasted_brackets_pass_untouched(scene):
    server = scene.server()
    server.start_shell(
        "p", "stty raw -echo; printf go; head -c 30 | od -An -tx1 | tr -d ' \\r\\n'", tty=True
    )
    server.wait_output("p", b"go")
    pasted = b'\x1b[200~echo "a\nb"\x1b[201~\x03\x04\x1a\x00\xff\xfe'[:30]
    server.write("p", pasted + b" " * (30 - len(pasted)))
    server.wait_output("p", (pasted + b" " * (30 - len(pasted))).hex().encode())


@test
def a_megabyte_passes_a_raw_terminal_while_it_talks(scene):
    server = scene.server()
    server.start_python("p", READS_AND_TALKS, tty=True)
    server.wait_output("p", b"go")
    data = bytes(range(256)) * 3907
    for part in range(0, 1000000, 50000):
        write_later(server, "p", data[part : part + 50000])
    server.wait_output("p", hashlib.md5(data[:1000000]).hexdigest().encode())


@test(alone=True)
def a_terminal_that_nobody_has_open_costs_no_work_while_input_waits(scene):
    server = scene.server()
    for name in ("p", "q"):
        os.mkfifo(scene.path("gate-" + name))
        server.start_python(
            name,
            LEAVES_ITS_TERMINAL,
            scene.path("left-" + name),
            scene.path("gate-" + name),
            tty=True,
        )
        eventually(lambda: os.path.exists(scene.path("left-" + name)), "a terminal without users")
        equal(server.write(name, b"k" * 300000)["status"], "accepted", "status")
    server.answers()
    server.wait_idle()

    before = server.busy_seconds()
    time.sleep(1.5)
    busy = server.busy_seconds() - before

    check(busy < 0.15, "%.2f s of work in 1.5 s in which nothing happens" % busy)
    equal(server.terminate("q"), {"running": True}, "result of terminate")
    server.wait_closed("q")
    open_gate(scene.path("gate-p"))
    server.wait_output("p", b"back")
    equal(server.terminate("p"), {"running": True}, "result of terminate")
    server.wait_closed("p")


@test
def thousands_of_held_writes_need_no_deep_stack(scene):
    scene.command = ["sh", "-c", 'ulimit -s 1024; exec "$0" "$@"', *scene.command]
    server = scene.server()
    gate, small = scene.path("gate"), [b"%063d\n" % number for number in range(4000)]
    os.mkfifo(gate)
    size = 9 * MIB + 64 * len(small)
    wide = "import fcntl; fcntl.fcntl(0, fcntl.F_SETPIPE_SZ, 1 << 20)"
    server.start_python("p", wide + READS_WHEN_TOLD, gate, str(size), pipeStdin=True)
    server.wait_output("p", b"ready")
    parts = [mebibyte(number) for number in range(9)] + small
    ids = [write_later(server, "p", part) for part in parts]
    server.answers()
    check(not any(map(server.is_answered, ids[-4000:])), "a write beyond the queue was accepted")

    open_gate(gate)

    for message_id in ids:
        equal(server.result(message_id)["status"], "accepted", "status")
    digest = hashlib.md5(b"".join(parts)).hexdigest()
    server.wait_output("p", b"%d %s" % (size, digest.encode()))


if __name__ == "__main__":
    main()

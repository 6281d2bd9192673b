"""exec/writeStdin: polls, typing, interrupts, and several callers on one process."""

import hashlib
import os
import sys
import time

sys.path.insert(0, os.path.abspath(__file__ + "/../../.."))
from support.client import PYTHON, brief, check, equal, within
from support.exec import Home, exec_server
from support.runner import main, test

INTERRUPT = "\x03"

# Prints each signal that it gets, and ends in its own way.
HANDLES_INTERRUPT = (
    "trap 'echo handled; exit 42' INT; echo ready; while :; do sleep 0.05 & wait $!; done"
)


def open_gate(gate, text="\n"):
    with open(gate, "w") as file:
        file.write(text)


def gate_of(scene, name="gate"):
    path = scene.path(name)
    os.mkfifo(path)
    return path


# How long a call waits


@test
def the_wait_is_clamped_for_writes_and_polls_apart(scene):
    server = exec_server(scene)
    process_id = server.left_running("cat; sleep 600", tty=True)
    for asked, effective in ((None, 250), (0, 250), (251, 251), (31000, 30000), (1 << 62, 30000)):
        params = {} if asked is None else {"yieldTimeMs": asked}
        result = server.stdin(process_id, "x\n", quietMs=0, **params)
        equal(result["yieldTimeMs"], effective, "yield of a write with %s" % asked)
    ids = {}
    for asked, effective in ((None, 5000), (1, 5000), (6000, 6000), (300001, 300000)):
        params = {} if asked is None else {"yieldTimeMs": asked}
        ids[server.stdin_later(process_id, "", **params)] = effective
    server.stdin_later(process_id, "", noTimeout=True)
    forever = server.stdin_later(process_id, "", noTimeout=True, yieldTimeMs=300)
    server.call("exec/terminate", {"processId": process_id})
    for message_id, effective in ids.items():
        equal(server.result(message_id)["yieldTimeMs"], effective, "yield of a poll")
    equal(server.result(forever)["yieldTimeMs"], 0, "yield without a limit")


@test
def the_bounds_of_both_waits_are_settings(scene):
    home = Home(scene)
    home.config("min_yield_ms = 20\nwrite_yield_ms = 30\nmin_poll_ms = 40\nmax_poll_ms = 50\n")
    server = exec_server(scene, home=home)
    process_id = server.left_running("cat; sleep 600", tty=True)
    for chars, asked, effective in (
        ("x\n", None, 30), ("x\n", 1, 20), ("", None, 40), ("", 1, 40), ("", 1000, 50),
    ):
        params = {} if asked is None else {"yieldTimeMs": asked}
        result = server.stdin(process_id, chars, **params)
        equal((result["state"], result["yieldTimeMs"]), ("running", effective), (chars, asked))


@test
def a_poll_is_answered_at_the_exit(scene):
    server = exec_server(scene)
    gate = gate_of(scene)
    process_id = server.left_running("echo one; read x < %s; echo two; exit 5" % gate,
                                     shows="one\n")
    poll = server.stdin_later(process_id, "", yieldTimeMs=300000)
    began = time.monotonic()
    open_gate(gate)
    result = server.result(poll)
    check(time.monotonic() - began < within(30), "it waited for the deadline")
    equal((result["state"], result["exitCode"], result["output"]), ("completed", 5, "two\n"), "end")
    check("processId" not in result, "an id of what has ended")


@test
def without_a_time_limit_only_the_exit_ends_the_wait(scene):
    home = Home(scene)
    home.config("min_poll_ms = 10\nmax_poll_ms = 20\nmin_yield_ms = 10\nmax_yield_ms = 20\n")
    server = exec_server(scene, home=home)
    gate = gate_of(scene)
    process_id = server.left_running("read x < %s; echo two" % gate)
    poll = server.stdin_later(process_id, "", noTimeout=True)
    for _ in range(3):
        equal(server.stdin(process_id)["state"], "running", "a poll with a limit")
    check(not server.is_answered(poll), "it was answered before the exit")
    open_gate(gate)
    equal(server.result(poll)["output"], "two\n", "output")


@test
def a_poll_may_end_when_output_has_become_quiet(scene):
    server = exec_server(scene)
    gate = gate_of(scene)
    process_id = server.left_running("read x < %s; echo more; exec sleep 600" % gate)
    for params in ({"yieldTimeMs": 300000}, {"noTimeout": True}):
        poll = server.stdin_later(process_id, "", quietMs=50, **params)
        if "yieldTimeMs" in params:
            open_gate(gate)
            equal(server.result(poll)["output"], "more\n", "output")
        else:
            server.answers()
            check(not server.is_answered(poll), "nothing came, and it was answered")


@test
def there_is_no_pause_after_a_write(scene):
    server = exec_server(scene)
    process_id = server.left_running("cat", tty=True)
    server.stdin(process_id, "warm\n")
    took = []
    while not took or (min(took) >= 90 and len(took) < 50):  # a busy machine pauses sometimes, too
        result = server.stdin(process_id, "x\n", quietMs=5, yieldTimeMs=30000)
        check("x" in result["output"], "output %r" % result["output"])
        took.append(result["wallTimeMs"])
    check(min(took) < 90, "they took %s ms" % took)


# Terminals


@test
def an_interactive_shell_keeps_its_variables(scene):
    server = exec_server(scene)
    process_id = server.left_running("exec bash --norc -i", tty=True)
    server.stdin(process_id, "stored=kept-value\n")
    output = ""
    result = server.stdin(process_id, "echo \"<$stored>\"\n")
    output = server.gather(process_id, "<kept-value>", result["output"])
    check("<kept-value>" in output, "output %r" % output)
    result = server.last_answer(process_id, "exit 9\n")
    equal(result["exitCode"], 9, "exit code")


@test
def two_sessions_know_nothing_of_each_other(scene):
    server = exec_server(scene)
    first = server.left_running("exec bash --norc -i", tty=True)
    second = server.left_running("exec bash --norc -i", tty=True)
    check(first != second, "one id for two")
    server.stdin(first, "mine=first\n")
    output = server.stdin(second, "echo \"<${mine-unset}>\"\n")["output"]
    server.gather(second, "<unset>", output)
    equal(server.output_of("echo \"<${mine-unset}>\""), "<unset>\n", "a fresh command")
    output = server.stdin(first, "echo \"<${mine-unset}>\"\n")["output"]
    server.gather(first, "<first>", output)


@test
def echo_through_cat_keeps_the_id_until_the_end_of_file(scene):
    server = exec_server(scene)
    process_id = server.left_running("cat", tty=True)
    result = server.stdin(process_id, "hello\n")
    equal((result["state"], result["processId"]), ("running", process_id), "state and id")
    equal(server.gather(process_id, "hello\r\nhello\r\n", result["output"]),
          "hello\r\nhello\r\n", "echo")
    result = server.last_answer(process_id, "\x04")
    equal((result["exitCode"], "processId" in result), (0, False), "code and id")
    check(len(result["chunkId"]) == 6, "chunk id %r" % result["chunkId"])


@test
def an_interrupt_on_a_terminal_is_a_signal(scene):
    server = exec_server(scene)
    process_id = server.left_running("echo ready; exec sleep 600", shows="ready\r\n", tty=True)
    result = server.last_answer(process_id, INTERRUPT)
    equal((result["exitCode"], result["signal"]), (130, "SIGINT"), "code and signal")
    process_id = server.left_running(HANDLES_INTERRUPT, shows="ready\r\n", tty=True)
    result = server.last_answer(process_id, INTERRUPT)
    equal(result["exitCode"], 42, "code of a handler")
    check("handled" in result["output"], "output %r" % result["output"])


@test
def the_input_of_a_terminal_can_be_ended(scene):
    server = exec_server(scene)
    process_id = server.left_running("cat; echo code=$?", tty=True)
    result = server.last_answer(process_id, "last\n", closeStdin=True)
    equal(result["output"], "last\r\nlast\r\ncode=0\r\n", "output")


@test
def much_typed_text_arrives_whole(scene):
    server = exec_server(scene)
    script = "stty raw -echo; echo go; head -c 400000 | md5sum"
    process_id = server.left_running(script, tty=True)
    server.wait_delta(process_id, "go")
    text = "0123456789abcdef" * 25000
    result = server.last_answer(process_id, text)
    check(hashlib.md5(text.encode()).hexdigest() in result["output"], brief(result["output"]))


@test
def a_terminal_that_hides_what_is_typed_says_that_input_is_needed(scene):
    server = exec_server(scene)
    script = "printf 'Password: '; read -r -s x; echo; echo got ${#x}; read y; echo over $y"
    result = server.exec(script, shell="bash", tty=True, quietMs=100, yieldTimeMs=30000)
    equal(result["output"], "Password: ", "output")
    process_id = result["processId"]
    while result["state"] == "running":  # the program has asked, and will hide the input
        result = server.stdin(process_id)
    equal((result["state"], result["processId"]), ("inputNeeded", process_id), "state and id")
    result = server.stdin(process_id, "open sesame\n", quietMs=100, yieldTimeMs=30000)
    equal(result["state"], "running", "state")
    equal(server.gather(process_id, "11\r\n", result["output"]), "\r\ngot 11\r\n", "output")
    equal(server.last_answer(process_id, "x\n")["output"], "x\r\nover x\r\n", "the rest")


# Pipes


@test
def a_process_without_a_terminal_takes_no_text(scene):
    server = exec_server(scene)
    process_id = server.left_running("echo a; exec sleep 600")
    for chars in ("x", "x\n", "\x03\x03", "\x03x", "\x04"):
        error = server.error(server.stdin_later(process_id, chars), kind="stdinClosed")
        check("tty" in error["message"] + error["data"]["hint"], "no advice: %s" % error)
    equal(server.listed(process_id)["state"], "running", "state")
    equal(server.program(process_id).interactions, [], "interactions")


@test
def an_interrupt_reaches_a_process_without_a_terminal(scene):
    server = exec_server(scene)
    process_id = server.left_running("echo ready; exec sleep 600", shows="ready\n")
    result = server.last_answer(process_id, INTERRUPT)
    equal((result["exitCode"], result["signal"]), (130, "SIGINT"), "code and signal")

    process_id = server.left_running(HANDLES_INTERRUPT, shows="ready\n")
    result = server.last_answer(process_id, INTERRUPT)
    equal((result["exitCode"], result["output"]), (42, "handled\n"), "code and output")
    check("signal" not in result, "a signal: %s" % result.get("signal"))
    equal(server.program(process_id).interactions, [INTERRUPT], "interactions")


@test
def an_interrupt_reaches_the_whole_group(scene):
    server = exec_server(scene)
    script = "sleep 600 | sleep 600"
    process_id = server.left_running(script, shell="bash")
    result = server.last_answer(process_id, INTERRUPT)
    equal(result["exitCode"], 130, "code")


# Processes that have ended


@test
def the_result_of_a_finished_process_stays_readable(scene):
    server = exec_server(scene)
    gate = gate_of(scene)
    process_id = server.left_running("echo one; read x < %s; echo two; exit 3" % gate,
                                     shows="one\n")
    open_gate(gate)
    server.wait_end(process_id)
    for want in ("two\n", "", ""):
        result = server.stdin(process_id)
        equal(
            (result["state"], result["exitCode"], result["output"]), ("completed", 3, want), "poll"
        )
        equal((result["omittedBytes"], "processId" in result), (0, False), "omitted bytes and id")


@test
def a_process_that_ended_within_its_call_can_be_asked_for_too(scene):
    server = exec_server(scene)
    result = server.exec("echo all; exit 4")
    process_id = server.wait_end_of_call(result["callId"]).begin["processId"]
    result = server.stdin(process_id)
    equal((result["exitCode"], result["output"]), (4, ""), "code and output")
    equal(server.read_bytes(process_id), b"all\n", "raw bytes")


@test
def input_for_a_finished_process_gets_its_result_and_a_notice(scene):
    server = exec_server(scene)
    gate = gate_of(scene)
    for tty in (False, True):
        process_id = server.left_running("read x < %s; echo last; exit 6" % gate, tty=tty)
        open_gate(gate)
        server.wait_end(process_id)
        for params in ({"chars": "typed\n"}, {"chars": INTERRUPT}, {"closeStdin": True}):
            result = server.result(
                server.request("exec/writeStdin", {"processId": process_id, **params})
            )
            equal((result["state"], result["exitCode"]), ("completed", 6), "state and code")
            check(result["notice"], "no notice for %s" % params)


@test
def nobody_is_unknown(scene):
    server = exec_server(scene)
    for process_id in ("1", "1000", "", "no", "99999999999999999999", "-1"):
        error = server.error(server.stdin_later(process_id, "x"), -32600, "unknownProcess")
        check(error["data"].get("hint"), "no hint: %s" % error)
    server.start("other", ["sleep", "600"])
    server.error(server.stdin_later("other", "x"), -32600, "unknownProcess")
    for params in ({}, {"processId": 1000}, {"processId": "1000", "chars": 3}):
        server.refused("exec/writeStdin", params, -32602, "invalidParams")


@test
def what_was_pruned_is_told_from_what_never_was(scene):
    server = exec_server(scene)
    result = server.exec("echo first")
    first = server.wait_end_of_call(result["callId"]).begin["processId"]
    for _ in range(70):
        server.exec("true")
    message = server.reply(server.stdin_later(first))
    if "error" in message:
        equal(message["error"]["data"]["kind"], "prunedProcess", "kind")
        equal(message["error"]["code"], -32600, "code")
    else:
        raise AssertionError("70 finished processes are kept: %s" % message)


# Several callers, and nothing twice


@test
def consecutive_answers_show_everything_once(scene):
    server = exec_server(scene)
    gate = gate_of(scene)
    script = "i=0; while read x; do i=$((i+1)); echo line $i; done < %s; echo over" % gate
    message_id = server.exec_later(script, yieldTimeMs=250)
    shown = ""
    with open(gate, "w") as file:
        result = server.result(message_id)
        process_id, shown = result["processId"], result["output"]
        for number in range(1, 9):
            file.write("\n" * number)
            file.flush()
            if number % 2:
                result = server.stdin(process_id, quietMs=10)
                shown += result["output"]
    shown += server.last_answer(process_id)["output"]
    want = "".join("line %d\n" % number for number in range(1, 37)) + "over\n"
    equal(shown, want, "all answers together")
    equal(server.wait_end(process_id).text(), want, "deltas")


@test
def all_who_wait_for_a_process_see_what_it_prints(scene):
    server = exec_server(scene)
    gate = gate_of(scene)
    process_id = server.left_running("echo before; read x < %s; echo after; exit 1" % gate,
                                     shows="before\n")
    ids = [server.stdin_later(process_id, "", noTimeout=True) for _ in range(5)]
    server.answers()
    open_gate(gate)
    for message_id in ids:
        result = server.result(message_id)
        equal((result["output"], result["exitCode"]), ("after\n", 1), "answer")
    equal(server.stdin(process_id)["output"], "", "a later answer")


@test
def two_writers_see_both_echoes(scene):
    server = exec_server(scene)
    process_id = server.left_running("stty -echo; echo go; while read x; do echo \"<$x>\"; done",
                                     tty=True, quietMs=50)
    server.wait_delta(process_id, "go")
    server.stdin(process_id, "zero\n", quietMs=50)
    echoed = int(within(5000))  # milliseconds within which both echoes arrive
    first, second = server.request_at_once(
        [
            ("exec/writeStdin", {"processId": process_id, "chars": text, "yieldTimeMs": echoed})
            for text in ("one\n", "two\n")
        ]
    )
    for message_id in (first, second):
        output = server.result(message_id)["output"]
        check("<one>" in output and "<two>" in output, "output %r" % output)
    # The terminal does not show what is typed.
    equal(server.program(process_id).interactions[-2:], ["****", "****"], "interactions")


@test
def the_call_that_started_it_and_a_poll_both_see_the_output(scene):
    server = exec_server(scene)
    gate = gate_of(scene)
    call = server.exec_later("echo begun; read x < %s; echo over" % gate, callId="c",
                             yieldTimeMs=30000)
    process_id = server.program_of_call("c").begin["processId"]
    server.wait_delta(process_id, "begun")
    poll = server.stdin_later(process_id, "", noTimeout=True)
    server.answers()
    open_gate(gate)
    equal(server.result(call)["output"], "begun\nover\n", "output of the call")
    check(server.result(poll)["output"].endswith("over\n"), "output of the poll")


@test
def too_many_waits_on_one_process_are_refused(scene):
    server = exec_server(scene)
    process_id = server.left_running("exec sleep 600")
    ids = [server.stdin_later(process_id, "", noTimeout=True) for _ in range(8)]
    server.error(server.stdin_later(process_id, "", noTimeout=True), kind="limit")
    server.call("exec/terminate", {"processId": process_id})
    for message_id in ids:
        equal(server.result(message_id)["state"], "completed", "state")


# The event


@test
def each_write_is_an_interaction_with_the_exact_input(scene):
    server = exec_server(scene)
    process_id = server.left_running("stty raw; cat -v", tty=True, callId="start")
    typed = ["one\n", "zwei ü\t", "\x1b[A", "\x00"]
    for chars in typed:
        server.stdin(process_id, chars)
    equal(server.program(process_id).interactions, typed, "interactions")
    equal(server.program(process_id).begin["callId"], "start", "call id")


@test
def a_poll_is_an_interaction_only_while_the_process_runs(scene):
    server = exec_server(scene)
    gate = gate_of(scene)
    process_id = server.left_running("echo a; read x < %s; echo b; sleep 0.2; echo c" % gate,
                                     shows="a\n")
    open_gate(gate)
    result = server.stdin(process_id, "", quietMs=20, yieldTimeMs=5000)
    running = result["state"] == "running"
    equal(server.program(process_id).interactions, [""] if running else [], "interactions")
    server.last_answer(process_id)
    equal(server.program(process_id).interactions, [""] if running else [], "after the end")


@test
def typed_text_comes_before_the_end_that_it_causes(scene):
    server = exec_server(scene)
    process_id = server.left_running("read x; exit 8", tty=True, callId="c")
    equal(server.last_answer(process_id, "\n")["exitCode"], 8, "code")
    program = server.wait_end(process_id)
    equal((program.end["callId"], program.end["exitCode"]), ("c", 8), "exec/end")
    equal(program.interactions, ["\n"], "interactions")


@test
def a_python_session_computes(scene):
    server = exec_server(scene)
    process_id = server.left_running([PYTHON, "-q", "-S"], tty=True)
    output = server.stdin(process_id, "6 * 7\n")["output"]
    server.gather(process_id, "\r\n42\r\n", output)
    equal(server.last_answer(process_id, "raise SystemExit(3)\n")["exitCode"], 3, "code")


if __name__ == "__main__":
    main()

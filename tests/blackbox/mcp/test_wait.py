"""The tool wait of execward mcp, and run_command with until_*: each thing that can be waited for."""

import os
import sys

sys.path.insert(0, os.path.abspath(__file__ + "/../../.."))
from support.client import check, equal
from support.mcp import LEGACY, MODERN, McpClient
from support.runner import main, test

LONG = 60_000
# Listens on a free port, and says on which.
LISTENS = (
    "import socket,sys,time\n"
    "time.sleep(0.3)\n"
    "s=socket.socket(); s.bind(('127.0.0.1',0)); s.listen()\n"
    "print('port',s.getsockname()[1],flush=True)\n"
    "time.sleep(1000)\n"
)


def started(client, command, **arguments):
    """Starts a program that says nothing until go(). Returns its id."""
    gate = client.home.project + "/gate"
    if not os.path.exists(gate):
        os.mkfifo(gate)
    told = client.call("run_command", command="read go < gate; " + command, timeout_ms=0,
                       **arguments)
    equal(told["state"], "running", "state")
    return told["id"]


def go(client):
    with open(client.home.project + "/gate", "w") as gate:
        gate.write("go\n")


def waits(client, process, **arguments):
    """Begins a wait, and lets the program go on. Returns the result of the wait."""
    call = client.call_later("wait", id=process, timeout_ms=LONG, **arguments)
    go(client)
    return client.told(client.wait(call), "wait")


@test
def the_end_of_the_program_ends_every_wait(scene):
    for era in (LEGACY, MODERN):
        client = McpClient(scene, era=era)
        for arguments in ({}, {"until_text": "never"}, {"until_port": 9}, {"until_input": False}):
            process = started(client, "echo over; exit 3")
            told = waits(client, process, **arguments)
            equal((told["state"], told["exit_code"], told["ended_by"], told["output"]),
                  ("completed", 3, "exit", "over\n"), "the result with %s" % arguments)
        client.end()


@test
def a_text_or_an_expression_is_told_with_its_line(scene):
    client = McpClient(scene)
    for arguments, text in (
        ({"until_text": "ready on"}, "ready on"),
        ({"until_regex": "ready on 3[0-9]{3}"}, "ready on 3000"),
        ({"until_text": "", "until_regex": "o. 3"}, "on 3"),
    ):
        process = started(client, "echo one; echo now ready on 3000; exec sleep 1000")
        told = waits(client, process, **arguments)
        equal((told["state"], told["ended_by"], told["match"]),
              ("running", "pattern", {"text": text, "line": 2}), "the end with %s" % arguments)
        check("one\n" in told["output"], "no output: %s" % told)
        check("wait" in told["next"] and "stop_process" in told["next"], "next: %s" % told["next"])


@test
def a_text_that_was_told_counts_again_only_from_the_start(scene):
    client = McpClient(scene)
    told = client.call("run_command", command="echo ready; exec sleep 1000", until_text="ready")
    again = client.call("wait", id=told["id"], until_text="ready", timeout_ms=1)
    equal((again["state"], again["ended_by"]), ("running", "time"), "what was told already")
    again = client.call("wait", id=told["id"], until_text="ready", from_start=True, timeout_ms=LONG)
    equal((again["ended_by"], again["match"]["line"]), ("pattern", 1), "from the start")


@test
def a_port_is_told_by_its_number(scene):
    client = McpClient(scene)
    told = client.call("run_command", argv=["python3", "-c", LISTENS], until_port=0, timeout_ms=LONG)
    equal((told["state"], told["ended_by"]), ("running", "port"), "the end")
    again = client.call("wait", id=told["id"], until_port=told["port"], timeout_ms=LONG)
    equal((again["ended_by"], again["port"]), ("port", told["port"]), "the port by its number")
    whole = client.call("wait", id=told["id"], until_text="\n", from_start=True, timeout_ms=LONG)
    check(whole["ended_by"] == "pattern", "its line: %s" % whole)
    page = client.call("read_output", id=told["id"], after=0)
    equal(page["output"], "port %d\n" % told["port"], "what it said")


@test
def a_program_that_asks_ends_a_wait_for_input(scene):
    client = McpClient(scene)
    process = started(client, "printf 'name? '; read name; echo hello $name", tty=True)
    told = waits(client, process, until_input=True)
    equal((told["state"], told["ended_by"], told["output"]), ("running", "input", "name? "), "it asks")
    check("send_input" in told["next"], "next: %s" % told["next"])


@test
def silence_after_output_ends_a_wait(scene):
    client = McpClient(scene)
    process = started(client, "echo a; echo b; exec sleep 1000")
    told = waits(client, process, until_quiet_ms=200)
    equal((told["ended_by"], told["output"]), ("quiet", "a\nb\n"), "the end")


@test
def a_wait_that_is_over_says_so_and_can_be_repeated(scene):
    client = McpClient(scene)
    process = started(client, "echo late; exit")
    for _ in range(2):
        told = client.call("wait", id=process, until_text="late", timeout_ms=1)
        equal((told["state"], told["ended_by"], told["id"]), ("running", "time", process), "the end")
    equal(waits(client, process, until_text="late")["ended_by"], "pattern", "the last wait")


@test
def a_cancelled_wait_leaves_the_process_alone(scene):
    client = McpClient(scene)
    process = started(client, "echo on; exec sleep 1000")
    call = client.call_later("wait", id=process, timeout_ms=LONG)
    client.notify("notifications/cancelled", {"requestId": call})
    equal(waits(client, process, until_text="on")["state"], "running", "state")
    check(call not in client.answers, "a cancelled wait was answered")


@test
def a_long_wait_reports_progress(scene):
    client = McpClient(scene)
    process = started(client, "echo working; sleep 1.5; echo done; exec sleep 1000")
    call = client.call_later("wait", token="w", id=process, until_text="done", timeout_ms=LONG)
    go(client)
    client.wait(call)
    reports = client.progress("w")
    check(reports and reports[0]["message"] == "working", "progress: %s" % reports)


@test
def what_cannot_be_waited_for_is_named_by_its_argument(scene):
    client = McpClient(scene)
    process = started(client, "exec sleep 1000")
    both = client.refused("wait", id=process, until_text="a", until_regex="b")
    check("until_text" in both and "until_regex" in both, both)
    wrong = client.failed("wait", id=process, until_regex="(")
    check("until_regex" in wrong and "until.pattern" not in wrong, wrong)
    check("until_port" in client.refused("wait", id=process, until_port=70000), "the range")
    check("list_processes" in client.failed("wait", id="7"), "an unknown process")


if __name__ == "__main__":
    main()

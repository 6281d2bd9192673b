"""until of exec/command, exec/writeStdin and exec/wait: what ends a wait, and what the answer says of it."""

import os
import socket
import sys
import urllib.request

sys.path.insert(0, os.path.abspath(__file__ + "/../../.."))
from support.client import PYTHON, check, equal, eventually
from support.exec import Home, exec_server
from support.runner import main, test

LISTENS = """
import socket, sys, time
sys.stdin.readline()
listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
time.sleep(1000)
"""
SERVES = "%s -u -m http.server --bind 127.0.0.1 0" % PYTHON


def gate_of(scene):
    path = scene.path("gate")
    os.mkfifo(path)
    return path


def open_gate(gate, text="\n"):
    with open(gate, "w") as file:
        file.write(text)


def wait_later(server, process_id, **params):
    return server.request("exec/wait", {"processId": process_id, **params})


def wait(server, process_id, **params):
    return server.result(wait_later(server, process_id, **params))


def found(result):
    """Returns text, line and offset of the match."""
    equal(result["waitEnd"]["reason"], "pattern", "reason")
    match = result["waitEnd"]["match"]
    return match["text"], match["line"], match["offset"]


@test
def a_text_ends_the_wait_of_a_call(scene):
    server = exec_server(scene)
    result = server.exec(
        "echo one; echo it is ready now; exec sleep 1000", until={"pattern": {"text": "ready"}}
    )
    equal(result["state"], "running", "state")
    equal(found(result), ("ready", 2, 10), "match")
    check("ready" in result["output"], "output: %r" % result["output"])


@test
def an_expression_is_found_across_pieces(scene):
    server, gate = exec_server(scene), gate_of(scene)
    process_id = server.left_running(
        "printf 'listening on po'; read x < %s; echo rt 5173.; exec sleep 1000" % gate, shows="po"
    )
    waiting = wait_later(server, process_id, until={"pattern": {"regex": r"port \d+"}, "from": 0})
    open_gate(gate)
    equal(found(server.result(waiting)), ("port 5", 1, 13), "match")
    result = wait(server, process_id, until={"pattern": {"regex": r"port \d+\."}, "from": 0})
    equal(found(result), ("port 5173.", 1, 13), "a match in what has come already")


@test
def only_new_output_counts_unless_the_request_says_from_where(scene):
    server = exec_server(scene)
    process_id = server.left_running("echo once; exec cat", shows="once", tty=True)
    again = wait(server, process_id, until={"pattern": {"text": "once"}}, timeoutMs=1)
    equal(again["waitEnd"], {"reason": "time"}, "what an answer has shown")
    typed = server.stdin(
        process_id, "once\n", until={"pattern": {"text": "once\r\nonce"}}, yieldTimeMs=30000
    )
    equal(found(typed)[1:], (1, 6), "what came after the typing")
    first = wait(server, process_id, until={"pattern": {"text": "once"}, "from": 0})
    equal(found(first), ("once", 1, 0), "from the beginning")
    equal(first["output"], "", "output that no answer has shown")


@test
def bytes_quiet_time_and_the_end_are_told_apart(scene):
    server, gate = exec_server(scene), gate_of(scene)
    process_id = server.left_running(
        "echo 12345; read x < %s; echo 67890; exit 3" % gate, shows="12345\n"
    )
    equal(wait(server, process_id, timeoutMs=1, until={"bytes": 1})["waitEnd"],
          {"reason": "time"}, "no new bytes")
    equal(wait(server, process_id, until={"bytes": 6, "from": 0})["waitEnd"],
          {"reason": "bytes"}, "old bytes")
    waiting = wait_later(server, process_id, until={"bytes": 100})
    open_gate(gate)
    result = server.result(waiting)
    equal((result["waitEnd"], result["exitCode"]), ({"reason": "exit"}, 3), "the end")
    result = server.exec("echo loud; exec sleep 1000", until={"quietMs": 50})
    equal(result["waitEnd"], {"reason": "quiet"}, "silence")
    check("waitEnd" not in server.exec("true"), "told without until")


@test
def a_wait_without_until_is_one_for_the_end(scene):
    server, gate = exec_server(scene), gate_of(scene)
    process_id = server.left_running("read x < %s; echo end; exit 4" % gate)
    waiting = wait_later(server, process_id)
    open_gate(gate)
    result = server.result(waiting)
    equal((result["exitCode"], result["output"], result["yieldTimeMs"]), (4, "end\n", 0), "end")
    check(not any(name == "exec/terminalInteraction" for name, _ in server.events), "typed")


@test
def several_waits_end_each_for_its_own_reason(scene):
    server, gate = exec_server(scene), gate_of(scene)
    process_id = server.left_running("read x < %s; seq 3; exec sleep 1000" % gate)
    waits = {
        number: wait_later(server, process_id, until={"pattern": {"text": "%d\n" % number}})
        for number in (3, 1, 2)
    }
    other = wait_later(server, process_id, until={"pattern": {"text": "4"}})
    open_gate(gate)
    for number, waiting in waits.items():
        equal(found(server.result(waiting)), ("%d\n" % number, number, 2 * (number - 1)), "match")
    server.notify("$/cancelRequest", {"id": other})
    equal(server.error(other, -32800, "cancelled")["data"]["processId"], process_id, "process")
    equal(server.listed(process_id)["state"], "running", "state")


@test
def a_text_is_found_at_the_end_of_a_flood(scene):
    server = exec_server(scene)
    size = 100 << 20
    result = server.exec(
        "head -c %d /dev/zero | tr '\\0' x; echo; echo the end; exec sleep 1000" % size,
        until={"pattern": {"regex": "^the end$"}},
    )
    equal(found(result), ("the end", 2, size + 1), "match")


@test
def what_can_match_nothing_is_refused_before_anything_runs(scene):
    server = exec_server(scene)
    for until, member, part in (
        ({"pattern": {}}, "until.pattern", "text or regex"),
        ({"pattern": {"text": "a", "regex": "b"}}, "until.pattern", "text or regex"),
        ({"pattern": {"text": ""}}, "until.pattern.text", "4096"),
        ({"pattern": {"text": "x" * 4097}}, "until.pattern.text", "4097"),
        ({"pattern": {"regex": "(a"}}, "until.pattern.regex", "missing )"),
        ({"pattern": {"regex": r"(a)\1"}}, "until.pattern.regex", "escape"),
        ({"patern": {"text": "a"}}, "until.patern", "pattern"),
        ({"port": 65536}, "until.port", "65535"),
    ):
        error = server.exec_refused("touch made", "invalidParams", -32602, until=until)
        equal(error["data"]["path"], member, "member of %s" % until)
        check(part in error["message"] + error["data"].get("hint", ""), error)
    check(not os.path.exists(os.path.join(server.home.project, "made")), "it ran")


@test
def a_port_ends_the_wait(scene):
    for sandbox in ("danger-full-access", "workspace-write"):
        server = exec_server(scene, home=Home(scene, sandbox), sandbox=sandbox)
        gate = gate_of(scene) if sandbox == "danger-full-access" else scene.path("gate")
        process_id = server.left_running([PYTHON, "-c", LISTENS], tty=True)
        with socket.create_server(("127.0.0.1", 0)) as strange:
            number = strange.getsockname()[1]
            strange_port = wait(server, process_id, until={"port": number}, timeoutMs=300)
            equal(strange_port["waitEnd"], {"reason": "time"}, "a port of another program")
        waiting = wait_later(server, process_id, until={"port": 0})
        server.stdin(process_id, "go\n")
        end = server.result(waiting)["waitEnd"]
        equal(end["reason"], "port", "reason in " + sandbox)
        shown = wait(server, process_id, until={"pattern": {"regex": r"\d+\r"}, "from": 0})
        equal(str(end["port"]), found(shown)[0].strip(), "port")
        again = wait(server, process_id, until={"port": end["port"]})
        equal(again["waitEnd"], end, "the same port, by its number")


@test
def a_question_ends_the_wait_and_silent_work_does_not(scene):
    server = exec_server(scene)
    asks = "printf 'name? '; read name; i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done; read more"
    result = server.exec(asks, tty=True, shell="sh", until={"input": True})
    equal((result["waitEnd"], result["output"]), ({"reason": "input"}, "name? "), "the question")
    result = server.stdin(
        result["processId"], "Ada\n", until={"input": True}, yieldTimeMs=30000
    )
    equal(result["waitEnd"], {"reason": "input"}, "the next question")
    result = server.exec("while :; do :; done", tty=True, until={"input": True}, yieldTimeMs=500)
    equal(result["waitEnd"], {"reason": "time"}, "work without a question")


@test
def a_development_server_is_started_asked_and_stopped(scene):
    server = exec_server(scene, sandbox="workspace-write")
    with open(os.path.join(server.home.project, "index.html"), "w") as file:
        file.write("hello from here")
    result = server.exec(SERVES, until={"port": 0})
    port, process_id = result["waitEnd"]["port"], result["processId"]
    script = "import urllib.request as r; print(r.urlopen('http://127.0.0.1:%d/').read().decode())"
    equal(server.output_of([PYTHON, "-c", script % port]), "hello from here\n", "page")
    server.call("exec/terminate", {"processId": process_id})
    equal(server.last_answer(process_id)["state"], "completed", "state")


if __name__ == "__main__":
    main()

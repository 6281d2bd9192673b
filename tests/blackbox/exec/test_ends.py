"""Ends of calls and programs: after waits, by a cancel, with the server, and their reports."""

import os
import signal
import sys

sys.path.insert(0, os.path.abspath(__file__ + "/../../.."))
from support.client import check, equal, eventually
from support.exec import NOWHERE, Home, exec_server
from support.runner import main, test



@test
def a_wait_that_ends_at_the_exit_tells_the_end(scene):
    server = exec_server(scene)
    result = server.exec("echo x; sleep 600 & exit 7", quietMs=1)
    if result["state"] == "running":
        result = server.stdin(result["processId"])
    equal(result["exitCode"], 7, "exit code")


@test
def every_end_is_told_before_the_server_ends(scene):
    server = exec_server(scene)
    ids = [server.left_running("exec sleep 600") for _ in range(10)]
    os.kill(server.pid, signal.SIGTERM)
    for process_id in ids:
        server.wait_end(process_id)
    equal(server.exit_status(), 128 + signal.SIGTERM, "exit status")


# Waits, retries and ends


@test
def a_short_wait_does_not_lose_what_stopped_a_program(scene):
    for script, params in (
        ("echo x; %s; sleep 600 & exit 77", {"quietMs": 10}),
        ("sleep 0.22; %s; sleep 600 & exit 77", {"yieldTimeMs": 250}),
    ):
        server = exec_server(
            scene,
            policy="on-failure",
            sandbox="workspace-write",
            home=Home(scene, str(len(scene.servers))),
        )
        call = server.exec_later(script % NOWHERE, callId="it", **params)
        question = server.question_about(call)
        if question:
            equal(question["kind"], "retry", "kind")
            server.answer(question, "denied")
        result = server.result(call)
        if result["state"] == "completed":
            equal((question is not None, result["exitCode"]), (True, 77), "asked, exit code")
        end = server.wait_end_of_call("it").end
        check(end["denials"], "no denials in exec/end")


@test
def a_call_that_is_cancelled_at_once_leaves_nothing(scene):
    server = exec_server(scene)
    for _ in range(20):
        call = server.expect(server.new_id(), "exec/command")
        data = b"".join(
            server.framing.wrap(text.encode())
            for text in (
                '{"jsonrpc":"2.0","id":%d,"method":"exec/command","params":'
                '{"command":"echo x; sleep 600","onCancel":"terminate"}}' % call,
                '{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":%d}}' % call,
            )
        )
        server.send_bytes(data)
        data = server.error(call, -32800, "cancelled")["data"]
        if "processId" in data:
            server.wait_end(data["processId"])
    eventually(lambda: not server.programs(), "the end of all")
    equal(server.call("exec/list")["calls"], [], "calls")


@test
def text_typed_by_a_cancelled_call_is_told(scene):
    server = exec_server(scene)
    process_id = server.left_running("exec cat", tty=True)
    call = server.stdin_later(process_id, "typed\n", noTimeout=True)
    server.wait_delta(process_id, "typed")
    server.notify("$/cancelRequest", {"id": call})
    server.error(call, -32800, "cancelled")
    server.wait(
        lambda: "typed\n" in server.program(process_id).interactions, "exec/terminalInteraction"
    )
    server.call("exec/terminate", {"processId": process_id})


if __name__ == "__main__":
    main()

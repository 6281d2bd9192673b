"""The events of exec/*, and the requests about a process: list, end, signal, resize, cancel."""

import os
import sys
import time

sys.path.insert(0, os.path.abspath(__file__ + "/../../.."))
from support.client import PYTHON, check, equal, eventually, is_alive, within
from support.exec import always, exec_server
from support.programs import DROPS_ITS_MARK, SAYS_ITS_SIZE, SAYS_SIGNALS
from support.runner import main, test

ORDER = ["exec/attempt", "exec/begin", "exec/outputDelta", "exec/end"]


def cancel(server, message_id):
    server.notify("$/cancelRequest", {"id": message_id})


def members_of(server, method):
    return [params for name, params in server.events if name == method]


@test
def the_events_of_a_call_come_once_and_in_order(scene):
    server = exec_server(scene)
    result = server.exec("echo one; echo two", callId="c")
    server.wait_end_of_call("c")
    equal(server.events_of("c"), ORDER, "events")
    for method in ("exec/attempt", "exec/begin", "exec/end"):
        equal(len(members_of(server, method)), 1, "number of " + method)
    attempt = members_of(server, "exec/attempt")[0]
    equal((attempt["n"], attempt["confinement"]), (1, "none"), "attempt")
    check(attempt["reason"], "an attempt without a reason")
    equal(result["callId"], "c", "call id")


@test
def begin_says_what_runs(scene):
    server = exec_server(scene)
    server.exec("echo 'a b' | cat && true", shell="bash", callId="c")
    begin = server.program_of_call("c").begin
    equal(begin["argv"][1:], ["-c", "echo 'a b' | cat && true"], "argv")
    equal(begin["program"], os.path.realpath(begin["argv"][0]), "program")
    equal(begin["workdir"], server.home.project, "workdir")
    equal(begin["mode"], "shell", "mode")
    equal(begin["commands"], [["echo", "a b"], ["cat"], ["true"]], "commands")
    equal(begin["sandbox"], {"type": "none", "missing": []}, "sandbox")
    check(begin["decidedBy"], "nobody decided")
    check(begin["processId"].isdigit(), "process id %r" % begin["processId"])


@test
def end_says_how_it_ended(scene):
    server = exec_server(scene)
    server.exec("echo out; sleep 0.05; echo err >&2; exit 3", callId="c")
    end = server.wait_end_of_call("c").end
    equal((end["status"], end["exitCode"], end["timedOut"]), ("failed", 3, False), "end")
    equal((end["stdout"], end["stderr"]), ("out\n", "err\n"), "streams")
    equal(end["aggregatedOutput"], "out\nerr\n", "aggregated output")
    equal((end["omittedBytes"], end["denials"]), (0, []), "omitted bytes and denials")
    check(end["durationMs"] >= 50 and end["usage"]["wallMs"] >= 50, "duration: %s" % end)
    server.exec("true", callId="d")
    equal(server.wait_end_of_call("d").end["status"], "completed", "status")
    server.exec("kill -KILL $$", callId="e")
    end = server.wait_end_of_call("e").end
    equal((end["exitCode"], end["signal"], end["status"]), (137, "SIGKILL", "failed"), "end")


@test
def formatted_output_keeps_to_the_tokens_of_the_call(scene):
    server = exec_server(scene)
    result = server.exec("seq -f %07.0f 1 1000", maxOutputTokens=10, callId="c")
    end = server.wait_end_of_call("c").end
    equal(end["formattedOutput"], result["output"], "formatted output")
    equal(len(end["aggregatedOutput"]), 8000, "aggregated output")


@test
def a_process_that_outlives_its_call_has_its_end_too(scene):
    server = exec_server(scene)
    gate = scene.path("gate")
    os.mkfifo(gate)
    process_id = server.left_running("echo a; read x < %s; echo b; exit 2" % gate, shows="a\n",
                                     callId="c")
    check(server.program(process_id).end is None, "it has ended already")
    with open(gate, "w"):
        pass
    program = server.wait_end(process_id)
    equal((program.end["callId"], program.end["exitCode"]), ("c", 2), "exec/end")
    equal(program.end["aggregatedOutput"], "a\nb\n", "aggregated output")


@test
def a_process_that_is_killed_from_outside_has_its_end(scene):
    server = exec_server(scene)
    process_id = server.left_running("echo $$; exec sleep 600", shows="\n", callId="c")
    os.kill(int(server.program(process_id).text()), 9)
    end = server.wait_end(process_id).end
    equal((end["callId"], end["exitCode"], end["signal"]), ("c", 137, "SIGKILL"), "exec/end")


@test
def the_end_waits_for_output_that_a_child_still_writes(scene):
    server = exec_server(scene)
    for _ in range(50):  # the server waits only for a moment, which may be too short on a busy machine
        result = server.exec("echo front; (sleep 0.02; echo back) & exit 0")
        text = server.wait_end_of_call(result["callId"]).text()
        if text != "front\n":
            break
    equal(text, "front\nback\n", "deltas")


@test
def the_end_does_not_wait_long_for_a_child_that_holds_the_output(scene):
    server = exec_server(scene)
    began = time.monotonic()
    result = server.exec("echo front; sleep 600 & exit 0", callId="c")
    equal(result["output"], "front\n", "output")
    program = server.wait_end_of_call("c")
    check(time.monotonic() - began < within(25), "exec/end came late")
    process_id = program.begin["processId"]
    equal(len(server.listed(process_id)["descendants"]), 1, "descendants")
    server.call("exec/terminate", {"processId": process_id})
    eventually(lambda: not server.programs(), "the end of the child")


@test
def answers_come_after_the_deltas_of_what_they_show(scene):
    server = exec_server(scene)
    for number in range(30):
        result = server.exec("echo %d; echo x" % number)
        # No wait: the output in the answer was announced before.
        program = server.program_of_call(result["callId"])
        equal(program.text(), result["output"], "deltas when the answer came")


@test
def exec_processes_have_no_events_of_the_process_layer(scene):
    server = exec_server(scene)
    server.exec("echo a", callId="c")
    server.start("p", ["echo", "b"])
    equal(server.finished("p"), (0, b"b\n"), "a process beside it")
    server.wait_end_of_call("c")
    equal(list(server.processes), ["p"], "processes with process/* events")


@test
def without_a_client_that_asks_nothing_is_sent(scene):
    server = exec_server(scene, extensions=False, approvals=False)
    server.start("p", ["true"])
    server.finished("p")
    equal((server.events, server.warnings), ([], []), "events")


@test
def process_ids_count_up_from_1000(scene):
    server = exec_server(scene)
    for number in range(3):
        result = server.exec("true")
        begin = server.program_of_call(result["callId"]).begin
        equal(begin["processId"], str(1000 + number), "process id")


@test
def an_id_of_the_client_is_not_given_out_again(scene):
    server = exec_server(scene)
    server.start("1000", ["sleep", "600"])
    result = server.exec("echo mine")
    begin = server.program_of_call(result["callId"]).begin
    equal((begin["processId"], result["output"]), ("1001", "mine\n"), "process id and output")


# exec/list


@test
def the_list_tells_of_processes_that_run_and_that_have_ended(scene):
    server = exec_server(scene)
    running = server.left_running(
        "sleep 600 & echo abc; exec sleep 600", shows="abc\n", callId="r", workdir="/"
    )
    server.exec("exit 5", callId="e")
    ended = server.wait_end_of_call("e").begin["processId"]
    typing = server.left_running("read x", tty=True, callId="t")
    listed = server.call("exec/list")
    equal(listed["calls"], [], "calls")
    equal([p["processId"] for p in listed["processes"]], [running, ended, typing], "order")
    first, second, third = listed["processes"]
    equal((first["state"], first["callId"], first["workdir"], first["tty"]),
          ("running", "r", "/", False), "the first")
    equal((len(first["descendants"]), first["unreadBytes"]), (1, 0), "descendants and unread")
    check("exitCode" not in first, "exit code of a running process")
    equal((second["state"], second["exitCode"], third["tty"]), ("exited", 5, True), "the others")
    check(abs(first["startedAtMs"] - time.time() * 1000) < 60000 * within(1), "start")
    equal(first["argv"][2], "sleep 600 & echo abc; exec sleep 600", "argv")


@test
def the_list_counts_output_that_no_answer_has_shown(scene):
    server = exec_server(scene)
    gate = scene.path("gate")
    os.mkfifo(gate)
    process_id = server.left_running("echo abc; read x < %s; echo 12345; exec sleep 600" % gate,
                                     shows="abc\n")
    with open(gate, "w"):
        pass
    server.wait_delta(process_id, "12345\n")
    equal(server.listed(process_id)["unreadBytes"], 6, "unread bytes")
    equal(server.stdin(process_id, quietMs=1)["output"], "12345\n", "output")
    equal(server.listed(process_id)["unreadBytes"], 0, "unread bytes after it was shown")


@test
def the_list_shows_calls_that_wait(scene):
    server = exec_server(scene, policy="untrusted")
    asking = server.exec_later("touch x", callId="asks")
    question = server.question()
    call = server.waiting_calls()["asks"]
    equal((call["state"], call["argv"][2]), ("asking", "touch x"), "call")
    check("processId" not in call, "a process before the answer")
    server.answer(question, "denied")
    server.error(asking, kind="denied")
    equal(server.waiting_calls(), {}, "calls after the denial")

    server.call("session/configure", {"approvalPolicy": "on-request"})
    running = server.exec_later("echo a; sleep 600", callId="runs", yieldTimeMs=30000)
    process_id = server.program_of_call("runs").begin["processId"]
    call = server.waiting_calls()["runs"]
    equal((call["state"], call["processId"]), ("running", process_id), "call")
    server.call("exec/terminate", {"processId": process_id})
    equal(server.result(running)["state"], "completed", "state")
    equal(server.waiting_calls(), {}, "calls after the end")


@test
def exec_processes_are_processes_too(scene):
    server = exec_server(scene)
    process_id = server.left_running("echo abc; exec sleep 600", shows="abc\n")
    check(server.entry(process_id), "process/list does not know it")
    equal(server.read_bytes(process_id), b"abc\n", "process/read")
    server.signal(process_id, "kill")
    equal(server.last_answer(process_id)["signal"], "SIGKILL", "signal")
    process_id = server.left_running("exec sleep 600")
    equal(server.terminate(process_id)["running"], True, "process/terminate")
    server.wait_end(process_id)


@test
def processes_of_clients_are_no_exec_processes(scene):
    server = exec_server(scene)
    server.start("p", ["sleep", "600"])
    equal(server.call("exec/list")["processes"], [], "exec/list")
    equal(server.call("exec/terminateAll"), {"terminated": []}, "exec/terminateAll")
    equal(server.entry("p")["processId"], "p", "process/list")


# Ending, signals, size


@test
def terminate_ends_the_whole_tree(scene):
    server = exec_server(scene)
    process_id = server.left_running(
        "trap '' TERM; (setsid sleep 600 &); sleep 600 & echo up; sleep 600; sleep 600"
    )
    equal(server.call("exec/terminate", {"processId": process_id})["running"], True, "result")
    eventually(lambda: not server.programs(), "the end of the tree")
    end = server.wait_end(process_id).end
    equal((end["exitCode"], end["status"]), (137, "failed"), "exec/end")
    equal(server.call("exec/terminate", {"processId": process_id})["running"], False, "again")
    equal(server.call("exec/terminate", {"processId": "no"})["running"], False, "unknown one")


@test
def terminate_ends_a_daemon_that_took_its_mark_off(scene):
    server = exec_server(scene)
    process_id = server.left_running([PYTHON, "-S", "-c", DROPS_ITS_MARK], shows="\n")
    daemon = int(server.program(process_id).text())
    answer = server.call("exec/terminate", {"processId": process_id})
    check("survivors" not in answer and not is_alive(daemon), "the daemon lives: %s" % answer)


@test
def terminate_gives_the_time_that_is_asked_for(scene):
    server = exec_server(scene)
    process_id = server.left_running(
        "trap 'echo bye; exit 4' TERM; echo up; while :; do sleep 0.05 & wait $!; done",
        shows="up\n",
    )
    server.call("exec/terminate", {"processId": process_id, "graceMs": 20000})
    result = server.last_answer(process_id)
    equal((result["exitCode"], result["output"]), (4, "bye\n"), "code and output")


@test
def terminate_all_ends_all_and_says_whom(scene):
    server = exec_server(scene)
    ids = [server.left_running("exec sleep 600") for _ in range(3)]
    server.exec("true")
    waiting = server.exec_later("exec sleep 600", yieldTimeMs=30000, callId="w")
    ids.append(server.program_of_call("w").begin["processId"])
    equal(sorted(server.call("exec/terminateAll")["terminated"]), ids, "terminated")
    equal(server.result(waiting)["state"], "completed", "the call that waited")
    for process_id in ids:
        server.wait_end(process_id)
    equal(server.call("exec/terminateAll"), {"terminated": []}, "again")
    eventually(lambda: not server.programs(), "the end of all")


@test
def signals_reach_the_process(scene):
    server = exec_server(scene)
    process_id = server.left_running([PYTHON, "-S", "-c", SAYS_SIGNALS])
    server.wait_delta(process_id, "ready")
    for name, said in (("usr1", "SIGUSR1"), ("interrupt", "SIGINT"), ("hangup", "SIGHUP")):
        server.call("exec/signal", {"processId": process_id, "signal": name})
        server.wait_delta(process_id, "got " + said)
    server.refused("exec/signal", {"processId": process_id, "signal": "no"}, -32602)
    server.refused("exec/signal", {"processId": "no", "signal": "kill"}, -32600, "unknownProcess")


@test
def a_terminal_can_be_resized(scene):
    server = exec_server(scene)
    process_id = server.left_running([PYTHON, "-S", "-c", SAYS_ITS_SIZE], tty=True)
    server.wait_delta(process_id, "ready")
    server.call("exec/resize", {"processId": process_id, "size": {"rows": 11, "cols": 99}})
    server.wait_delta(process_id, "11 99")
    pipes = server.left_running("exec sleep 600")
    server.refused(
        "exec/resize", {"processId": pipes, "size": {"rows": 1, "cols": 1}}, kind="notATerminal"
    )


# Cancelling


@test
def a_cancelled_call_leaves_its_process_running(scene):
    server = exec_server(scene)
    for params in ({}, {"onCancel": "keep"}):
        call = server.exec_later("echo up; read x; echo $x", tty=True, yieldTimeMs=30000, **params)
        process_id = server.program_of_call(str(call)).begin["processId"]
        server.wait_delta(process_id, "up")
        cancel(server, call)
        error = server.error(call, -32800, "cancelled")
        equal(error["data"].get("processId"), process_id, "process id in %s" % error)
        output = server.last_answer(process_id, "later\n")["output"]
        check("up\r\n" in output and "later\r\n" in output, "output %r" % output)


@test
def a_cancelled_call_ends_its_process_if_it_said_so(scene):
    server = exec_server(scene)
    call = server.exec_later(
        "trap '' TERM; sleep 600 & echo up; sleep 600", yieldTimeMs=30000, onCancel="terminate"
    )
    process_id = server.program_of_call(str(call)).begin["processId"]
    server.wait_delta(process_id, "up")
    cancel(server, call)
    error = server.error(call, -32800, "cancelled")
    check("processId" not in error["data"], "a process id: %s" % error)
    equal(server.wait_end(process_id).end["exitCode"], 137, "code")
    eventually(lambda: not server.programs(), "the end of the tree")


@test
def a_cancelled_poll_ends_nothing_and_loses_nothing(scene):
    server = exec_server(scene)
    gate = scene.path("gate")
    os.mkfifo(gate)
    process_id = server.left_running("echo a; read x < %s; echo b; exec sleep 600" % gate,
                                     shows="a\n")
    poll = server.stdin_later(process_id, "", noTimeout=True)
    with open(gate, "w"):
        pass
    server.wait_delta(process_id, "b\n")
    cancel(server, poll)
    equal(server.error(poll, -32800, "cancelled")["data"].get("processId"), process_id, "id")
    equal(server.stdin(process_id, quietMs=1)["output"], "b\n", "output of the next poll")


@test
def cancelling_what_is_answered_or_unknown_does_nothing(scene):
    server = exec_server(scene)
    message_id = server.exec_later("echo a")
    equal(server.result(message_id)["output"], "a\n", "output")
    for other in (message_id, 123456, "x", None, {"a": 1}):
        cancel(server, other)
    equal(server.output_of("echo b"), "b\n", "output afterwards")


@test
def a_cancelled_call_that_is_being_asked_about_withdraws_its_question(scene):
    server = exec_server(scene, policy="untrusted")
    for on_cancel in ("keep", "terminate"):
        call = server.exec_later("touch made", onCancel=on_cancel)
        question = server.question()
        cancel(server, call)
        server.error(call, -32800, "cancelled")
        server.wait_withdrawn(question)
        server.answer(question, "approved")
        server.answers()
    equal(members_of(server, "exec/begin"), [], "programs")
    check(not os.path.exists(server.home.project + "/made"), "it ran all the same")
    equal(server.waiting_calls(), {}, "calls")


@test
def calls_cancelled_right_after_they_were_sent_get_one_answer(scene):
    server = exec_server(scene)
    for on_cancel in ("terminate", "keep"):
        for _ in range(10):
            call = server.exec_later("echo x; sleep 600", yieldTimeMs=30000, onCancel=on_cancel)
            cancel(server, call)
            server.error(call, -32800, "cancelled")
    server.call("exec/terminateAll")
    eventually(lambda: not server.programs(), "the end of all")


# The end of the client


@test
def the_end_of_the_client_ends_everything(scene):
    server = exec_server(scene)
    server.left_running("trap '' TERM HUP; (setsid sleep 600 &); sleep 600; sleep 600")
    server.exec_later("exec sleep 600", yieldTimeMs=30000)
    server.stdin_later("1000", "", noTimeout=True)
    server.answers()
    equal(server.end(), 0, "exit status")
    eventually(lambda: not server.programs(), "the end of all")


@test
def a_client_that_goes_while_it_is_asked_leaves_nothing(scene):
    server = exec_server(scene, policy="untrusted")
    calls = [server.exec_later("touch made-%d" % number) for number in range(3)]
    for _ in calls:
        server.question()
    equal(server.end(), 0, "exit status")
    for call in calls:
        server.error(call, kind="shuttingDown")
    check(not [n for n in os.listdir(server.home.project) if n.startswith("made")], "it ran")


@test
def a_program_that_ran_before_the_cancel_goes_on(scene):
    server = exec_server(scene)
    ran = server.home.project + "/ran"
    call = server.expect(
        server.new_id(), "exec/command", server.exec_params("echo x > ran; exec sleep 600")
    )
    # While the server handles these it does not read that the program runs.
    others = [server.expect(server.new_id(), "policy/explain") for _ in range(3000)]
    message = '{"id":%d,"method":"exec/command","params":{"command":"echo x > ran; exec sleep 600"}}\n'
    text = message % call
    for other in others:
        text += '{"id":%d,"method":"policy/explain","params":{"command":"ls | cat"}}\n' % other
    text += '{"method":"$/cancelRequest","params":{"id":%d}}\n' % call
    server.send_bytes(text.encode())
    error = server.error(call, -32800)
    for other in others:
        server.result(other)
    if os.path.exists(ran):
        process = error["data"].get("processId")
        check(process, "it ran and is ended: %s" % error)
        equal(server.listed(process)["state"], "running", "state")


@test
def shutdown_while_asking_refuses_what_waits(scene):
    server = exec_server(scene, policy="untrusted")
    call = server.exec_later("touch made")
    server.question()
    equal(server.call("shutdown"), None, "shutdown")
    server.notify("exit")
    equal(server.exit_status(), 0, "exit status")
    server.error(call, kind="shuttingDown")
    check(not os.path.exists(server.home.project + "/made"), "it ran")


@test
def a_flood_and_a_question_go_on_side_by_side(scene):
    server = exec_server(scene, policy="untrusted", answer=always("approved"))
    flood = server.left_running("exec yes")
    for number in range(5):
        equal(server.exec("touch made-%d" % number)["exitCode"], 0, "code")
    server.call("exec/terminate", {"processId": flood})
    server.wait_end(flood)


if __name__ == "__main__":
    main()

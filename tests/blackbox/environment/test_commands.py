"""Commands in an environment: programs on another machine, behind a server of execward or of Codex.

Failures of environments are in test_losses.py. The other side is a real server, or a fake that speaks
like a real server and refuses what that server would refuse; both run on this machine.
"""

import json
import os
import re
import sys

sys.path.insert(0, os.path.abspath(__file__ + "/../../.."))
from support.client import PYTHON, brief, check, decoded, equal, eventually, within
from support.exec import exec_server
from support.peer import (
    Execward,
    Peer,
    box,
    completed,
    entries,
    entry_of,
    failed,
    fake,
    fate,
    place,
    rests,
    running,
    server_with,
    states,
    token,
    underway,
    wait_gone,
    wait_state,
)
from support.programs import SAYS_ITS_SIZE, SAYS_SIGNALS
from support.runner import main, test
from support.screens import is_there, text, wait_screen

KINDS = ("real", "codex", "old")


def with_each(*kinds):
    """Makes a test for each kind of environment, from its name and the kind."""

    def make(function):
        for kind in kinds:

            def one(scene, kind=kind):
                function(scene, kind)

            one.__name__ = "%s_%s" % (function.__name__, kind)
            test(one)
        return function

    return make


def resting(server, scene, name="rests", **params):
    """Starts a sleeping program in the box. Returns its process id and its word."""
    word = token(scene, name)
    process_id = server.left_running(rests(word), environment="box", **params)
    server.wait_delta(process_id, "up")
    return process_id, word


def until(path, then):
    return "echo begun; until test -e %s; do sleep 0.02; done; %s" % (path, then)


def cannot(server, method, **params):
    """Checks that the request fails because the other side does not support it."""
    server.refused(method, params, kind="environmentUnavailable")


# One command


@with_each(*KINDS, "execward")
def a_command_runs_there_and_all_that_tells_of_it_names_the_place(scene, kind):
    server, there = box(scene, kind)
    script = "echo out; echo err >&2; pwd; exit 3"
    result = server.exec(["/bin/sh", "-c", script], environment="box", callId="c")
    equal(sorted(completed(result, 3).split()), sorted(["out", "err", place(there)]), "output")
    equal(result["environment"], "box", "environment of the answer")

    program = server.wait_end_of_call("c")
    for event in (program.begin, program.end):
        equal((event["environment"], event["workdir"]), ("box", place(there)), "where it ran")
    equal((program.end["status"], program.end["exitCode"]), ("failed", 3), "status and code")
    equal(program.end["stderr"], "err\n", "stderr")
    equal(program.end["stdout"].split(), ["out", place(there)], "stdout")
    check("failure" not in program.end, "a failure: %s" % program.end)
    events = ["exec/attempt", "exec/begin", "exec/outputDelta", "exec/end"]
    equal(server.events_of("c"), events, "events")


@with_each("real", "codex")
def a_script_is_run_by_the_shell_of_the_environment(scene, kind):
    server, _ = box(scene, kind)
    result = server.exec("echo $0; cd /; pwd", environment="box", callId="c")
    shell = "/bin/bash" if kind == "real" else "/bin/sh"
    equal(completed(result).split(), [shell, "/"], "output")
    equal(server.program_of_call("c").begin["argv"][0], shell, "shell")


@test
def without_a_word_about_shells_a_script_is_run_by_bin_sh(scene):
    server, _ = box(scene, "old")
    equal(completed(server.exec("echo $0", environment="box")), "/bin/sh\n", "output")


@with_each("real", "codex")
def a_directory_is_relative_to_the_root_there(scene, kind):
    server, there = box(scene, kind)
    os.mkdir(os.path.join(place(there), "sub"))
    for asked, found in (("sub", place(there) + "/sub"), ("/", "/"), ("", place(there))):
        result = server.exec(["/bin/pwd"], environment="box", workdir=asked)
        equal(completed(result), found + "\n", "directory for %r" % asked)


@test
def directories_may_have_any_name(scene):
    path = os.path.realpath(scene.path()) + "/Caf\u00e9 100% #1?"
    os.mkdir(path)
    server, _ = fake(scene, cwd=path)
    result = server.exec(["/bin/pwd"], environment="box", callId="c")
    equal(completed(result), path + "\n", "directory")
    equal(server.program_of_call("c").begin["workdir"], path, "directory of exec/begin")


@with_each("real", "codex")
def the_first_configured_root_is_where_commands_run(scene, kind):
    root = os.path.realpath(scene.path())
    there = Execward(scene, "box") if kind == "real" else Peer(scene, dialect=kind)
    there.settings["workspace_roots"] = [root, "/srv/other"]
    server = server_with(scene, there)
    equal(completed(server.exec(["/bin/pwd"], environment="box")), root + "\n", "directory")


@with_each(*KINDS)
def a_program_that_is_not_there_is_a_failed_start(scene, kind):
    server, _ = box(scene, kind)
    result = server.exec(["/no/such/program"], environment="box")
    failed(result, "spawnFailed" if kind == "old" else "spawnNotFound")
    equal(result["environment"], "box", "environment")
    equal(completed(server.exec(["/bin/echo", "on"], environment="box")), "on\n", "the next one")


@test
def on_this_machine_nothing_speaks_of_an_environment(scene):
    server, there = fake(scene)
    for number, params in enumerate(({}, {"environment": "local"})):
        result = server.exec("echo here", callId=str(number), **params)
        equal(completed(result), "here\n", "output")
        program = server.wait_end_of_call(str(number))
        for part in (result, program.begin, program.end):
            check("environment" not in part, "an environment in %s" % brief(part, 400))
    equal(there.begun(), [], "starts of the environment")


@test
def the_default_environment_is_for_calls_that_name_none(scene):
    there = Peer(scene)
    server = server_with(scene, there, config='default_environment = "box"\n')
    equal(server.exec(["/bin/pwd"])["output"], there.directory + "\n", "without a name")
    here = server.exec(["/bin/pwd"], environment="local")
    equal(here["output"], server.home.project + "\n", "local")
    check("environment" not in here, "an environment of this machine")
    defaults = {found["id"]: found["isDefault"] for found in entries(server)}
    equal(defaults, {"local": False, "box": True}, "isDefault")


@test
def local_is_a_name_for_the_default_as_well(scene):
    server = server_with(scene, Peer(scene), config='default_environment = "local"\n')
    check("environment" not in server.exec("true"), "an environment of this machine")


@test
def an_unknown_environment_is_a_wrong_parameter(scene):
    server, there = fake(scene)
    for name in ("bax", "Box", ""):
        error = server.exec_refused("true", "invalidParams", -32602, environment=name)
        equal(error["data"]["path"], "environment", "path for %r" % name)
    equal(there.begun(), [], "starts of the environment")


@test
def without_environments_there_is_this_machine_alone(scene):
    server = exec_server(scene)
    equal([(e["id"], e["state"]) for e in entries(server)], [("local", "local")], "environments")
    server.exec_refused("true", "invalidParams", environment="box")


@test
def variables_are_as_on_this_machine_and_nothing_of_it_goes_there(scene):
    there = Peer(scene)
    server = server_with(scene, there, env={"ONLY_HERE": "a value of this machine"})
    script = "echo $NO_COLOR $TERM $EXECWARD_EXEC $MINE"
    result = server.exec(script, environment="box", env={"MINE": "set by the call"})
    equal(completed(result), "1 dumb 1 set by the call\n", "output")
    start = there.sent("process/start")[0]
    sent = json.dumps([start["env"], start["envPolicy"]])
    check("a value of this machine" not in sent and "ONLY_HERE" not in sent, "sent: %s" % sent)


@test
def its_program_is_started_as_configured(scene):
    there = Peer(scene, settings={"env": {"NAME": "its value"}, "cwd": scene.path()})
    there.command = [os.path.basename(there.command[0]), *there.command[1:]]
    server = server_with(scene, there, env={"PATH": os.path.dirname(PYTHON) + ":/usr/bin:/bin"})
    completed(server.exec("true", environment="box"))
    (begun,) = [note for note in there.log() if "begun" in note]
    equal(begun["environment"].get("NAME"), "its value", "variable")
    equal(begun["directory"], os.path.realpath(scene.path()), "directory")
    found = entry_of(server, "box")
    equal((found["program"], found["args"]), (there.command[0], there.command[1:]), "as listed")


@test
def calls_at_once_share_one_start_of_the_environment(scene):
    server, there = fake(scene)
    ids = [server.exec_later(["/bin/echo", str(n)], environment="box") for n in range(6)]
    for number, message_id in enumerate(ids):
        equal(completed(server.result(message_id)), "%d\n" % number, "output")
    equal(len(there.begun()), 1, "starts of the environment")


# A program that keeps running


@with_each(*KINDS)
def polls_get_what_comes_later(scene, kind):
    server, _ = box(scene, kind)
    gate = scene.path("gate")
    argv = ["/bin/sh", "-c", until(gate, "echo later; exit 5")]
    process_id = server.left_running(argv, environment="box")
    server.wait_delta(process_id, "begun")
    scene.file("gate")
    result = server.last_answer(process_id)
    equal((result["exitCode"], result["environment"]), (5, "box"), "code and environment")
    check(result["output"].endswith("later\n"), "output %r" % result["output"])
    equal(server.wait_end(process_id).end["aggregatedOutput"], "begun\nlater\n", "all output")


@with_each(*KINDS)
def one_can_type_into_a_terminal_there(scene, kind):
    server, _ = box(scene, kind)
    argv = ["/bin/sh", "-c", "read line; echo got $line; test -t 0 && echo terminal"]
    process_id = server.left_running(argv, environment="box", tty=True)
    result = server.last_answer(process_id, "hello\n")
    check("got hello\r\nterminal\r\n" in result["output"], "output %r" % result["output"])
    equal(server.wait_end(process_id).interactions, ["hello\n"], "interactions")


@with_each("real", "codex")
def ctrl_c_interrupts_with_pipes_and_in_a_terminal(scene, kind):
    server, _ = box(scene, kind)
    for tty in (False, True):
        process_id, word = resting(server, scene, "tty-%s" % tty, tty=tty)
        result = server.last_answer(process_id, "\x03")
        check(result["exitCode"] != 0, "exit code of tty=%s" % tty)
        wait_gone(word)


@with_each("real", "execward")
def a_terminal_there_can_be_resized(scene, kind):
    server, _ = box(scene, kind)
    argv = [PYTHON, "-S", "-c", SAYS_ITS_SIZE]
    size = {"rows": 30, "cols": 90}
    process_id = server.left_running(argv, environment="box", tty=True, size=size)
    server.wait_delta(process_id, "ready")
    for method, rows in (("exec/resize", 40), ("process/resize", 50)):
        params = {"processId": process_id, "size": {"rows": rows, "cols": 100}}
        server.call(method, params)
        server.wait_delta(process_id, "%d 100" % rows)
    server.call("exec/terminate", {"processId": process_id})


@with_each(*KINDS)
def a_terminal_there_has_a_screen(scene, kind):
    server, _ = box(scene, kind)
    if not is_there(server):
        return
    process_id = server.left_running(
        "printf 'one\\r\\n\\033[2Ctwo'; read line", shows="two", environment="box", tty=True
    )
    result = wait_screen(server, process_id, "two", method="exec/screen")
    equal(text(result), "one\n  two", "the text")


@with_each("real")
def the_first_size_of_a_terminal_goes_there(scene, kind):
    server, _ = box(scene, kind)
    size = {"rows": 30, "cols": 90}
    result = server.exec(["stty", "size"], environment="box", tty=True, size=size)
    equal(completed(result), "30 90\r\n", "size")


@test
def codex_has_no_resize_and_no_signals_but_interrupt(scene):
    server, _ = fake(scene)
    argv = [PYTHON, "-S", "-c", SAYS_SIGNALS]
    process_id = server.left_running(argv, environment="box", tty=True)
    server.wait_delta(process_id, "ready")
    for layer in ("exec", "process"):
        size = {"rows": 50, "cols": 100}
        cannot(server, layer + "/resize", processId=process_id, size=size)
        cannot(server, layer + "/signal", processId=process_id, signal="usr1")
    server.call("exec/signal", {"processId": process_id, "signal": "interrupt"})
    server.wait_delta(process_id, "got SIGINT")
    server.call("exec/terminate", {"processId": process_id})


@with_each("real", "execward")
def signals_go_there(scene, kind):
    server, _ = box(scene, kind)
    argv = [PYTHON, "-S", "-c", SAYS_SIGNALS]
    process_id = server.left_running(argv, environment="box")
    server.wait_delta(process_id, "ready")
    for layer, name, said in (("exec", "usr1", "USR1"), ("process", "terminate", "TERM")):
        server.call(layer + "/signal", {"processId": process_id, "signal": name})
        server.wait_delta(process_id, "got SIG" + said)
    server.call("exec/terminate", {"processId": process_id})
    equal(server.wait_end(process_id).end["exitCode"], 137, "exit code")


@with_each(*KINDS, "execward")
def terminate_ends_the_program_there(scene, kind):
    server, _ = box(scene, kind)
    for method in ("exec/terminate", "process/terminate"):
        process_id, word = resting(server, scene, method.replace("/", "-"))
        waiting = server.stdin_later(process_id, noTimeout=True)
        equal(server.call(method, {"processId": process_id})["running"], True, "running")
        wait_gone(word)
        completed(server.result(waiting), 137)
        end = server.wait_end(process_id).end
        equal((end["exitCode"], end["environment"]), (137, "box"), "end")
        equal(server.call(method, {"processId": process_id})["running"], False, "running")


@with_each("real")
def a_grace_is_given_there(scene, kind):
    server, _ = box(scene, kind)
    script = "trap 'echo bye; exit 0' TERM; echo up; while :; do sleep 0.05; done"
    process_id = server.left_running(["/bin/sh", "-c", script], environment="box")
    server.wait_delta(process_id, "up")
    server.call("exec/terminate", {"processId": process_id, "graceMs": 20000})
    end = server.wait_end(process_id).end
    equal((end["exitCode"], end["stdout"]), (0, "up\nbye\n"), "end")


@with_each("real", "codex")
def a_time_limit_is_kept_there(scene, kind):
    server, _ = box(scene, kind)
    word = token(scene, "limited")
    result = server.exec(rests(word), environment="box", timeoutMs=int(within(4000)))
    equal((result["exitCode"], result["timedOut"]), (124, True), "end")
    equal(result["output"], "up\n", "output")
    wait_gone(word)


@with_each("real", "codex")
def process_read_has_the_bytes_of_a_program_there(scene, kind):
    server, _ = box(scene, kind)
    argv = ["/bin/sh", "-c", r"printf 'caf\303\251 \377\n'; exec sleep 600"]
    process_id = server.left_running(argv, environment="box")
    server.wait_delta(process_id, "\n")
    read = server.read(process_id)
    data = b"".join(decoded(chunk["chunk"]) for chunk in read["chunks"])
    equal(data, b"caf\xc3\xa9 \xff\n", "bytes")
    equal((read["exited"], read["failure"]), (False, None), "state")
    server.terminate(process_id)
    server.wait_end(process_id)
    read = server.read(process_id, afterSeq=read["nextSeq"] - 1, waitMs=20000)
    equal((read["exited"], read["exitCode"]), (True, 137), "state after the end")


@with_each("real", "execward")
def stdin_is_typed_and_closed_there(scene, kind):
    server, _ = box(scene, kind)
    result = server.exec(["cat"], environment="box", stdin="some\ntext")
    equal(completed(result), "some\ntext", "output")


@with_each(*KINDS)
def the_end_of_input_can_be_typed_into_a_terminal_there(scene, kind):
    server, _ = box(scene, kind)
    process_id = server.left_running(["cat"], environment="box", tty=True)
    result = server.stdin(process_id, "text\n", closeStdin=True, yieldTimeMs=30000)
    equal(completed(result), "text\r\ntext\r\n", "output")


@test
def codex_cannot_close_a_pipe_so_a_text_for_one_is_refused_before_the_start(scene):
    server, there = fake(scene)
    failed(server.exec(["cat"], environment="box", stdin="text"), "environmentUnavailable")
    equal(there.sent("process/start"), [], "starts")
    result = server.exec(["cat"], environment="box", stdin="text\n", tty=True)
    equal(completed(result), "text\r\ntext\r\n", "in a terminal")


@with_each("real", "codex")
def cancelling_keeps_or_ends_the_program_as_the_call_says(scene, kind):
    server, _ = box(scene, kind)
    for what in ("keep", "terminate"):
        word = token(scene, what)
        message_id = server.exec_later(
            rests(word), environment="box", onCancel=what, yieldTimeMs=30000, callId=what
        )
        process_id = server.program_of_call(what).begin["processId"]
        server.wait_delta(process_id, "up")
        server.notify("$/cancelRequest", {"id": message_id})
        error = server.error(message_id, kind="cancelled")
        if what == "keep":
            equal(error["data"]["processId"], process_id, "process that goes on")
            check(running(word), "it was ended")
            server.call("exec/terminate", {"processId": process_id})
        server.wait_end(process_id)
        wait_gone(word)


# Lists


@with_each("real", "codex")
def lists_name_the_environment_and_can_be_of_one(scene, kind):
    server, _ = box(scene, kind)
    here = server.left_running("sleep 600")
    process_id, _ = resting(server, scene)
    for name, expected in ((None, [here, process_id]), ("box", [process_id]), ("local", [here])):
        params = {} if name is None else {"environment": name}
        listed = server.call("exec/list", params)["processes"]
        equal([found["processId"] for found in listed], expected, "list of %s" % name)
    listed = {entry["processId"]: entry for entry in server.call("exec/list")["processes"]}
    equal(listed[process_id]["environment"], "box", "environment")
    check("environment" not in listed[here], "an environment of this machine")
    info = server.entry(process_id)
    equal((info["environment"], info["pid"]), ("box", 0), "environment and pid in process/list")
    check(server.entry(here)["pid"] > 0, "no pid of a process of this machine")
    server.call("exec/terminateAll")


@with_each("real", "codex")
def terminate_all_can_be_of_one_environment(scene, kind):
    server, _ = box(scene, kind)
    here = server.left_running("sleep 600")
    process_id, word = resting(server, scene)
    ended = server.call("exec/terminateAll", {"environment": "box"})["terminated"]
    equal(ended, [process_id], "terminated")
    wait_gone(word)
    equal(server.listed(here)["state"], "running", "state of the one here")
    process_id, word = resting(server, scene, "other")
    ended = server.call("exec/terminateAll", {"environment": "local"})["terminated"]
    equal(ended, [here], "terminated")
    server.wait_end(here)
    check(running(word), "it was ended")
    equal(server.call("exec/terminateAll")["terminated"], [process_id], "terminated")
    wait_gone(word)


@test
def a_call_that_waits_is_listed_with_its_environment(scene):
    gate = scene.path("gate")
    server, _ = fake(scene, fates=[{"at": "process/start", "do": "hold", "until": gate}])
    message_id = server.exec_later("true", environment="box", callId="c")
    eventually(lambda: "c" in server.waiting_calls(), "the call in the list")
    call = server.waiting_calls()["c"]
    equal((call["state"], call["environment"]), ("starting", "box"), "state and environment")
    scene.file("gate")
    completed(server.result(message_id))


@test
def the_end_of_everything_ends_calls_that_wait_for_a_connection(scene):
    gate = scene.path("gate")
    server, _ = fake(scene, fates=[{"at": "initialize", "do": "hold", "until": gate}])
    made = scene.path("made")
    waits = server.exec_later(["touch", made], environment="box")
    wait_state(server, "box", "starting")
    equal(server.call("exec/terminateAll", {"environment": "local"})["terminated"], [], "local")
    check(server.waiting_calls(), "a call elsewhere was ended")
    equal(server.call("exec/terminateAll")["terminated"], [], "terminated")
    check("box" in server.error(waits, kind="cancelled")["message"], "the environment is not told")
    equal(server.waiting_calls(), {}, "calls")
    scene.file("gate")
    equal(server.output_of("echo next", environment="box"), "next\n", "the next call")
    check(not os.path.exists(made), "the ended call ran")


# States


@test
def an_environment_is_idle_until_it_is_used_and_then_ready(scene):
    server, there = fake(scene, "execward")
    equal(states(server), {"local": "local", "box": "idle"}, "states")
    equal(entries(server)[0]["id"], "local", "the first one")
    equal(there.begun(), [], "starts")
    process_id, _ = resting(server, scene)
    found = entry_of(server, "box")
    equal((found["state"], found["processes"]), ("ready", 1), "state and processes")
    equal(found["server"], {"name": "execward", "version": "9.8.7"}, "server")
    equal((found["cwd"], found["shell"]["path"]), (there.directory, "/bin/sh"), "what it said")
    check("failure" not in found, "a failure: %s" % found)
    server.call("exec/terminate", {"processId": process_id})
    server.wait_end(process_id)
    equal(entry_of(server, "box")["processes"], 0, "processes")


@test
def an_environment_is_starting_until_it_has_answered(scene):
    gate = scene.path("gate")
    server, there = fake(scene, fates=[{"at": "initialize", "do": "hold", "until": gate}])
    message_id = server.exec_later("echo slowly", environment="box")
    wait_state(server, "box", "starting")
    equal(server.output_of("echo here"), "here\n", "meanwhile")
    scene.file("gate")
    equal(completed(server.result(message_id)), "slowly\n", "output")
    equal(states(server)["box"], "ready", "state")
    equal(len(there.begun()), 1, "starts")


@test
def a_failed_environment_is_started_again_by_the_next_call(scene):
    server, there = fake(scene, fates=[{"at": "begin", "do": "exit", "status": 9}])
    failed(server.exec("true", environment="box"), "environmentUnavailable")
    found = entry_of(server, "box")
    equal(found["state"], "failed", "state")
    check(re.search(r"\b9\b", found["failure"]), "failure %r" % found["failure"])
    there.tell()
    equal(completed(server.exec("echo up", environment="box")), "up\n", "output")
    found = entry_of(server, "box")
    equal((found["state"], found.get("failure")), ("ready", None), "state")


@with_each("real", "codex")
def whether_it_can_confine_is_listed(scene, kind):
    server, _ = box(scene, kind)
    completed(server.exec("true", environment="box"))
    check("confines" in entry_of(server, "box"), "confines is absent")


@test
def one_of_the_first_servers_is_known_not_to_confine(scene):
    server, _ = box(scene, "old")
    completed(server.exec(["true"], environment="box"))
    equal(entry_of(server, "box")["confines"], False, "confines")


# Lists


@test
def the_list_tells_what_is_so_and_nothing_else(scene):
    old = Peer(scene, "old", dialect="codex-old")
    old.settings["workspace_roots"] = [old.directory, "/srv/other"]
    there = Peer(scene, settings={"workspace_roots": ["/", "/srv"]})
    broken = Peer(scene, "broken", fates=[fate("begin", "exit", status=3)])
    server = server_with(scene, old, there, broken)
    here = [server.left_running("sleep 600") for _ in range(2)]
    underway(server, scene)
    completed(server.exec("true", environment="old"))
    failed(server.exec("true", environment="broken"), "environmentUnavailable")
    found = {e["id"]: e for e in server.call("environment/list")["environments"]}
    counts = {name: entry.get("processes") for name, entry in found.items()}
    equal(counts, {"local": 2, "box": 1, "old": 0, "broken": 0}, "processes")
    equal((found["box"]["cwd"], found["old"]["cwd"]), ("/", old.directory), "directories")
    check("version" not in found["old"]["server"], "a version: %s" % found["old"])
    with_failure = [name for name, entry in found.items() if "failure" in entry]
    equal(with_failure, ["broken"], "those with a failure")
    broken.tell()
    completed(server.exec("true", environment="broken"))
    check("failure" not in entry_of(server, "broken"), "a failure of one that is ready")
    for process_id in here:
        server.call("exec/terminate", {"processId": process_id})


if __name__ == "__main__":
    main()

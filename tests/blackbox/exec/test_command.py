"""exec/command: the time of its answer, the input of a command, and the errors if it cannot run."""

import hashlib
import json
import os
import re
import sys
import time

sys.path.insert(0, os.path.abspath(__file__ + "/../../.."))
from support.client import PYTHON, brief, check, equal, eventually, seconds_of, within
from support.exec import Home, decision, exec_server, untrusting
from support.runner import main, test

FIXED = {
    "NO_COLOR": "1",
    "TERM": "dumb",
    "LANG": "C.UTF-8",
    "LC_CTYPE": "C.UTF-8",
    "LC_ALL": "C.UTF-8",
    "COLORTERM": "",
    "PAGER": "cat",
    "GIT_PAGER": "cat",
    "GH_PAGER": "cat",
    "EXECWARD_EXEC": "1",
}
PRINTS_ENVIRONMENT = [PYTHON, "-S", "-c", "import os, json; print(json.dumps(dict(os.environ)))"]


def environment_of(server, **params):
    return json.loads(server.output_of(PRINTS_ENVIRONMENT, **params))


def failed(result, kind):
    """Checks that a failed start has the shape of a result."""
    equal(result["state"], "failed", "state in %s" % brief(result, 400))
    equal(result["failure"]["kind"], kind, "kind in %s" % brief(result["failure"], 400))
    equal(result["exitCode"], -1, "exit code")
    check("processId" not in result, "a process id: %s" % result.get("processId"))
    check(result["failure"]["message"], "no message")
    equal(result["output"], result["failure"]["message"], "output")
    check(re.fullmatch("[0-9a-f]{6}", result["chunkId"]), "chunk id %r" % result["chunkId"])
    return result


# The time of the answer


def tag_of(session_id):
    return hashlib.sha256(session_id.encode()).hexdigest()


@test
def the_wait_is_clamped_and_the_answer_says_to_what(scene):
    server = exec_server(scene)
    for asked, effective in (
        (None, 10000),
        (0, 250),
        (1, 250),
        (249, 250),
        (250, 250),
        (7777, 7777),
        (30000, 30000),
        (30001, 30000),
        (1 << 62, 30000),
    ):
        result = server.exec("true", yieldTimeMs=asked)
        equal(result["yieldTimeMs"], effective, "yield of %s" % asked)


@test
def the_bounds_of_the_wait_are_settings(scene):
    home = Home(scene)
    home.config("min_yield_ms = 20\nmax_yield_ms = 300\ndefault_yield_ms = 40\n")
    server = exec_server(scene, home=home)
    for asked, effective in ((None, 40), (1, 20), (100, 100), (1000, 300)):
        result = server.exec("sleep 600", yieldTimeMs=asked)
        equal((result["state"], result["yieldTimeMs"]), ("running", effective), "of %s" % asked)


@test
def a_command_that_goes_on_is_answered_at_the_deadline_with_its_id(scene):
    server = exec_server(scene)
    began = time.monotonic()
    result = server.exec("echo begun; sleep 600", yieldTimeMs=1)
    took = time.monotonic() - began
    equal(result["state"], "running", "state")
    shown = server.gather(result["processId"], "begun\n", result["output"])
    equal(shown, "begun\n", "output")
    check("exitCode" not in result and "usage" not in result, "an end: %s" % result)
    check(result["processId"].isdigit() and int(result["processId"]) >= 1000, "process id")
    check(result["wallTimeMs"] >= 250 and took >= 0.25, "answered after %.3f s" % took)
    check(took < within(9), "answered after %.3f s" % took)  # earlier than the default of ten


@test
def a_command_that_ends_is_answered_then_and_not_at_the_deadline(scene):
    server = exec_server(scene)
    server.exec("true")
    for tty in (False, True):
        began = time.monotonic()
        result = server.exec("sleep 0.05; echo over", yieldTimeMs=31000, tty=tty)
        took = time.monotonic() - began
        equal((result["state"], result["exitCode"]), ("completed", 0), "state and code")
        check("processId" not in result, "an id of what has ended")
        equal(result["output"].split(), ["over"], "output")
        check(took < within(20), "tty=%s: answered after %.3f s" % (tty, took))


@test
def times_are_told_apart(scene):
    def slow_answer(question):
        time.sleep(5)
        return {"decision": "approved"}

    server = exec_server(scene, policy="untrusted", answer=slow_answer)
    result = server.exec("sleep 0.3; touch x")
    check(result["timings"]["approvalMs"] >= 5000, "approvalMs in %s" % result["timings"])
    check(result["timings"]["runMs"] >= 300, "runMs in %s" % result["timings"])
    check(result["wallTimeMs"] >= 250, "wall time %s" % result["wallTimeMs"])
    check(
        result["wallTimeMs"] <= result["timings"]["runMs"] + 4500,
        "the wall time holds the question: %s" % result,
    )


@test
def quiet_output_ends_the_wait_early(scene):
    server = exec_server(scene)
    began = time.monotonic()
    result = server.exec("echo one; sleep 600", yieldTimeMs=30000, quietMs=100)
    equal((result["state"], result["output"]), ("running", "one\n"), "state and output")
    check(time.monotonic() - began < within(20), "it was not quiet in time")
    check(result["wallTimeMs"] >= 100, "it was not quiet for long: %s" % result["wallTimeMs"])


@test
def silence_before_any_output_is_not_quiet(scene):
    server = exec_server(scene)
    result = server.exec("sleep 0.6; echo late", yieldTimeMs=30000, quietMs=10)
    # The command may be quiet for 10 ms between the line and the exit.
    equal(result["output"], "late\n", "output")


@test
def output_that_goes_on_is_not_quiet(scene):
    server = exec_server(scene)
    script = "for i in 1 2 3 4 5 6 7 8; do echo $i; sleep 0.05; done"
    result = server.exec(script, yieldTimeMs=30000, quietMs=20000)
    equal((result["state"], result["exitCode"]), ("completed", 0), "state and code")
    equal(result["output"].split(), list("12345678"), "output")


@test
def quiet_does_not_outlast_the_deadline(scene):
    server = exec_server(scene)
    began = time.monotonic()
    result = server.exec("echo one; sleep 600", yieldTimeMs=300, quietMs=60000)
    equal(result["state"], "running", "state")
    check(time.monotonic() - began < within(25), "the deadline was not kept")


@test
def a_child_that_holds_the_output_does_not_hold_up_the_answer(scene):
    server = exec_server(scene)
    began = time.monotonic()
    result = server.exec("echo front; sleep 600 & exit 3", yieldTimeMs=30000)
    equal((result["state"], result["exitCode"]), ("completed", 3), "state and code")
    equal(result["output"], "front\n", "output")
    check(time.monotonic() - began < within(25), "it was held up")


# Ends


@test
def exit_codes_and_signals_are_told(scene):
    server = exec_server(scene)
    for script, code, signal in (
        ("exit 0", 0, None),
        ("exit 1", 1, None),
        ("exit 255", 255, None),
        ("kill -TERM $$", 143, "SIGTERM"),
        ("kill -KILL $$", 137, "SIGKILL"),
        ("kill -INT $$", 130, "SIGINT"),
    ):
        result = server.exec(script)
        equal(result["state"], "completed", "state of %s" % script)
        equal((result["exitCode"], result.get("signal")), (code, signal), "end of %s" % script)
        check(result["usage"]["wallMs"] >= 0, "usage")


@test
def time_out_ends_the_tree_with_code_124(scene):
    server = exec_server(scene)
    script = "echo kept; (setsid sleep 600 &); trap '' TERM INT HUP; sleep 600 & sleep 600"
    result = server.exec(script, timeoutMs=int(within(4000)), yieldTimeMs=30000)
    got = (result["state"], result["exitCode"], result["timedOut"])
    equal(got, ("completed", 124, True), "state, code and timedOut")
    equal(result["output"], "kept\n", "output")
    check("signal" not in result, "a signal that nobody sent: %s" % result.get("signal"))
    eventually(lambda: not server.programs(), "the end of the tree")
    end = server.wait_end_of_call(result["callId"]).end
    equal((end["status"], end["exitCode"], end["timedOut"]), ("failed", 124, True), "exec/end")


@test
def time_out_comes_also_after_the_answer(scene):
    server = exec_server(scene)
    result = server.exec("echo a; sleep 600", timeoutMs=int(within(7000)), yieldTimeMs=250)
    equal((result["state"], result["timedOut"]), ("running", False), "the first answer")
    result = server.last_answer(result["processId"])
    equal((result["exitCode"], result["timedOut"]), (124, True), "the last answer")


@test
def who_ends_in_time_has_not_timed_out(scene):
    server = exec_server(scene)
    for params in ({"timeoutMs": 0}, {"timeoutMs": 60000}, {}):
        result = server.exec("sleep 0.05; exit 7", **params)
        equal((result["exitCode"], result["timedOut"]), (7, False), "end with %s" % params)


# Commands that cannot be started


@test
def what_cannot_be_started_comes_back_as_a_result(scene):
    server = exec_server(scene)
    project = server.home.project
    scene.file("home/project/plain", "#!/bin/sh\n", 0o644)
    scene.file("home/project/orphan", "#!/no/such/interpreter\n", 0o755)
    failed(server.exec(["no-such-program"]), "spawnNotFound")
    failed(server.exec(["/no/such/program"]), "spawnNotFound")
    failed(server.exec(["./missing"]), "spawnNotFound")
    failed(server.exec([project + "/plain"]), "spawnFailed")
    failed(server.exec([project]), "spawnFailed")
    result = server.exec([project + "/orphan"])
    check(result["failure"]["kind"] in ("spawnNotFound", "spawnFailed"), "kind: %s" % result)
    failed(result, result["failure"]["kind"])
    failed(server.exec("true", workdir="/no/such/place"), "spawnNotFound")
    failed(server.exec("true", workdir="plain"), "spawnNotFound")
    begun = [method for method, _ in server.events if method in ("exec/begin", "exec/end")]
    equal(begun, [], "events of what never ran")
    equal(server.call("exec/list"), {"processes": [], "calls": []}, "exec/list")
    equal(server.output_of("echo still here"), "still here\n", "output afterwards")


@test
def a_failure_has_a_text_for_models_too(scene):
    server = exec_server(scene)
    result = failed(server.exec(["no-such-program"], format="model"), "spawnNotFound")
    lines = result["text"].split("\n")
    equal(lines[0], "Chunk ID: " + result["chunkId"], "first line")
    check("Process exited with code -1" in lines, "no code: %s" % lines)
    equal(lines[-1], result["output"], "last line")


@test
def one_process_too_many_is_a_failure_to_start(scene):
    server = exec_server(scene)
    ids = [server.exec_later("exec sleep 600", yieldTimeMs=250) for _ in range(64)]
    for message_id in ids:
        equal(server.result(message_id)["state"], "running", "state")
    failed(server.exec("true"), "tooManyProcesses")
    equal(len(server.call("exec/terminateAll")["terminated"]), 64, "terminated")
    for program in list(server.programs_by_id):
        server.wait_end(program)
    equal(server.output_of("echo room"), "room\n", "output afterwards")


@test
def a_finished_process_makes_room_for_a_new_one(scene):
    server = exec_server(scene)
    first = server.left_running("exec sleep 600")
    for number in range(150):
        equal(server.output_of("echo %d" % number), "%d\n" % number, "output")
    equal(server.listed(first)["state"], "running", "the one that still runs")


# Params


@test
def exactly_one_of_command_and_argv_says_what_to_run(scene):
    server = exec_server(scene)
    for params in (
        {},
        {"command": "true", "argv": ["true"]},
        {"argv": []},
        {"argv": [""]},
        {"argv": "true"},
        {"argv": [1]},
        {"command": ["true"]},
        {"argv": ["true"], "shell": "sh"},
        {"argv": ["true"], "login": False},
        {"command": "true", "onCancel": "explode"},
        {"command": "true", "format": "html"},
        {"command": "true", "yieldTimeMs": -1},
        {"command": "true", "yieldTimeMs": "1"},
        {"command": "true", "sandboxPermissions": "all"},
        {"command": "true", "additionalPermissions": {"network": {"enabled": True}}},
        {"command": "true", "sandboxPermissions": "withAdditionalPermissions"},
        {"command": "true", "env": {"A": 1}},
        {"command": "true", "workdir": "a\0b"},
    ):
        error = server.refused("exec/command", params, -32602, "invalidParams")
        check(error["data"].get("path") or params == {}, "no path for %s" % params)
    equal([m for m, _ in server.events], [], "events")


@test
def an_argv_is_run_as_it_is(scene):
    server = exec_server(scene)
    words = ["a b", "", "*", "$HOME", "`id`", "\"'\\", "-n", "ü\u200b"]
    script = "import sys; print(ascii(sys.argv[1:]))"
    equal(server.output_of([PYTHON, "-S", "-c", script, *words]), ascii(words) + "\n", "argv")
    begin = server.wait_end("1000").begin
    equal(begin["mode"], "direct", "mode")
    equal(begin["argv"][4:], words, "argv of exec/begin")
    equal(begin["program"], os.path.realpath(PYTHON), "program")


@test
def a_bare_program_is_looked_for_in_the_path_of_the_command(scene):
    server = exec_server(scene)
    scene.file("home/project/bin/mine", "#!/bin/sh\necho mine $0\n", 0o755)
    place = server.home.project + "/bin"
    failed(server.exec(["mine"]), "spawnNotFound")
    result = server.exec(["mine"], env={"PATH": place + ":/usr/bin:/bin"})
    equal((result["exitCode"], result["output"].split()[:1]), (0, ["mine"]), "code and output")
    equal(server.output_of(["bin/mine"]).split()[0], "mine", "below the directory")


@test
def the_directory_may_be_relative_absolute_or_empty(scene):
    server = exec_server(scene)
    project = server.home.project
    os.makedirs(project + "/sub dir/deep")
    os.symlink("sub dir", project + "/link")
    for workdir, want in (
        (None, project),
        ("", project),
        (".", project),
        ("sub dir", project + "/sub dir"),
        ("sub dir/../sub dir/deep", project + "/sub dir/deep"),
        ("link/deep", project + "/sub dir/deep"),
        ("/", "/"),
        (project + "/sub dir", project + "/sub dir"),
    ):
        params = {} if workdir is None else {"workdir": workdir}
        for what in ("pwd -P", ["/bin/pwd", "-P"]):
            result = server.exec(what, **params)
            equal(result["output"], want + "\n", "workdir %r" % workdir)
        equal(
            server.program_of_call(result["callId"]).begin["workdir"], want, "of exec/begin"
        )


@test
def relative_directories_are_below_the_first_workspace_root(scene):
    other = os.path.realpath(scene.path("other"))
    os.makedirs(other + "/in")
    server = exec_server(scene, settings={"workspaceRoots": ["file://" + other]})
    equal(server.output_of("pwd"), other + "\n", "directory")
    equal(server.output_of("pwd", workdir="in"), other + "/in\n", "directory")


@test
def pipes_are_the_default_and_their_input_is_empty(scene):
    server = exec_server(scene)
    script = "readlink /proc/self/fd/0; test -t 0 || test -t 1 || test -t 2 || echo pipes; cat"
    equal(server.output_of(script), "/dev/null\npipes\n", "output")


@test
def a_terminal_has_the_size_that_was_asked_for(scene):
    server = exec_server(scene)
    script = "test -t 0 && test -t 1 && test -t 2 && stty size"
    equal(server.output_of(script, tty=True), "24 80\r\n", "default")
    size = {"rows": 7, "cols": 123}
    equal(server.output_of(script, tty=True, size=size), "7 123\r\n", "size")
    modes = [server.program(str(1000 + n)).begin["mode"] for n in range(2)]
    equal(modes, ["interactiveShell", "interactiveShell"], "modes")


@test
def text_for_stdin_is_read_to_its_end(scene):
    server = exec_server(scene)
    equal(server.output_of("cat; echo end", stdin="a\nbü"), "a\nbüend\n", "output")
    equal(server.output_of("cat; echo end", stdin=""), "end\n", "output of nothing")
    text = "0123456789abcdef" * (3 << 16)
    equal(server.output_of("wc -c", stdin=text).strip(), str(3 << 20), "bytes of much text")
    equal(server.exec("true", stdin=text)["exitCode"], 0, "code of who does not read")


@test
def text_for_stdin_of_a_terminal_ends_like_typed_text(scene):
    server = exec_server(scene)
    result = server.exec("stty -echo; cat; echo end", stdin="typed\n", tty=True)
    equal((result["state"], result["exitCode"]), ("completed", 0), "state and code")
    check("typed\r\nend\r\n" in result["output"], "output %r" % result["output"])


# The shell


@test
def a_shell_may_be_named_or_given_by_its_path(scene):
    server = exec_server(scene)
    for shell, name in (("bash", "bash"), ("sh", "sh"), ("/bin/sh", "sh"), ("/bin/bash", "bash")):
        result = server.exec("echo ${0##*/} ${BASH_VERSION:+really}", shell=shell)
        equal(result["output"].split()[0], name, "shell %r" % shell)
        argv = server.program_of_call(result["callId"]).begin["argv"]
        check(argv[0].startswith("/") and argv[1] == "-c", "argv %s" % argv)


@test
def what_is_no_shell_runs_no_script(scene):
    server = exec_server(scene)
    scene.file("home/project/bash", "#!/bin/sh\necho fooled\n", 0o755)
    for shell in ("fish", "python3", "./bash", "bash/", "/usr/bin/python3", "/no/such/bash", ""):
        message = server.reply(server.exec_later("echo ran", shell=shell))
        result = message.get("result", {"state": "failed", "output": ""})
        check(result["state"] == "failed", "%r ran something: %s" % (shell, message))
    equal([m for m, _ in server.events if m == "exec/begin"], [], "programs")


@test
def a_shell_is_taken_from_a_trusted_place_only(scene):
    home = Home(scene)
    fake = "#!/bin/sh\necho fooled\n"
    scene.file("home/project/bin/bash", fake, 0o755)
    scene.file("home/project/bin/sh", fake, 0o755)
    place = home.project + "/bin"
    server = exec_server(
        scene, home=home, env={"PATH": place + ":/usr/bin:/bin", "SHELL": place + "/bash"}
    )
    for params in ({}, {"shell": "bash"}, {"shell": "sh"}):
        equal(server.output_of("echo real", **params), "real\n", "with %s" % params)


@test
def a_login_shell_is_had_on_request_or_by_configuration(scene):
    for default in (False, True):
        home = Home(scene, "home-%s" % default)
        home.config("login_shell = %s\n" % str(default).lower())
        home.file(".bash_profile", "echo profile\n")
        server = exec_server(scene, home=home)
        script = "shopt -q login_shell && echo login"
        for login, is_login in ((None, default), (True, True), (False, False)):
            params = {} if login is None else {"login": login}
            result = server.exec(script, shell="bash", **params)
            want = "profile\nlogin\n" if is_login else ""
            equal(result["output"], want, "default %s, login %s" % (default, login))


# The environment


@test
def the_fixed_variables_win_over_those_of_the_server(scene):
    own = {name: "other" for name in FIXED if name != "EXECWARD_EXEC"}
    server = exec_server(scene, env={**own, "PLAIN": "1"})
    got = environment_of(server)
    equal({name: got.get(name) for name in FIXED}, FIXED, "fixed variables")
    equal(got["PLAIN"], "1", "a variable of the server")
    # Not the session id itself, which would be enough to resume the session.
    equal(got["EXECWARD_SESSION_ID"], tag_of(server.initialized["sessionId"]), "session id")


@test
def secrets_are_kept_back_and_named(scene):
    # Values that no temporary directory has in its name by chance: the events contain the
    # directory.
    names = ("MY_API_KEY", "Github_Token", "DB_SECRET_1", "PGPASSWORD")
    secrets = {name: "a value of %s" % name for name in names}
    server = exec_server(scene, env={**secrets, "EXECWARD_LOG_LEVEL": "error"})
    got = environment_of(server)
    equal([name for name in got if name in secrets], [], "secrets")
    check("EXECWARD_LOG_LEVEL" not in got, "the server's own option was passed on")
    dropped = server.wait_end("1000").begin["droppedEnv"]
    check(set(secrets) <= set(dropped), "droppedEnv %s" % dropped)
    check(dropped == sorted(dropped), "droppedEnv is not sorted: %s" % dropped)
    check(all(value not in str(server.events) for value in secrets.values()), "values were told")


@test
def the_environment_policy_of_the_session_decides(scene):
    server = exec_server(scene, env={"AWS_X": "1", "KEEP_ME": "2", "A_KEY": "3", "Path_B": "4"})

    def with_policy(**policy):
        server.call("session/configure", {"envPolicy": policy})
        return environment_of(server, env={"CALL": "yes"})

    base = {"inherit": "all", "ignoreDefaultExcludes": False, "exclude": [], "set": {}}
    base["includeOnly"] = []
    got = with_policy(**{**base, "exclude": ["aws_*"], "set": {"A_KEY": "set", "NEW": "n"}})
    check("AWS_X" not in got, "exclude does not ignore case")
    equal((got["A_KEY"], got["NEW"], got["CALL"]), ("set", "n", "yes"), "set")
    got = with_policy(**{**base, "ignoreDefaultExcludes": True})
    equal(got["A_KEY"], "3", "default excludes are off")
    got = with_policy(**{**base, "inherit": "core"})
    check("KEEP_ME" not in got and got["PATH"] and got["HOME"], "core: %s" % sorted(got))
    got = with_policy(**{**base, "inherit": "none", "set": {"ONLY": "x"}})
    own = {"LC_CTYPE", "PWD", "SHLVL", "_"}
    extra = set(got) - set(FIXED) - own - {"ONLY", "CALL", "EXECWARD_SESSION_ID"}
    equal(extra, set(), "none")
    got = with_policy(**{**base, "includeOnly": ["keep_*"], "set": {"GONE": "x"}})
    check("GONE" not in got and got["KEEP_ME"] == "2" and got["TERM"] == "dumb", "includeOnly")


@test
def a_call_may_set_variables_but_not_those_of_execward(scene):
    server = exec_server(scene, env={"PLAIN": "server"})
    session = tag_of(server.initialized["sessionId"])
    got = environment_of(
        server,
        env={
            "PLAIN": "call",
            "TERM": "xterm",
            "MY_TOKEN": "given",
            "EMPTY": "",
            "EXECWARD_EXEC": "0",
            "EXECWARD_SESSION_ID": "fake",
        },
    )
    equal((got["PLAIN"], got["TERM"], got["MY_TOKEN"], got["EMPTY"]),
          ("call", "xterm", "given", ""), "what the call sets")
    equal((got["EXECWARD_EXEC"], got["EXECWARD_SESSION_ID"]), ("1", session), "execward's own")


@test
def a_call_without_an_id_of_its_own_is_known_by_its_request(scene):
    server = exec_server(scene)
    equal(server.result(server.request("exec/command", {"command": "true"}, "text id"))["callId"],
          "text id", "call id")
    message_id = server.exec_later("true")
    equal(server.result(message_id)["callId"], str(message_id), "call id")
    equal(server.exec("true", callId="mine")["callId"], "mine", "call id")
    equal(server.program_of_call("mine").begin["callId"], "mine", "of exec/begin")


@test
def many_calls_at_once_are_answered_each_with_its_own(scene):
    server = exec_server(scene)
    ids = {server.exec_later("echo %d; exit %d" % (n, n % 7)): n for n in range(40)}
    for message_id, number in ids.items():
        result = server.result(message_id)
        equal((result["output"], result["exitCode"]), ("%d\n" % number, number % 7), "answer")


@test
def a_slow_command_holds_up_nobody(scene):
    server = exec_server(scene)
    slow = server.exec_later("sleep 600", yieldTimeMs=30000)
    for number in range(5):
        equal(server.output_of("echo %d" % number), "%d\n" % number, "output")
    check(not server.is_answered(slow), "the slow one was answered")


# The judged command is the command that runs


@test
def programs_do_not_get_the_id_of_the_session(scene):
    server = exec_server(scene)
    text = server.output_of([PYTHON, "-S", "-c", "import os; print(dict(os.environ))"])
    check("EXECWARD_SESSION_ID" in text, "no name of the session")
    check(server.initialized["sessionId"] not in text, "the id of the session")


# Members


@test
def a_member_that_is_not_known_is_refused_and_the_nearest_named(scene):
    server = exec_server(scene)
    command = {"command": "touch made"}
    for method, params, name, nearest in (
        ("exec/command", {**command, "workDir": "/"}, "workDir", "workdir"),
        ("exec/command", {**command, "timeoutMS": 5}, "timeoutMS", "timeoutMs"),
        ("exec/command", {**command, "enviroment": "x"}, "enviroment", "environment"),
        ("exec/writeStdin", {"processId": "1", "char": "x"}, "char", "chars"),
        ("exec/list", {"enviroment": "x"}, "enviroment", "environment"),
        ("policy/explain", {**command, "sandBox": None}, "sandBox", "sandbox"),
        ("session/configure", {"approval_policy": "never"}, "approval_policy", "approvalPolicy"),
        ("session/configure", {"confinement": {"writableRoot": []}}, "confinement.writableRoot", "writableRoots"),
        ("approvals/grant", {"prefix": ["a"], "scope": "always", "expiresInMS": 1}, "expiresInMS", "expiresInMs"),
        ("patch/check", {"patch": "", "work": "/"}, "work", "workdir"),
    ):
        error = server.error(server.request(method, params), -32602)
        equal(error["data"]["path"], name, "path")
        check("no such member; the nearest is '%s'" % nearest in error["message"], error)
    server.error(server.request("exec/command", {**command, "x" * 100_000: 1}), -32602)
    check(not os.path.exists(os.path.join(server.home.project, "made")), "it ran")
    server.result(server.request("environment/info", {}))


@test
def cwd_is_another_name_of_workdir(scene):
    server = exec_server(scene)
    sub = os.path.join(server.home.project, "sub")
    os.mkdir(sub)
    for cwd in (sub, "sub"):
        equal(server.exec("pwd", cwd=cwd)["output"], sub + "\n", "directory")
    both = {"command": "pwd", "cwd": sub, "workdir": sub}
    equal(server.error(server.request("exec/command", both), -32602)["data"]["path"], "cwd", "path")


# Questions


@test
def the_id_of_a_call_is_the_text_of_its_request(scene):
    server = exec_server(scene)
    for text in ('a"b', "a\\b", "tab\there", "\u00e9\U0001f600", ""):
        result = server.result(server.request("exec/command", {"command": "true"}, text))
        equal(result["callId"], text, "call id")


# Time


@test(alone=True)
def one_message_does_not_hold_up_the_server(scene):
    home = Home(scene)
    home.rules(
        "".join(
            "[[rule]]\nprefix = ['tool-%d', 'x']\ndecision = 'prompt'\n" % n for n in range(200)
        )
    )
    server = untrusting(scene, home=home)
    for argv in (
        ["find", "."] + ["-exec", "git", "-x", ";"] * 4000,
        ["env"] * 20_000,
        ["xargs"] * 5_000,
        ["bash", "-c", "find . -exec git -x \n" * 3000],
    ):
        for _ in range(3):  # the machine itself may stall for a while
            took = seconds_of(lambda: decision(server, argv))
            if took < within(3):
                break
        check(took < within(3), "%s … took %.1f s" % (argv[:2], took))


if __name__ == "__main__":
    main()

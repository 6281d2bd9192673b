"""process/start: the state of a program when it begins, and refusals."""

import json
import os
import resource
import shutil
import signal
import sys

sys.path.insert(0, os.path.abspath(__file__ + "/../../.."))
from support.client import (
    PATH,
    PROGRAM_MARK,
    PYTHON,
    check,
    equal,
    eventually,
    file_uri,
    is_alive,
    stat_of,
    within,
)
from support.files import Held, can_hold
from support.programs import FAMILY, SURROUNDINGS
from support.runner import main, test

IGNORED_BY_PYTHON = 1 << (signal.SIGPIPE - 1) | 1 << (signal.SIGXFSZ - 1)


def surroundings(server, process_id, **options):
    server.start_python(process_id, SURROUNDINGS, **options)
    code, output = server.finished(process_id)
    equal(code, 0, "exit code of the script that looks around: %r" % output)
    return json.loads(output)


def environment(server, process_id, **options):
    """Returns the environment of a program as it sees it, without the mark of the test."""
    server.start(process_id, ["/usr/bin/env", "-0"], **options)
    pairs = [line.split(b"=", 1) for line in server.finished(process_id)[1].split(b"\0") if line]
    return {name.decode(): value.decode() for name, value in pairs if name.decode() != PROGRAM_MARK}


@test
def the_environment_is_exactly_what_was_asked_for(scene):
    server = scene.server(env={"OF_THE_SERVER": "1"})
    wanted = {"A": "1", "EMPTY": "", "LINES": "a\nb", "NOT_ASCII": "\u00e9\u20ac", "WITH": "a=b=c"}
    for number, tty in enumerate((False, True)):
        server.start("p%d" % number, ["/usr/bin/env", "-0"], env=wanted, tty=tty)
        output = server.finished("p%d" % number)[1].replace(b"\r\n", b"\n")
        found = dict(line.decode().split("=", 1) for line in output.split(b"\0") if line)
        equal(
            found, {"PATH": PATH, PROGRAM_MARK: server.mark, **wanted}, "environment, tty=%s" % tty
        )


def policy(inherit="all", keep_secrets=False, exclude=(), changes=None, only=()):
    return {
        "inherit": inherit,
        "ignoreDefaultExcludes": keep_secrets,
        "exclude": list(exclude),
        "set": changes or {},
        "includeOnly": list(only),
    }


@test
def an_environment_policy_is_applied_in_its_order(scene):
    own = {
        "V_PLAIN": "1",
        "V_OTHER": "2",
        "V_API_KEY": "k",
        "V_Secret_x": "s",
        "MY_TOKEN": "t",
        "HOME": "/h",
        "LANG": "C",
        "SHELL": "/bin/sh",
    }
    server = scene.server(env=own)

    everything = environment(server, "all", envPolicy=policy())
    check(
        everything.get("V_PLAIN") == "1" and everything.get("HOME") == "/h",
        "inherited: %s" % everything,
    )
    check(
        not {"V_API_KEY", "V_Secret_x", "MY_TOKEN"} & set(everything),
        "secrets were inherited: %s" % sorted(everything),
    )

    secrets = environment(server, "secrets", envPolicy=policy(keep_secrets=True))
    check(
        {"V_API_KEY", "V_Secret_x", "MY_TOKEN"} <= set(secrets),
        "secrets were dropped although asked for: %s" % sorted(secrets),
    )

    without = environment(
        server, "without", envPolicy=policy(exclude=["v_*"], changes={"V_PLAIN": "set"})
    )
    equal(
        {k: v for k, v in without.items() if k.startswith("V_")},
        {"V_PLAIN": "set"},
        "exclude comes before set",
    )

    only = environment(
        server,
        "only",
        env={"GIVEN": "g"},
        envPolicy=policy(changes={"V_SET": "1", "X_SET": "2"}, only=["v_*"]),
    )
    equal(
        only,
        {"V_PLAIN": "1", "V_OTHER": "2", "V_SET": "1", "GIVEN": "g", "PATH": PATH},
        "includeOnly filters all but env",
    )

    core = environment(server, "core", envPolicy=policy("core"))
    check(
        core.get("HOME") == "/h" and core.get("LANG") == "C" and "V_PLAIN" not in core,
        "core: %s" % core,
    )

    equal(
        environment(server, "none", envPolicy=policy("none", changes={"ONE": "1"})),
        {"ONE": "1", "PATH": PATH},
        "none",
    )

    question = environment(server, "question", envPolicy=policy(exclude=["V_P?AIN"]))
    check(
        "V_PLAIN" not in question and "V_OTHER" in question,
        "a ? in a pattern: %s" % sorted(question),
    )


@test
def an_environment_policy_needs_all_its_members(scene):
    server = scene.server()
    for name in policy():
        broken = {k: v for k, v in policy().items() if k != name}
        server.refused(
            "process/start",
            server.start_params("p", ["true"], envPolicy=broken),
            -32602,
            "invalidParams",
        )
    equal(server.run("p", ["true"], envPolicy=None)[0], 0, "exit code without a policy")


@test
def a_program_is_found_along_the_path_of_the_request(scene):
    scene.file("one/tool", "#!/bin/sh\necho one\n", 0o755)
    scene.file("two/tool", "#!/bin/sh\necho two\n", 0o755)
    scene.file("three/tool", "not executable", 0o644)
    one, two, three = scene.path("one"), scene.path("two"), scene.path("three")
    server = scene.server(env={"PATH": one + ":" + PATH})
    for number, tty in enumerate((False, True)):
        name = "p%d" % number
        equal(
            server.run(name + "a", ["tool"], tty=tty, env={"PATH": two + ":" + one})[1].strip(),
            b"two",
            "first of two",
        )
        equal(
            server.run(name + "b", ["tool"], tty=tty, env={"PATH": three + ":/none:" + one})[
                1
            ].strip(),
            b"one",
            "first that runs",
        )
        params = server.start_params(name + "c", ["tool"], tty=tty)
        server.refused("process/start", params, -32603, "spawnNotFound")
        equal(
            server.run(name + "d", ["one/tool"], tty=tty)[1].strip(),
            b"one",
            "relative to the working directory",
        )
        equal(
            server.run(name + "e", [two + "/tool"], tty=tty, env={"PATH": ""})[1].strip(),
            b"two",
            "absolute",
        )


@test
def a_start_that_fails_says_why_and_leaves_the_id_free(scene):
    scene.file("plain.txt", "text")
    scene.file("script", "#!/no/such/interpreter\n", 0o755)
    os.mkdir(scene.path("folder"))
    server = scene.server()
    cases = [
        (["no-such-program"], "spawnNotFound"),
        ([scene.path("missing")], "spawnNotFound"),
        ([scene.path("plain.txt")], "spawnFailed"),
        ([scene.path("folder")], "spawnFailed"),
        ([scene.path("script")], None),
        (["echo", "x" * 200000], "spawnFailed"),
        ([""], None),
    ]
    for argv, kind in cases:
        for tty in (False, True):
            server.refused("process/start", server.start_params("p", argv, tty=tty), -32603, kind)
    for change in ({"argv": ["echo", "a\0b"]}, {"env": {"A": "x\0y"}}):
        error = server.refused("process/start", {**server.start_params("p", ["true"]), **change})
        check(error["code"] in (-32602, -32603), "answer to %s: %s" % (change, error))
    equal(server.call("process/list")["processes"], [], "entries")
    equal(server.run_shell("p", "echo fine"), (0, b"fine\n"), "code and output under the same id")


@test
def a_bad_working_directory_is_an_error_that_names_it(scene):
    scene.file("plain.txt", "text")
    server = scene.server()
    for name, kind in (("missing", "spawnNotFound"), ("plain.txt", "spawnFailed")):
        for tty in (False, True):
            error = server.refused(
                "process/start",
                server.start_params("p", ["true"], tty=tty, cwd=file_uri(scene.path(name))),
                -32603,
                kind,
            )
            check(name in error["message"], "the message does not name it: %s" % error["message"])
    for cwd in ("relative/path", "", "http://host/x", "file://elsewhere/x", "file:///a?b"):
        server.refused(
            "process/start", server.start_params("p", ["true"], cwd=cwd), -32602, "invalidParams"
        )
    equal(server.run("p", ["true"])[0], 0, "exit code under the same id")


@test
def a_working_directory_may_be_a_path_or_any_spelling_of_its_uri(scene):
    directory = scene.path("a b \u00e9 100%")
    os.mkdir(directory)
    server = scene.server()
    quoted = file_uri(directory)
    spellings = [
        directory,
        quoted,
        quoted.replace("file:///", "file://localhost/"),
        quoted.replace("file:///", "FILE:/"),
        quoted + "/",
        quoted + "/../" + quoted.rsplit("/", 1)[1],
    ]
    for number, spelling in enumerate(spellings):
        code, output = server.run("p%d" % number, ["pwd", "-P"], cwd=spelling)
        equal((code, output.decode()), (0, os.path.realpath(directory) + "\n"), "cwd " + spelling)


@test
def argv_reaches_the_program_unchanged(scene):
    server = scene.server()
    arguments = [
        "",
        " ",
        "a b",
        "'",
        '"',
        "$HOME",
        "\n",
        "*",
        "\u00e9\U0001f600",
        "-n",
        "\\",
        "x" * 100000,
    ]
    server.start_python("p", "import sys, json; print(json.dumps(sys.argv[1:]))", *arguments)
    equal(json.loads(server.finished("p")[1]), arguments, "arguments")


@test
def arg0_is_what_the_program_is_called(scene):
    server = scene.server()
    for number, tty in enumerate((False, True)):
        output = server.run(
            "p%d" % number, ["cat", "/proc/self/cmdline"], arg0="-other name", tty=tty
        )[1]
        equal(output, b"-other name\0/proc/self/cmdline\0", "command line, tty=%s" % tty)
    equal(
        server.run("q", ["cat", "/proc/self/cmdline"], arg0=None)[1],
        b"cat\0/proc/self/cmdline\0",
        "command line without arg0",
    )


@test
def an_id_in_use_is_refused_even_after_the_exit(scene):
    server = scene.server()
    server.start("p", ["cat"], pipeStdin=True)
    server.refused("process/start", server.start_params("p", ["true"]), -32600, "processExists")
    server.call("process/closeStdin", {"processId": "p"})
    server.wait_closed("p")
    server.refused("process/start", server.start_params("p", ["true"]), -32600, "processExists")


@test
def an_id_may_be_any_text(scene):
    server = scene.server()
    for number, process_id in enumerate(
        ("", "\0", "\u00e9\U0001f600", '"\\\n', "../../x", "y" * 1024, "1000")
    ):
        equal(
            server.start(process_id, ["echo", str(number)]),
            {"processId": process_id, "sandboxType": "none"},
            "result",
        )
        equal(
            server.finished(process_id),
            (0, b"%d\n" % number),
            "code and output of %r" % process_id[:20],
        )


@test
def an_id_has_a_greatest_length(scene):
    server = scene.server()
    params = server.start_params("y" * 1025, ["true"])
    server.refused("process/start", params, -32602, "invalidParams")


@test
def a_program_leads_a_session_of_its_own(scene):
    umask = os.umask(0)
    os.umask(umask)
    server = scene.server()
    for number, tty in enumerate((False, True)):
        found = surroundings(server, "p%d" % number, tty=tty)
        equal(
            (found["group"], found["session"]),
            (found["pid"], found["pid"]),
            "group and session, tty=%s" % tty,
        )
        equal(found["foreground"], found["pid"] if tty else None, "foreground group, tty=%s" % tty)
        equal(found["umask"], umask, "umask")
        equal(found["directory"], os.path.realpath(scene.directory), "working directory")


@test
def a_terminal_is_the_controlling_one_and_a_pipe_has_none(scene):
    server = scene.server()
    code, output = server.run_shell("t", "echo hello > /dev/tty && tty", tty=True)
    check(
        code == 0 and output.startswith(b"hello\r\n/dev/pts/"),
        "code %d, output %r" % (code, output),
    )

    code, output = server.run_shell("p", "(echo hello > /dev/tty) 2>/dev/null || echo none; tty")
    check(output.startswith(b"none\n"), "a pipe program reached a terminal: %r" % output)


@test
def a_terminal_has_the_size_it_was_given(scene):
    server = scene.server()
    equal(server.run("p", ["stty", "size"], tty=True)[1], b"24 80\r\n", "default size")
    equal(
        server.run("q", ["stty", "size"], tty=True, size={"rows": 50, "cols": 500})[1],
        b"50 500\r\n",
        "given size",
    )
    equal(
        server.run("r", ["stty", "size"], tty=True, size={"rows": 65535, "cols": 1})[1],
        b"65535 1\r\n",
        "extreme size",
    )
    equal(server.run("s", ["stty", "size"], tty=True, size=None)[1], b"24 80\r\n", "size null")


@test
def stdin_is_empty_unless_asked_for(scene):
    server = scene.server()
    equal(
        server.run_shell("p", "cat; echo code=$?; [ -p /dev/stdin ] && echo pipe || echo no-pipe"),
        (0, b"code=0\nno-pipe\n"),
        "code and output",
    )


@test
def no_descriptor_of_the_server_or_of_others_is_inherited(scene):
    server = scene.server()
    for number in range(8):
        server.start("busy%d" % number, ["cat"], tty=bool(number % 2), pipeStdin=True)
    for number, tty in enumerate((False, True)):
        found = surroundings(server, "p%d" % number, tty=tty, pipeStdin=bool(number))["descriptors"]
        equal(sorted(found), ["0", "1", "2"], "descriptors %s, tty=%s" % (found, tty))
    scene.command = ["sh", "-c", 'exec 7</dev/null 8>&1; exec "$0" "$@"', *scene.command]
    for number, tty in enumerate((False, True)):
        found = surroundings(scene.server(), "p%d" % number, tty=tty)["descriptors"]
        equal(
            sorted(found),
            ["0", "1", "2"],
            "descriptors of a server that inherited others %s, tty=%s" % (found, tty),
        )


@test
def programs_start_with_clean_signals_whatever_the_server_got(scene):
    def prepare():
        signal.pthread_sigmask(
            signal.SIG_BLOCK,
            [
                signal.SIGTERM,
                signal.SIGHUP,
                signal.SIGPIPE,
                signal.SIGUSR1,
                signal.SIGCHLD,
                signal.SIGINT,
            ],
        )
        for number in (
            signal.SIGINT,
            signal.SIGQUIT,
            signal.SIGCHLD,
            signal.SIGUSR2,
            signal.SIGTSTP,
            signal.SIGTTOU,
        ):
            signal.signal(number, signal.SIG_IGN)

    server = scene.server(prepare=prepare)
    for number, tty in enumerate((False, True)):
        found = surroundings(server, "p%d" % number, tty=tty)
        equal(
            (found["blocked"], found["ignored"] & ~IGNORED_BY_PYTHON),
            (0, 0),
            "blocked and ignored signals, tty=%s" % tty,
        )
        output = server.run(
            "q%d" % number, ["grep", "-E", "Sig(Blk|Ign)", "/proc/self/status"], tty=tty
        )[1]
        equal(
            [int(line.split()[1], 16) for line in output.splitlines()],
            [0, 0],
            "masks of grep, tty=%s" % tty,
        )
        equal(
            server.run_shell("r%d" % number, "sleep 0.05 & wait; exit 9", tty=tty)[0],
            9,
            "exit code, tty=%s" % tty,
        )


@test
def limits_are_set_and_others_are_left_alone(scene):
    server = scene.server()
    asked = {
        "cpuSeconds": 100,
        "addressSpaceBytes": 4 << 30,
        "fileSizeBytes": 1 << 20,
        "openFiles": 50,
        "processes": 5000,
        "coreBytes": 0,
    }
    for number, tty in enumerate((False, True)):
        found = surroundings(server, "p%d" % number, tty=tty, limits=asked)["limits"]
        for name, value in (
            ("CPU", 100),
            ("AS", 4 << 30),
            ("FSIZE", 1 << 20),
            ("NOFILE", 50),
            ("NPROC", 5000),
            ("CORE", 0),
        ):
            hard = value + 1 if name == "CPU" else value  # SIGXCPU first, then SIGKILL
            equal(found["RLIMIT_" + name], [value, hard], "limit " + name)
    for options in ({}, {"limits": None}, {"limits": {}}):
        found = surroundings(server, "plain%d" % len(server.processes), **options)["limits"]
        for name in ("CPU", "AS", "FSIZE", "NOFILE", "NPROC", "STACK"):
            equal(
                found["RLIMIT_" + name],
                list(resource.getrlimit(getattr(resource, "RLIMIT_" + name))),
                "limit %s when none was asked" % name,
            )


@test
def a_program_over_its_limit_ends_alone(scene):
    server = scene.server()
    server.start("other", ["cat"], pipeStdin=True)
    server.start_shell("busy", "while :; do :; done", limits={"cpuSeconds": 1})
    check(
        server.wait_exited("busy")["signal"] in ("SIGXCPU", "SIGKILL"),
        "ended by %s" % server.process("busy").exited,
    )

    server.start_python(
        "hungry", "x = bytearray(900 << 20)", limits={"addressSpaceBytes": 300 << 20}
    )
    check(server.wait_exited("hungry")["exitCode"] != 0, "900 MiB were had below a limit of 300")

    server.write("other", b"still here")
    server.wait_output("other", b"still here")


@test
def what_confinement_cannot_do_is_refused(scene):
    server = scene.server()
    params = server.start_params("p", ["touch", scene.path("ran")])
    error = server.refused(
        "process/start", {**params, "enforceManagedNetwork": True}, None, "sandboxUnavailable"
    )
    check(error["message"], "no message")
    check(not os.path.exists(scene.path("ran")), "the program ran without its sandbox")
    equal(
        server.start("p", ["true"], sandbox=None, enforceManagedNetwork=False, managedNetwork=None)[
            "sandboxType"
        ],
        "none",
        "type",
    )


@test
def a_time_limit_ends_the_whole_tree_and_says_so(scene):
    server = scene.server()
    for number, tty in enumerate((False, True)):
        name = "p%d" % number
        server.start_shell(
            name, "(setsid sleep 700 &); sleep 700 & sleep 700", tty=tty, timeoutMs=300
        )

        ended = server.wait_closed(name).exited

        equal(
            (ended.get("timedOut"), ended.get("signal"), ended["exitCode"]),
            (True, "SIGKILL", 137),
            "timedOut, signal and code",
        )
        equal(server.read(name).get("timedOut"), True, "timedOut of read")
        eventually(lambda: not server.programs(), "the end of the whole tree")


@test
def a_time_limit_with_grace_asks_first(scene):
    server = scene.server()
    server.start_shell(
        "polite",
        "trap 'echo asked; exit 5' TERM; echo ready; while :; do sleep 0.05; done",
        timeoutMs=int(within(3000)),
        graceMs=60000,
    )
    ended = server.wait_closed("polite")
    equal((ended.exited["exitCode"], ended.exited["timedOut"]), (5, True), "code and timedOut")
    equal(ended.output("stdout"), b"ready\nasked\n", "output")

    limits = {"timeoutMs": int(within(3000)), "graceMs": int(within(3000))}
    server.start_python("stubborn", FAMILY, **limits)
    ended = server.wait_closed("stubborn")
    equal((ended.exited["exitCode"], ended.exited["timedOut"]), (137, True), "code and timedOut")
    check(b"leader got 15" in ended.output(), "it was not asked first: %r" % ended.output())


@test
def a_time_limit_that_is_over_at_once_is_told_as_such(scene):
    server = scene.server()
    names = ["p%d" % number for number in range(40)]
    params = [server.start_params(name, ["sleep", "600"], timeoutMs=1) for name in names]
    for message_id in [server.request("process/start", each) for each in params]:
        server.result(message_id)
    for name in names:
        ended = server.wait_closed(name).exited
        equal((ended["exitCode"], ended.get("timedOut")), (137, True), "code and timedOut")


@test
def no_time_limit_means_none(scene):
    server = scene.server()
    options = [
        {},
        {"timeoutMs": 0},
        {"timeoutMs": None},
        {"timeoutMs": 2592000000},
        {"timeoutMs": 99999999000},
        {"timeoutMs": 9007199254740993},
        {"timeoutMs": 2**64 - 1},
    ]
    for number, more in enumerate(options):
        server.start_shell("p%d" % number, "sleep 0.7; echo done", **more)
    for number, more in enumerate(options):
        code, output = server.finished("p%d" % number)
        equal(
            (code, output, server.process("p%d" % number).exited.get("timedOut", False)),
            (0, b"done\n", False),
            "code, output, timedOut with %s" % more,
        )


@test
def the_end_of_a_program_tells_what_it_used(scene):
    server = scene.server()
    server.start_python("p", "x = bytearray(60 << 20)\nn = 0\nfor i in range(3000000): n += i")
    usage = server.wait_closed("p").exited["usage"]
    check(usage["peakRssBytes"] > 60 << 20, "peak memory: %s" % usage)
    check(usage["userMs"] > 0 and usage["wallMs"] >= usage["userMs"] // 2, "times: %s" % usage)
    equal(server.read("p")["usage"], usage, "usage of read")


@test(alone=True)
def two_hundred_starts_at_once_each_come_to_their_own_end(scene):
    server = scene.server()
    for base in range(0, 200, 50):
        ids = [
            server.request(
                "process/start",
                server.start_params(
                    "p%d" % n, ["sh", "-c", "echo %d; exit %d" % (n, n % 256)], tty=bool(n % 3 == 0)
                ),
            )
            for n in range(base, base + 50)
        ]
        for message_id in ids:
            server.result(message_id)
        for n in range(base, base + 50):
            code, output = server.finished("p%d" % n)
            equal((code, output.strip()), (n % 256, b"%d" % n), "code and output of %d" % n)


def start_of_each_kind(server, number):
    """Starts programs of every kind while the machine lacks something. Each start succeeds or fails,
    and says so.
    """
    answers = []
    for name, options in (
        ("pipes", {}),
        ("stdin", {"pipeStdin": True}),
        ("terminal", {"tty": True}),
    ):
        params = server.start_params("%s%d" % (name, number), ["echo", "x"], **options)
        answers.append((params["processId"], server.reply(server.request("process/start", params))))
    server.answers()
    for name, answer in answers:
        if "error" in answer:
            check(answer["error"]["data"]["kind"] in ("spawnFailed", "limit"), answer)
        else:
            server.finished(name)
    return sum("error" in answer for _, answer in answers)


@test
def a_machine_without_descriptors_fails_starts_and_nothing_else(scene):
    server = scene.server()
    server.start("before", ["cat"], pipeStdin=True)
    worker = server.worker()
    _, hard = resource.prlimit(worker, resource.RLIMIT_NOFILE)
    used = len(os.listdir("/proc/%d/fd" % worker))
    failed = 0
    for number in range(16):
        resource.prlimit(worker, resource.RLIMIT_NOFILE, (used + number, hard))
        failed += start_of_each_kind(server, number)
    check(failed > 3, "hardly a start failed: %d" % failed)
    resource.prlimit(worker, resource.RLIMIT_NOFILE, (hard, hard))
    server.write("before", b"on\n")
    server.wait_output("before", b"on\n")
    equal(server.run_shell("after", "echo x"), (0, b"x\n"), "a start afterwards")


@test
def a_machine_without_memory_for_output_fails_starts_and_nothing_else(scene):
    server = scene.server()
    if server.is_sanitized():
        return  # it needs terabytes of addresses
    server.start("before", ["cat"], pipeStdin=True)
    server.answers()
    worker = server.worker()
    with open("/proc/%d/statm" % worker) as file:
        used = int(file.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    resource.prlimit(worker, resource.RLIMIT_AS, (used + (1 << 20), resource.RLIM_INFINITY))
    equal(start_of_each_kind(server, 0), 3, "starts that failed")
    resource.prlimit(worker, resource.RLIMIT_AS, (resource.RLIM_INFINITY,) * 2)
    server.write("before", b"on\n")
    server.wait_output("before", b"on\n")
    equal(server.run_shell("after", "echo x"), (0, b"x\n"), "a start afterwards")


@test
def a_program_is_a_child_of_the_worker_and_gone_once_terminated(scene):
    server = scene.server()
    server.start("p", [PYTHON, "-S", "-c", "import time; time.sleep(600)"])
    pid = server.entry("p")["pid"]
    equal(int(stat_of(pid)[1]), server.worker(), "parent")
    server.terminate("p")
    server.wait_exited("p")
    check(not is_alive(pid), "the pid lives on")


@test
def a_variable_that_is_given_twice_has_its_last_value_once(scene):
    server = scene.server()
    for number, tty in enumerate((False, True)):
        params = server.start_params("p%d" % number, ["/usr/bin/env"], tty=tty, env={"TWICE": "1"})
        message_id = server.expect(server.new_id(), "process/start", params)
        text = json.dumps({"id": message_id, "method": "process/start", "params": params})
        twice = text.replace('"TWICE": "1"', '"TWICE": "1", "OTHER": "x", "TWICE": "2"')
        check(twice != text, "the test names the variable once")
        server.send_bytes(server.framing.wrap(twice.encode()))
        server.result(message_id)
        lines = server.finished("p%d" % number)[1].split()
        found = [line for line in lines if line.startswith(b"TWICE=")]
        equal(found, [b"TWICE=2"], "the variable, tty=%s" % tty)


def a_start_that_hangs_holds_up_nothing_and_can_be_called_off(scene):
    slow = shutil.copy("/usr/bin/true", scene.path("slow"))
    server, hold = scene.server(), Held(slow, Held.EXECUTE)
    try:
        server.start("cat", ["cat"], pipeStdin=True)
        hanging = server.request("process/start", server.start_params("slow", [slow]))
        hold.wait()

        server.answers()
        server.call("process/closeStdin", {"processId": "cat"})
        equal(server.finished("cat"), (0, b""), "code and output of a program whose input ended")
        equal(server.run_shell("other", "echo here"), (0, b"here\n"), "another start meanwhile")
        check(not server.is_answered(hanging), "a start was answered before its program ran")
        hold.release()
        server.result(hanging)
        equal(server.finished("slow"), (0, b""), "code and output of the slow one")

        hanging = server.request("process/start", server.start_params("gone", [slow]))
        hold.wait()
        server.terminate("gone")
        if "error" in server.reply(hanging):
            server.error(hanging, -32800, "cancelled")
        else:
            equal(server.wait_closed("gone").exited["signal"], "SIGKILL", "signal")
        server.answers()
    finally:
        hold.close()


if can_hold(Held.EXECUTE):
    test(a_start_that_hangs_holds_up_nothing_and_can_be_called_off)


if __name__ == "__main__":
    main()

"""process/signal, process/terminate, process/resize: their targets, and the report of an end."""

import os
import signal
import sys

sys.path.insert(0, os.path.abspath(__file__ + "/../../.."))
from support.client import (
    check,
    command_line,
    encoded,
    equal,
    eventually,
    is_alive,
    stat_of,
    within,
)
from support.programs import (
    CHANGES_A_DAEMONS_LIMIT,
    DROPS_ITS_MARK,
    ESCAPEES,
    ESCAPEE_COUNT,
    FAMILY,
    FAMILY_NAMES,
    LEAVES_A_DAEMON,
    SAYS_ITS_SIZE,
    SAYS_SIGNALS,
    SIGNAL_NAMES,
)
from support.runner import main, test


def said(server, name, text):
    server.wait_output(name, text)


@test
def every_signal_has_a_name_that_reaches_the_program(scene):
    server = scene.server()
    for number, tty in enumerate((False, True)):
        name = "p%d" % number
        server.start_python(name, SAYS_SIGNALS, tty=tty)
        said(server, name, b"ready")
        for wire, posix in SIGNAL_NAMES.items():
            for count, either in enumerate((wire, "SIG" + posix), 1):
                equal(server.signal(name, either), {}, "result")
                text = b"got SIG" + posix.encode()
                eventually(lambda: server.output(name).count(text) == count, either + " to arrive")
        check(not server.process(name).exited, "the program ended")
        server.signal(name, "kill")
        equal(server.wait_exited(name)["signal"], "SIGKILL", "signal that ended it")


@test
def stop_stops_and_continue_goes_on(scene):
    server = scene.server()
    server.start("p", ["cat"], pipeStdin=True)
    pid = server.entry("p")["pid"]
    server.signal("p", "stop")
    eventually(lambda: stat_of(pid)[0] == "T", "a stopped program")
    server.write("p", b"while stopped")
    server.answers()
    equal(server.output("p"), b"", "output of a stopped program")
    server.signal("p", "continue")
    said(server, "p", b"while stopped")
    server.signal("p", "stop")
    eventually(lambda: stat_of(pid)[0] == "T", "a stopped program")
    server.terminate("p")
    equal(server.wait_closed("p").exited["signal"], "SIGKILL", "a stopped program is ended")


@test
def a_scope_chooses_who_is_reached(scene):
    server = scene.server()
    expected = {
        None: {b"leader", b"member"},
        "group": {b"leader", b"member"},
        "leader": {b"leader"},
        "tree": {b"leader", b"member", b"daemon", b"group"},
    }
    for scope, names in expected.items():
        process = "p-%s" % scope
        server.start_python(process, FAMILY)
        for name in FAMILY_NAMES:
            said(server, process, name + b" ready")
        server.signal(process, "usr1", **({"scope": scope} if scope else {}))
        for name in names:
            said(server, process, name + b" got 10")
        server.signal(process, "terminate", scope="tree")
        for name in FAMILY_NAMES:
            said(server, process, name + b" got 15")
        reached = {
            line.split()[0]
            for line in server.output(process).splitlines()
            if line.endswith(b"got 10")
        }
        equal(reached, names, "reached by scope %s" % scope)
        server.terminate(process)


@test
def a_wrong_signal_is_refused(scene):
    server = scene.server()
    server.start("p", ["sleep", "600"])
    for wrong in (
        {"signal": "TERM"},
        {"signal": "Terminate"},
        {"signal": 15},
        {"signal": ""},
        {"signal": "usr1", "scope": "all"},
    ):
        server.refused("process/signal", {"processId": "p", **wrong}, -32602, "invalidParams")
    check(not server.process("p").exited, "it was signalled")


@test
def a_signal_to_nobody_says_so_but_an_interrupt_is_forgiven(scene):
    server = scene.server()
    equal(server.signal("none", "interrupt"), {}, "interrupt to an unknown process")
    server.refused(
        "process/signal", {"processId": "none", "signal": "terminate"}, -32600, "unknownProcess"
    )
    server.run("p", ["true"])
    equal(server.signal("p", "interrupt"), {}, "interrupt after the exit")
    for name in ("terminate", "kill", "usr1", "continue"):
        server.refused("process/signal", {"processId": "p", "signal": name}, -32602, "notRunning")


@test
def a_signal_after_the_exit_reaches_living_descendants(scene):
    server = scene.server()
    server.start_shell(
        "p", "(trap 'echo heard' USR1; echo ready; while :; do sleep 0.05; done) & echo done"
    )
    server.wait_exited("p")
    said(server, "p", b"ready")
    server.signal("p", "usr1", scope="tree")
    said(server, "p", b"heard")
    server.terminate("p")
    server.wait_closed("p")


@test
def an_end_is_told_as_the_shell_would(scene):
    server = scene.server()
    cases = [
        ("exit 0", 0, None),
        ("exit 1", 1, None),
        ("exit 77", 77, None),
        ("exit 255", 255, None),
    ]
    cases += [
        ("kill -%s $$" % name, 128 + getattr(signal, "SIG" + name), "SIG" + name)
        for name in ("TERM", "KILL", "SEGV", "ABRT", "HUP", "USR1", "PIPE", "ALRM", "INT", "XCPU")
    ]
    for tty in (False, True):
        for script, code, name in cases:
            process = "%s tty=%s" % (script, tty)
            server.start_shell(process, script, tty=tty)
            ended = server.wait_closed(process).exited
            equal(
                (ended["exitCode"], ended.get("signal")),
                (code, name),
                "code and signal of '%s'" % process,
            )
            answer = server.read(process)
            equal(
                (answer["exitCode"], answer.get("signal")),
                (code, name),
                "code and signal of read of '%s'" % process,
            )


@test
def terminate_ends_the_whole_tree_wherever_it_went(scene):
    server = scene.server()
    for number, tty in enumerate((False, True)):
        name = "p%d" % number
        server.start_python(name, ESCAPEES, tty=tty)
        server.wait_output(name, b"up", ESCAPEE_COUNT)
        # The intermediate processes that started daemons may not have ended yet.
        eventually(lambda: len(server.programs()) == ESCAPEE_COUNT, "these programs and no others")

        answer = server.terminate(name)

        equal(answer, {"running": True}, "result")
        eventually(lambda: not server.programs(), "the end of the whole tree")
        process = server.wait_closed(name)
        equal(
            (process.exited["exitCode"], process.exited["signal"]),
            (137, "SIGKILL"),
            "code and signal",
        )


@test
def terminate_wins_against_a_program_that_keeps_forking(scene):
    server = scene.server()
    server.start_shell(
        "p",
        "while :; do (setsid sh -c 'sleep 600 & sleep 600' &); sleep 600 & "
        "n=$((n+1)); [ $n = 5 ] && echo many; sleep 0.02; done",
    )
    server.wait_output("p", b"many")
    server.terminate("p")
    server.wait_closed("p")
    eventually(lambda: not server.programs(), "the end of the whole tree")


@test
def terminate_leaves_other_programs_alone(scene):
    server = scene.server()
    server.start_shell("p", "(setsid sleep 600 &); sleep 600")
    server.start_shell("q", "(setsid sleep 600 &); echo up; exec cat", pipeStdin=True)
    server.wait_output("q", b"up")
    eventually(
        lambda: len([pid for pid in server.programs() if command_line(pid).startswith("sleep 600")])
        == 3,
        "three sleeps",
    )
    server.terminate("p")
    server.wait_closed("p")
    eventually(lambda: len(server.programs()) <= 2, "the end of the tree of p")
    server.write("q", b"alive")
    server.wait_output("q", b"alive")
    equal(len(server.programs()), 2, "programs of q")


@test
def terminate_after_the_exit_ends_what_is_left(scene):
    server = scene.server()
    for number, tty in enumerate((False, True)):
        name = "p%d" % number
        daemon = "(setsid sh -c 'trap \"\" HUP; : >\"$0\"; sleep 600; :' there-%s &); " % name
        wait = "while ! test -e there-%s; do sleep 0.01; done; " % name
        server.start_shell(name, daemon + wait + "exit 6", tty=tty)
        server.wait_exited(name)
        left = server.entry(name)["descendants"]
        check(left, "no descendants")
        # A program is invisible during its exec.
        eventually(lambda: set(left) <= set(server.programs()), "the descendants as programs")

        equal(server.terminate(name), {"running": False}, "result")

        eventually(lambda: not server.programs(), "the end of the descendants")
        server.wait_closed(name)
        equal(eventually(lambda: server.entry(name), "the entry")["descendants"], [], "descendants")


@test
def terminate_with_grace_asks_first_and_then_insists(scene):
    server = scene.server()
    server.start_shell(
        "polite", "trap 'echo asked; exit 5' TERM; echo ready; while :; do sleep 0.05; done"
    )
    said(server, "polite", b"ready")
    equal(server.terminate("polite", graceMs=60000), {"running": True}, "result")
    equal(server.finished("polite")[0], 5, "exit code")
    equal(server.output("polite", "stdout"), b"ready\nasked\n", "output")

    server.start_python("stubborn", FAMILY)
    for name in FAMILY_NAMES:
        said(server, "stubborn", name + b" ready")
    equal(server.terminate("stubborn", graceMs=int(within(3000))), {"running": True}, "result")
    ended = server.wait_closed("stubborn")
    check(
        b"leader got 15" in ended.output() and b"member got 15" in ended.output(),
        "nobody was asked: %r" % ended.output(),
    )
    equal(ended.exited["signal"], "SIGKILL", "signal")
    eventually(lambda: not server.programs(), "the end of the whole tree")


@test
def a_second_terminate_cuts_the_grace_short(scene):
    server = scene.server()
    server.start_python("p", FAMILY)
    said(server, "p", b"leader ready")
    gentle = server.request("process/terminate", {"processId": "p", "graceMs": 600000})
    said(server, "p", b"leader got 15")
    server.terminate("p")
    server.wait_closed("p")
    equal(server.result(gentle), {"running": True}, "result of the first")


@test
def terminate_of_nothing_is_no_error(scene):
    server = scene.server()
    equal(server.terminate("none"), {"running": False}, "unknown process")
    server.run("p", ["true"])
    equal(server.terminate("p"), {"running": False}, "ended process")
    equal(server.terminate("p", graceMs=1000), {"running": False}, "ended process, with grace")


@test
def terminate_answers_everyone_who_waits_for_the_process(scene):
    server = scene.server()
    server.start_shell("p", "exec sleep 600", pipeStdin=True)
    reads = [
        server.request("process/read", {"processId": "p", "waitMs": 600000}) for _ in range(20)
    ]
    writes = [
        server.request("process/write", {"processId": "p", "chunk": encoded(b"w" * (1 << 20))})
        for _ in range(12)
    ]
    server.answers()
    equal(server.terminate("p"), {"running": True}, "result")
    for message_id in reads:
        equal(server.result(message_id)["exited"], True, "exited")
    for message_id in writes:
        check(
            server.result(message_id)["status"] in ("accepted", "stdinClosed"), "status of a write"
        )


def cancelled_or_finished(server, name, starting):
    """Returns the exit code, or None if the start itself was cancelled."""
    if "error" in server.reply(starting):
        server.error(starting, -32800, "cancelled")
        return None
    return server.finished(name)[0]


@test
def a_terminate_that_meets_a_start_or_an_end_is_one_end(scene):
    server = scene.server()
    for number in range(60):
        name, argv = "p%d" % number, ["sh", "-c", "exit 3"] if number % 2 else ["true"]
        params = server.start_params(name, argv, tty=bool(number % 3))
        starting = server.request("process/start", params)
        if number % 4:
            server.result(starting)
        ending = server.request("process/terminate", {"processId": name})
        code = cancelled_or_finished(server, name, starting)
        check(code in (None, 0, 3, 137), "exit code %s" % code)
        check(server.result(ending)["running"] or code in (0, 3), "it was ended but not running")
    eventually(lambda: not server.programs(), "the end of all programs")


@test
def a_burst_of_calls_to_a_program_that_ends_is_answered(scene):
    server = scene.server()
    for number in range(40):
        name, size = "p%d" % number, {"rows": 30, "cols": 90}
        params = server.start_params(name, ["true"], tty=bool(number % 2), pipeStdin=True)
        starting = server.request("process/start", params)
        if number % 4:
            server.result(starting)
        ids = [
            server.request("process/write", {"processId": name, "chunk": "eA=="}),
            server.request("process/resize", {"processId": name, "size": size}),
            server.request("process/signal", {"processId": name, "signal": "interrupt"}),
            server.request("process/terminate", {"processId": name}),
        ]
        for message_id in ids:
            server.reply(message_id)
        cancelled_or_finished(server, name, starting)
    server.answers()


@test
def a_resize_is_seen_by_the_program(scene):
    server = scene.server()
    server.start_python("p", SAYS_ITS_SIZE, tty=True)
    said(server, "p", b"ready")
    for rows, cols in ((50, 132), (1, 1), (65535, 65535), (24, 80)):
        equal(
            server.call("process/resize", {"processId": "p", "size": {"rows": rows, "cols": cols}}),
            {},
            "result",
        )
        said(server, "p", b"%d %d\r\n" % (rows, cols))


@test
def a_resize_that_makes_no_sense_is_refused(scene):
    server = scene.server()
    size = {"rows": 24, "cols": 80}
    server.start("pipe", ["sleep", "600"])
    server.refused("process/resize", {"processId": "pipe", "size": size}, -32600, "notATerminal")
    server.refused("process/resize", {"processId": "none", "size": size}, -32600, "unknownProcess")
    server.start("tty", ["sleep", "600"], tty=True)
    for wrong in (
        {"rows": 0, "cols": 80},
        {"rows": 24, "cols": 0},
        {"rows": 65536, "cols": 80},
        {"rows": -1, "cols": 80},
        {"rows": 24},
        {},
    ):
        server.refused(
            "process/resize", {"processId": "tty", "size": wrong}, -32602, "invalidParams"
        )
    server.run("ended", ["true"], tty=True)
    equal(
        server.call("process/resize", {"processId": "ended", "size": size}),
        {},
        "resize after the exit",
    )


@test
def an_outer_limit_ends_children_that_ignore_an_inner_one(scene):
    server = scene.server()
    server.start_shell(
        "p",
        "timeout %g sh -c 'trap \"echo asked\" TERM; (trap \"\" TERM; echo deaf; sleep 600) & "
        "wait; sleep 600'" % within(3),
    )
    said(server, "p", b"deaf")
    said(server, "p", b"asked")
    pids = server.programs()
    server.terminate("p")
    server.wait_closed("p")
    eventually(lambda: not any(map(is_alive, pids)), "the end of the tree")


@test
def a_terminate_right_behind_a_start_leaves_no_daemon(scene):
    server = scene.server()
    script = "(setsid sleep 600 </dev/null >/dev/null 2>&1 &); exec sleep 600"
    for number in range(16):
        name = "p%d" % number
        between = [("process/list", {})] * (number * 37 % 240)
        ids = server.request_at_once(
            [
                ("process/start", server.start_params(name, ["sh", "-c", script])),
                *between,
                ("process/terminate", {"processId": name}),
            ]
        )
        server.result(ids[-1])
        cancelled_or_finished(server, name, ids[0])
        eventually(lambda: not server.programs(), "the end of the whole tree")


@test
def terminate_ends_a_daemon_that_changed_its_limits(scene):
    server = scene.server()
    server.start_python("p", CHANGES_A_DAEMONS_LIMIT)
    said(server, "p", b"up")
    equal(server.terminate("p"), {"running": True}, "result")
    eventually(lambda: not server.programs(), "the end of the whole tree")


def pid_of_daemon(server, name):
    return int(server.wait_output(name, b"\n"))


@test
def terminate_ends_a_daemon_that_took_its_mark_off(scene):
    server = scene.server()
    server.start("other", ["sleep", "600"])
    for number, tty in enumerate((False, True)):
        name = "p%d" % number
        server.start_python(name, DROPS_ITS_MARK, tty=tty)
        daemon = pid_of_daemon(server, name)
        equal(server.entry(name)["descendants"], [daemon], "descendants, tty=%s" % tty)
        equal(server.terminate(name), {"running": True}, "answer, tty=%s" % tty)
        check(not is_alive(daemon), "the daemon lives, tty=%s" % tty)
        server.wait_closed(name)


@test
def terminate_ends_the_only_daemon_that_it_may_be(scene):
    server = scene.server()
    server.start_python("alone", DROPS_ITS_MARK, "silent")
    daemon = pid_of_daemon(server, "alone")
    equal(server.terminate("alone"), {"running": True}, "answer")
    check(not is_alive(daemon), "the only daemon that there may be lives")


@test
def a_time_limit_ends_a_daemon_that_took_its_mark_off(scene):
    server = scene.server()
    server.start_python("p", DROPS_ITS_MARK, timeoutMs=int(within(3000)))
    daemon = pid_of_daemon(server, "p")
    equal(server.wait_closed("p").exited.get("timedOut"), True, "timedOut")
    eventually(lambda: not is_alive(daemon), "the end of the daemon")


@test
def a_daemon_without_a_mark_that_may_belong_to_another_process_is_named(scene):
    server = scene.server()
    server.start("other", ["sleep", "600"])
    server.start_python("p", DROPS_ITS_MARK, "silent")
    daemon = pid_of_daemon(server, "p")
    for name in ("p", "other"):
        answer = server.terminate(name)
        equal(answer, {"running": True, "survivors": [daemon]}, "answer about " + name)
        check(is_alive(daemon), "the daemon was ended, whoever made it")
        server.wait_closed(name)
    server.end()
    check(not is_alive(daemon), "the daemon outlives the server")


@test
def after_the_exit_only_the_scope_tree_reaches_a_daemon(scene):
    server = scene.server()
    server.start_python("p", LEAVES_A_DAEMON)
    said(server, "p", b"ready")
    equal(server.wait_exited("p")["exitCode"], 0, "exit code")
    for scope in ("leader", "group"):
        for name in ("usr1", "terminate", "kill"):
            params = {"processId": "p", "signal": name, "scope": scope}
            server.refused("process/signal", params, -32602, "notRunning")
        equal(server.signal("p", "interrupt", scope=scope), {}, "an interrupt, scope " + scope)
    equal(server.signal("p", "usr2", scope="tree"), {}, "result of the scope tree")
    said(server, "p", b"got SIGUSR2")
    equal(server.output("p").split(b"\n")[1:], [b"got SIGUSR2", b""], "what reached the daemon")
    server.terminate("p")
    server.wait_closed("p")


@test
def an_endless_grace_can_be_cut_short(scene):
    server = scene.server()
    server.start_python("p", FAMILY)
    for name in FAMILY_NAMES:
        said(server, "p", name + b" ready")
    endless = [
        server.request("process/terminate", {"processId": "p", "graceMs": grace})
        for grace in (2**60, 2**63, 2**64 - 1)
    ]
    said(server, "p", b"leader got 15")
    server.answers()
    check(not any(map(server.is_answered, endless)), "a terminate did not wait for its grace")
    equal(server.terminate("p", graceMs=0), {"running": True}, "result")
    for message_id in endless:
        equal(server.result(message_id), {"running": True}, "result of an endless grace")
    eventually(lambda: not server.programs(), "the end of the whole tree")


if __name__ == "__main__":
    main()

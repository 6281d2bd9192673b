"""The end of client, server and programs, in any order: nothing is left, and the exit status says why."""

import os
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.abspath(__file__ + "/../../.."))
from support.client import PYTHON, check, children_of, decoded, equal, eventually, is_alive
from support.programs import STUBBORN
from support.runner import main, test

# Continues once the daemon has a session of its own and ignores signals.
DAEMON = (
    "there=there-$$; (setsid sh -c 'trap \"\" HUP INT TERM; : >\"$0\"; sleep 600; :' $there "
    ">/dev/null 2>&1 &) ; while ! test -e $there; do sleep 0.01; done; "
)


def busy(scene, *flags, **options):
    """Starts a server with programs of every kind: daemons, stubborn and plain ones, background
    jobs.
    """
    server = scene.server(*flags, **options)
    for number, tty in enumerate((False, True)):
        server.start_shell("daemon%d" % number, DAEMON + "echo up", tty=tty)
        server.start_python("stubborn%d" % number, STUBBORN, tty=tty)
    server.start_shell("plain", "echo up; exec sleep 600")
    server.start_shell("background", "sleep 600 & sleep 600 & echo up")
    for name, count in (
        ("daemon0", 1),
        ("daemon1", 1),
        ("stubborn0", 2),
        ("stubborn1", 2),
        ("plain", 1),
        ("background", 1),
    ):
        server.wait_output(name, b"up", count)
    # A program is invisible during its exec.
    eventually(lambda: len(server.programs()) >= 9, "nine programs")
    return server


def expect_nothing_left(server):
    eventually(lambda: not server.programs(), "the end of all programs")


@test
def end_of_input_ends_everything_with_status_0(scene):
    server = busy(scene)
    server.start("flood", ["yes"])
    server.request("process/read", {"processId": "plain", "waitMs": 600000})
    equal(server.end(), 0, "exit status")
    expect_nothing_left(server)


@test
def signals_end_everything_with_their_status(scene):
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        server = busy(scene)
        os.kill(server.pid, number)
        equal(server.exit_status(), 128 + number, "exit status")
        expect_nothing_left(server)
        server.verify()


@test
def signals_before_initialize_end_the_server(scene):
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        server = scene.server(handshake=False)
        server.refused("environment/status", {}, -32600, "notInitialized")
        os.kill(server.pid, number)
        equal(server.exit_status(), 128 + number, "exit status")


@test
def exit_after_shutdown_is_status_0_and_without_it_1(scene):
    server = busy(scene)
    equal(server.call("shutdown"), None, "result of shutdown")
    server.notify("exit")
    equal(server.exit_status(), 0, "exit status")
    expect_nothing_left(server)

    server = busy(scene)
    server.notify("exit")
    equal(server.exit_status(), 1, "exit status")
    expect_nothing_left(server)


@test
def the_death_of_the_parent_that_was_named_ends_everything(scene):
    for way in ("initialize", "flag"):
        parent = subprocess.Popen(["sleep", "600"])
        try:
            if way == "flag":
                server = busy(scene, "--client-process-id=%d" % parent.pid)
            else:
                server = busy(scene, initialize={"processId": parent.pid})
        finally:
            parent.kill()
            parent.wait()
        server.exit_status()
        expect_nothing_left(server)
        server.verify()


@test
def a_parent_that_is_not_there_is_ignored(scene):
    gone = subprocess.Popen(["true"])
    gone.wait()
    scene.server(initialize={"processId": gone.pid}).answers()
    scene.server("--client-process-id=%d" % gone.pid).answers()
    scene.server(initialize={"processId": 2**31 - 1}).answers()
    scene.server(initialize={"processId": None}).answers()


@test
def a_worker_that_was_stopped_ends_like_any_other(scene):
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        server = busy(scene)
        os.kill(server.worker(), signal.SIGSTOP)
        os.kill(server.pid, number)
        equal(server.exit_status(), 128 + number, "exit status")
        expect_nothing_left(server)

    server = busy(scene)
    os.kill(server.worker(), signal.SIGSTOP)
    server.may_be_cut = True
    os.kill(server.pid, signal.SIGKILL)
    expect_nothing_left(server)


@test
def sigkill_of_the_keeper_takes_everything_along(scene):
    server = busy(scene)
    server.may_be_cut = True
    worker = server.worker()
    os.kill(server.pid, signal.SIGKILL)
    equal(server.exit_status(), 137, "exit status")
    expect_nothing_left(server)
    eventually(lambda: not is_alive(worker), "the end of the worker")


@test
def sigkill_of_the_worker_takes_everything_along_with_status_70(scene):
    server = busy(scene)
    server.may_be_cut = True
    os.kill(server.worker(), signal.SIGKILL)
    equal(server.exit_status(), 70, "exit status")
    expect_nothing_left(server)


@test
def sigkill_of_the_process_group_of_the_client_takes_everything_along(scene):
    server = busy(scene, prepare=os.setsid)
    server.may_be_cut = True
    worker = server.worker()
    os.killpg(server.pid, signal.SIGKILL)
    equal(server.exit_status(), 137, "exit status")
    expect_nothing_left(server)
    eventually(lambda: not is_alive(worker), "the end of the worker")


@test
def sigkill_of_a_worker_under_load_leaves_nothing(scene):
    server = busy(scene)
    server.may_be_cut = True
    for number in range(4):
        server.start("flood%d" % number, ["yes"], tty=bool(number % 2))
    server.start_shell("forks", "while :; do (setsid sleep 600 &); sleep 0.01; done")
    eventually(lambda: len(server.programs()) > 20, "many programs")
    os.kill(server.worker(), signal.SIGKILL)
    equal(server.exit_status(), 70, "exit status")
    expect_nothing_left(server)


@test
def a_client_that_vanishes_ends_everything(scene):
    server = busy(scene)
    server.start("flood", ["yes"])
    server.wait(lambda: server.process("flood").size() > 100000, "output of the flood")
    server.stop_reading()
    server.may_be_cut = True
    server.close_input()
    server.child.stdout.close()
    server.exit_status()
    expect_nothing_left(server)
    server.discard()


@test
def end_of_input_is_seen_while_the_client_does_not_read(scene):
    server = busy(scene)
    server.start("flood", ["yes"])
    server.wait(lambda: server.process("flood").size() > 100000, "output of the flood")
    server.stop_reading()
    server.may_be_cut = True
    server.close_input()
    expect_nothing_left(server)
    server.resume_reading()
    equal(server.exit_status(), 0, "exit status")


@test
def a_terminated_server_ends_its_programs_while_the_client_does_not_read(scene):
    server = busy(scene)
    server.start("flood", ["yes"])
    server.wait(lambda: server.process("flood").size() > 100000, "output of the flood")
    server.stop_reading()
    server.may_be_cut = True
    os.kill(server.pid, signal.SIGTERM)
    expect_nothing_left(server)
    equal(server.exit_status(), 128 + signal.SIGTERM, "exit status")


def code_in_memory(pid):
    """KiB of the program's own code that this process has in memory."""
    total, counts = 0, False
    program = os.readlink("/proc/%d/exe" % pid)
    with open("/proc/%d/smaps" % pid) as smaps:
        for line in smaps:
            words = line.split()
            if not words[0].endswith(":"):
                counts = words[-1] == program and "x" in words[1]
            elif counts and words[0] == "Rss:":
                total += int(words[1])
    return total


@test
def the_keeper_gives_back_the_code_that_it_has_started_with(scene):
    server = scene.server()
    worker = server.worker()
    eventually(lambda: 0 < code_in_memory(server.pid) < code_in_memory(worker) / 2, "a small keeper")


@test
def the_keeper_holds_no_end_of_the_conversation(scene):
    server = scene.server()
    worker = server.worker()
    pipes = {
        os.readlink("/proc/self/fd/%d" % stream.fileno())
        for stream in (server.child.stdin, server.child.stdout)
    }

    def held_by_keeper():
        held = set()
        for name in os.listdir("/proc/%d/fd" % server.pid):
            try:
                held.add(os.readlink("/proc/%d/fd/%s" % (server.pid, name)))
            except FileNotFoundError:
                pass  # closed meanwhile
        return held

    # The worker may exist before the keeper has closed them.
    eventually(lambda: not pipes & held_by_keeper(), "a keeper without the client's pipes")
    held = [
        os.readlink("/proc/%d/fd/%s" % (worker, name))
        for name in os.listdir("/proc/%d/fd" % worker)
    ]
    check(pipes <= set(held), "the worker lacks the client's pipes: %s" % held)
    eventually(
        lambda: os.getpgid(worker) != os.getpgid(server.pid), "a process group of the worker's own"
    )


@test(alone=True)
def no_descriptor_and_no_zombie_is_left_by_many_programs(scene):
    server = scene.server()
    for n in range(5):
        server.run("warm%d" % n, ["true"], tty=bool(n % 2))
    before = server.descriptors()
    for number in range(300):
        kind = number % 6
        script = (
            "true",
            "true & true &",
            "sleep 0.01 & exit 1",
            "kill -9 $$",
            "(setsid true &)",
            "exec cat",
        )[kind]
        server.start_shell("p%d" % number, script, tty=bool(number % 2), pipeStdin=bool(number % 5))
        if kind == 5:
            server.terminate("p%d" % number)
        if number % 50 == 0:
            server.request(
                "process/start",
                server.start_params("bad", ["no-such-program"], tty=bool(number % 100)),
            )
        server.wait_closed("p%d" % number)
    eventually(lambda: not server.zombies(), "a server without zombies")
    eventually(lambda: server.descriptors() <= before, "as few descriptors as before")
    # A program that has closed its output may not have ended yet.
    eventually(
        lambda: not [pid for pid in children_of(server.worker()) if is_alive(pid)],
        "a worker without children",
    )


@test(alone=True)
def a_server_with_nothing_to_do_does_not_wake(scene):
    server = scene.server()
    server.start("quiet", ["cat"], tty=True)
    server.run("ended", ["true"])
    server.answers()

    def wake_ups():
        lines = "".join(
            open("/proc/%d/status" % pid).read() for pid in server.own_pids()
        ).splitlines()
        return sum(int(line.split()[1]) for line in lines if "ctxt_switches" in line)

    eventually(lambda: server.process("ended").closed, "the end of the program")
    server.wait_idle(1)
    before = wake_ups()
    time.sleep(2)
    check(wake_ups() - before <= 1, "%d wake-ups in two idle seconds" % (wake_ups() - before))


@test
def no_terminal_is_held_after_its_program(scene):
    server = scene.server()
    server.start("p", ["bash", "--norc", "-i"], tty=True)
    server.write("p", b"exit 3\n")
    equal(server.finished("p")[0], 3, "exit code")
    worker = server.worker()
    held = [
        os.readlink("/proc/%d/fd/%s" % (worker, name))
        for name in os.listdir("/proc/%d/fd" % worker)
    ]
    check(not [target for target in held if "/dev/pt" in target], "terminals: %s" % held)


@test
def a_cancelled_read_is_answered_so_and_its_process_goes_on(scene):
    server = scene.server()
    server.start("p", ["cat"], pipeStdin=True)
    first = server.request("process/read", {"processId": "p", "waitMs": 600000})
    second = server.request("process/read", {"processId": "p", "waitMs": 600000}, message_id="text")
    server.notify("$/cancelRequest", {"id": first})

    server.error(first, -32800, "cancelled")

    check(not server.is_answered(second), "the other read was cancelled too")
    server.write("p", b"alive")
    equal(
        [decoded(chunk["chunk"]) for chunk in server.result(second)["chunks"]],
        [b"alive"],
        "the other read",
    )


@test
def a_cancelled_write_is_answered_so_and_others_go_on(scene):
    server = scene.server()
    server.start("p", ["sleep", "600"], pipeStdin=True)
    chunk = "QUJD" * (1 << 18)
    ids = [server.request("process/write", {"processId": "p", "chunk": chunk}) for _ in range(16)]
    server.wait(lambda: sum(map(server.is_answered, ids)) >= 8, "the answers to the first writes")
    server.notify("$/cancelRequest", {"id": ids[-1]})
    server.error(ids[-1], -32800, "cancelled")
    server.answers()
    server.terminate("p")
    for message_id in ids[:-1]:
        server.result(message_id)


@test
def a_cancel_of_nothing_is_ignored(scene):
    server = scene.server()
    for params in ({"id": 12345}, {"id": "none"}, {"id": None}, {}, {"id": 1.5}, {"id": [1]}):
        server.notify("$/cancelRequest", params)
    server.answers()
    done = server.request("environment/status")
    server.result(done)
    server.notify("$/cancelRequest", {"id": done})
    server.answers()
    equal(server.errors, [], "errors")


@test
def a_server_started_through_a_shell_with_everything_ignored_still_counts_its_children(scene):
    def prepare():
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        signal.pthread_sigmask(signal.SIG_BLOCK, range(1, signal.NSIG))

    server = scene.server(prepare=prepare)
    for number, tty in enumerate((False, True)):
        equal(
            server.run("p%d" % number, [PYTHON, "-S", "-c", "import os; os._exit(9)"], tty=tty)[0],
            9,
            "exit code",
        )
    os.kill(server.pid, signal.SIGTERM)
    equal(server.exit_status(), 128 + signal.SIGTERM, "exit status")


if __name__ == "__main__":
    main()

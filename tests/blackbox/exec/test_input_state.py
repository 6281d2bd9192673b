"""inputState: what a program does about its input, by what the kernel knows of it."""

import os
import shutil
import sys

sys.path.insert(0, os.path.abspath(__file__ + "/../../.."))
from support.client import PYTHON, check, encoded, equal, eventually
from support.exec import Home, exec_server
from support.runner import main, test

SECRET = "tr0ub4dor"
BUSY = "while True: pass"
# Looks for input without waiting, and works.
GLANCING = """
import select, sys
while True:
    select.select([sys.stdin], [], [], 0)
    sum(range(3000))
"""
# Waits for input for a moment, and then works three times as long.
PAUSING = """
import select, sys, time
while True:
    select.select([sys.stdin], [], [], 0.005)
    end = time.thread_time() + 0.015
    while time.thread_time() < end: pass
"""
# As PAUSING, but it rests.
RESTING = """
import select, sys
while True: select.select([sys.stdin], [], [], 0.05)
"""
POLLING = """
import select, sys
ends = __import__("os").pipe()
poll = select.%s()
for end in (ends[0], sys.stdin.fileno()): poll.register(end, select.%s)
poll.poll()
"""
HIDDEN = """
import ctypes, getpass
ctypes.CDLL(None).prctl(4, 0)  # PR_SET_DUMPABLE: /proc belongs to root
getpass.getpass("Password: ")
"""
# A thread of its own reads; the first one sleeps.
THREAD = """
import sys, threading
thread = threading.Thread(target=sys.stdin.readline)
thread.start()
thread.join()
"""


def python(script):
    return [PYTHON, "-S", "-c", script]


def places(scene, **options):
    """Yields a server without a sandbox, and one with."""
    yield exec_server(scene, home=Home(scene, "free"), **options)
    yield exec_server(
        scene, home=Home(scene, "held"), sandbox="workspace-write", policy="never", **options
    )


def state(server, process_id):
    return server.listed(process_id)["inputState"]


def waits(server, process_id, kind):
    """Waits until the program waits for input of this kind. Returns its state."""

    def look():
        seen = state(server, process_id)
        return seen["waiting"] and seen["kind"] == kind and seen

    seen = eventually(look, "%s waits for %s: %s" % (process_id, kind, state(server, process_id)))
    equal(seen["certainty"], "kernel", "certainty")
    check(seen["sinceMs"] >= 0, "since when: %s" % seen)
    return seen


def never_waits(server, process_ids, looks=300):
    for _ in range(int(os.environ.get("EXECWARD_TEST_LOOKS", looks))):
        for process in server.call("exec/list")["processes"]:
            if process["processId"] in process_ids:
                seen = process["inputState"]
                check(not seen["waiting"], "%s waits: %s" % (process["argv"], seen))
                equal(seen["certainty"], "kernel", "certainty")


# Programs that wait


@test
def a_program_that_reads_its_terminal_waits(scene):
    for server in places(scene):
        for what in ("cat", "read x", python("input()"), python(THREAD), "sh -c 'cat; true' | cat"):
            process_id = server.left_running(what, tty=True)
            waits(server, process_id, "line")
            result = server.stdin(process_id, "x\n", quietMs=20)
            if what == "cat":
                equal(result["inputState"]["kind"], "line", "kind in an answer")
                waits(server, process_id, "line")


@test
def a_wait_for_the_terminal_among_others_counts(scene):
    for server in places(scene):
        for kind, event in (("poll", "POLLIN"), ("epoll", "EPOLLIN")):
            script = POLLING % (kind, event)
            waits(server, server.left_running(python(script), tty=True), "line")
        script = "import select, sys; select.select([sys.stdin], [], [])"
        waits(server, server.left_running(python(script), tty=True), "line")


@test
def the_time_of_a_wait_grows_until_input_comes(scene):
    server = exec_server(scene)
    process_id = server.left_running("cat", tty=True)
    waits(server, process_id, "line")
    eventually(lambda: state(server, process_id)["sinceMs"] >= 300, "a longer time")
    server.stdin(process_id, "x\n", quietMs=20)
    check(waits(server, process_id, "line")["sinceMs"] < 300, "the time did not begin anew")


@test
def a_password_is_told_from_a_line_and_a_key(scene):
    for server in places(scene):
        process_id = server.left_running("read -r -s x", shell="bash", tty=True)
        waits(server, process_id, "password")
        equal(server.stdin(process_id, quietMs=0, yieldTimeMs=0)["state"], "inputNeeded", "state")
        process_id = server.left_running("read -r -n 1 x", shell="bash", tty=True)
        waits(server, process_id, "raw")
        equal(server.stdin(process_id, quietMs=0, yieldTimeMs=0)["state"], "running", "state")


@test
def hidden_input_is_not_needed_while_the_program_works(scene):
    server = exec_server(scene)
    process_id = server.left_running("stty -echo; echo go; sleep 600", shows="go", tty=True)
    eventually(lambda: state(server, process_id)["kind"] == "password", "no echo")
    result = server.stdin(process_id, yieldTimeMs=0)
    equal((result["state"], result["inputState"]["waiting"]), ("running", False), "state")


@test
def programs_with_line_editing_and_whole_screens_wait_for_keys(scene):
    programs = [
        ("exec bash --norc -i", "bash"),
        ("%s -q -i" % PYTHON, PYTHON),
        ("yes | less", "less"),
        ("vim -u NONE -N", "vim"),
        ("nano", "nano"),
        ("top", "top"),
        ("htop", "htop"),
        ("exec zsh -f -i", "zsh"),
    ]
    home = Home(scene)
    server = exec_server(scene, home=home, env={"TERM": "xterm"})
    for script, program in programs:
        if shutil.which(program) is None:
            continue
        kind = "raw"
        if program == PYTHON and server.output_of(
            [PYTHON, "-c", "import sys, importlib.util as u; print(bool(u.find_spec('readline')))"]
        ) == "False\n":
            kind = "line"
        process_id = server.left_running(script, tty=True, env={"TERM": "xterm"})
        waits(server, process_id, kind)
        server.call("exec/terminate", {"processId": process_id})


@test
def a_program_that_often_looks_for_input_and_rests_waits(scene):
    server = exec_server(scene)
    waits(server, server.left_running(python(RESTING), tty=True), "line")


@test
def a_pipe_that_is_held_open_is_waited_for(scene):
    server = exec_server(scene)
    server.start("reader", ["sh", "-c", "cat; true"], pipeStdin=True)
    server.start("worker", ["sleep", "600"], pipeStdin=True)
    server.start("none", ["sleep", "600"])

    def listed(name):
        all_of_them = server.call("process/list")["processes"]
        return next(p["inputState"] for p in all_of_them if p["processId"] == name)

    eventually(lambda: listed("reader")["waiting"], "the reader waits")
    equal(listed("reader")["kind"], "pipe", "kind")
    equal((listed("worker")["kind"], listed("worker")["waiting"]), ("pipe", False), "worker")
    equal((listed("none")["kind"], listed("none")["waiting"]), ("none", False), "no stdin")
    server.call("process/write", {"processId": "reader", "chunk": "", "closeStdin": True})
    eventually(lambda: server.call("process/list")["processes"][0]["state"] == "closed", "its end")


# Programs that do not


@test
def a_program_that_works_or_sleeps_never_waits(scene):
    for server in places(scene):
        ids = [
            server.left_running(what, tty=True)
            for what in (
                python(BUSY),
                python(GLANCING),
                python(PAUSING),
                "while :; do :; done",
                "%s -S -c '%s'; true" % (PYTHON, BUSY),
                "sleep 600",
                "cat </dev/zero >/dev/null",
                "sleep 600 | cat",
            )
        ]
        ids.append(server.left_running("sleep 600"))
        never_waits(server, ids)
        server.call("exec/terminateAll", {"graceMs": 0})


@test
def a_reader_in_the_background_does_not_count(scene):
    server = exec_server(scene)
    script = "set -m; cat & sleep 600"
    process_id = server.left_running(script, shell="bash", tty=True)
    never_waits(server, [process_id], looks=50)


@test
def without_a_right_to_look_the_mode_of_the_terminal_decides(scene):
    server = exec_server(scene)
    process_id = server.left_running(python(HIDDEN), shows="Password: ", tty=True)
    if os.getuid() == 0:
        waits(server, process_id, "password")  # root may look into every program
        return
    equal(state(server, process_id)["certainty"], "termios", "certainty")
    result = server.stdin(process_id, quietMs=0, yieldTimeMs=0)
    equal((result["state"], result["inputState"]["kind"]), ("inputNeeded", "password"), "state")
    eventually(lambda: state(server, process_id)["waiting"], "silence")


# The notification


def told(server, process_id):
    return [(s["kind"], s["waiting"]) for s in server.program(process_id).input_states]


@test
def who_asks_is_told_when_a_program_begins_and_ceases_to_wait(scene):
    for server in places(scene, input_state=True):
        script = "read -r x; sleep 1; stty -echo; read -r y; stty echo; exec sleep 600"
        process_id = server.left_running(script, tty=True)
        want = [("line", True)]
        server.wait(lambda: told(server, process_id) == want, "waiting")
        for text, more in (
            ("a\n", [("line", False), ("password", True)]),
            ("b\n", [("line", False)]),
        ):
            server.stdin_later(process_id, text)
            want += more
            server.wait(lambda: len(told(server, process_id)) >= len(want), "news: %s" % want)
            equal(
                [waiting for _, waiting in told(server, process_id)],
                [waiting for _, waiting in want],
                "news",
            )
        equal(told(server, process_id)[2], ("password", True), "the password")


@test
def others_are_told_nothing(scene):
    server = exec_server(scene)
    process_id = server.left_running("cat", tty=True)
    waits(server, process_id, "line")
    server.stdin(process_id, "x\n", yieldTimeMs=1000)
    equal(server.program(process_id).input_states, [], "news")


@test
def a_flood_does_not_wait_though_it_did_before(scene):
    server = exec_server(scene, input_state=True)
    process_id = server.left_running("read x; exec yes", tty=True)
    server.wait(lambda: told(server, process_id) == [("line", True)], "waiting")
    server.stdin(process_id, "x\n")
    server.wait(lambda: told(server, process_id)[1:] == [("line", False)], "the flood")


# What is typed while the terminal does not show it


@test
def hidden_input_appears_nowhere(scene):
    for mode in ("-echo", "raw -echo"):
        home = Home(scene, "home" + mode)
        record = os.path.join(home.path, "record")
        server = exec_server(
            scene, "--record", record, "--log-level", "trace", home=home
        )
        script = "stty %s; echo go; head -c %d | md5sum; exec sleep 600"
        for size in (len(SECRET), len(SECRET) + 1):
            process_id = server.left_running(script % (mode, size), shows="go", tty=True)
            server.stdin(process_id, SECRET[:-1])
            server.stdin(process_id, SECRET[-1] + "\n")
            stars = ["*" * (len(SECRET) - 1), "**"]
            equal([text for text in server.program(process_id).interactions if text], stars, mode)
        server.start_shell("own", "stty -echo; echo go; exec cat >/dev/null", tty=True)
        server.wait_output("own", b"go")
        server.call("process/write", {"processId": "own", "chunk": encoded(SECRET.encode())})
        server.answers()
        with open(record) as file:
            recorded = file.read()
        check('"chars":"%s"' % ("*" * (len(SECRET) - 1)) in recorded, "no stars: %s" % recorded)
        check('"chunk~":"%s"' % ("*" * len(SECRET)) in recorded, "no stars: %s" % recorded)
        kept = "%s %s %s %s" % (recorded, server.events, home.audit(), server.stderr())
        for part in (SECRET, SECRET[:-1], encoded(SECRET.encode())):
            check(part not in kept, "%r is in %s" % (part, kept))


@test
def shown_input_is_recorded_as_before(scene):
    home = Home(scene)
    record = os.path.join(home.path, "record")
    server = exec_server(scene, "--record", record, home=home)
    process_id = server.left_running("cat", tty=True)
    server.stdin(process_id, "shown\n", quietMs=20)
    equal(server.program(process_id).interactions, ["shown\n"], "interactions")
    with open(record) as file:
        check("shown\\n" in file.read(), "it is not recorded")


if __name__ == "__main__":
    main()

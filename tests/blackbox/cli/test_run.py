"""The subcommand run: one command, confined, at the caller's pipes or in a terminal of its own."""

import contextlib
import ctypes
import errno
import fcntl
import hashlib
import os
import select
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import termios
import threading
import time

sys.path.insert(0, os.path.abspath(__file__ + "/../../.."))
from support.client import (
    PATH,
    PATIENCE,
    PROGRAM_MARK,
    PYTHON,
    Failure,
    carriers,
    check,
    command_line,
    equal,
    eventually,
    stat_of,
    wait_at_rest,
    wait_stalled,
    within,
)
from support.runner import main, test
from support.terminals import Terminal

MEGABYTES = 16
EXCHANGES_A_LOT = """
import sys
while block := sys.stdin.buffer.read1(1 << 16):
    sys.stdout.buffer.write(block)
    sys.stdout.buffer.flush()
"""


def environment(scene, **more):
    # The results of trials are kept below XDG_STATE_HOME, once for all tests.
    return {
        "PATH": PATH,
        "HOME": scene.path("home"),
        "XDG_STATE_HOME": os.path.join(os.path.dirname(scene.directory), "state"),
        "LC_ALL": "C.UTF-8",
        "TERM": "xterm",
        PROGRAM_MARK: scene.mark,
        **more,
    }


def workspace(scene):
    path = scene.path("work")
    os.makedirs(path, exist_ok=True)
    os.makedirs(scene.path("home"), exist_ok=True)
    return path


def words(scene, options, command):
    return [scene.command[0], "run", *options, "--", *command]


def program_word(scene):
    """Returns execward as a word of a shell: its path may contain blanks."""
    return shlex.quote(scene.command[0])


def start(scene, command, *options, env=None, **streams):
    streams = {"stdin": subprocess.DEVNULL, **streams}
    return subprocess.Popen(
        words(scene, options, command),
        cwd=workspace(scene),
        env=environment(scene, **(env or {})),
        **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **streams},
    )


def run(scene, command, *options, text="", env=None):
    """Runs it with pipes. Returns the output and the status."""
    child = start(scene, command, *options, env=env, stdin=subprocess.PIPE)
    try:
        output, errors = child.communicate(text.encode(), timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        child.kill()
        raise Failure("it does not end: %s" % command) from None
    return subprocess.CompletedProcess(
        command, child.returncode, output.decode(), errors.decode("utf-8", "replace")
    )


def shell(scene, script, *options, **more):
    return run(scene, ["sh", "-c", script], *options, **more)


def succeeds(scene, script, *options, **more):
    done = shell(scene, script, *options, **more)
    equal((done.returncode, done.stderr), (0, ""), "status and stderr of %s" % script)
    return done.stdout


@contextlib.contextmanager
def directory_outside():
    """Yields a directory that is neither in the workspace nor in /tmp."""
    path = tempfile.mkdtemp(prefix="blackbox-", dir="/var/tmp")
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)


class Caller(Terminal):
    def __init__(self, scene, command, *options, program=None, **more):
        arguments = program or words(scene, options, command)
        super().__init__(arguments, workspace(scene), environment(scene), **more)


def running(scene, line):
    """Returns the processes of the scene with this command line."""
    return [pid for pid in carriers(scene.mark) if command_line(pid) == line]


# Statuses


@test
def the_status_is_the_commands(scene):
    for status in (0, 1, 42, 255):
        equal(shell(scene, "exit %d" % status).returncode, status, "status")


@test
def a_signal_is_told_as_128_and_its_number(scene):
    for name, number in (("KILL", 9), ("TERM", 15), ("SEGV", 11), ("PIPE", 13)):
        equal(shell(scene, "kill -%s $$" % name).returncode, 128 + number, "status of " + name)


@test
def a_command_that_is_not_there_is_127(scene):
    for program in ("no-such-program", "/no/such/program", "./no"):
        done = run(scene, [program])
        equal((done.returncode, done.stdout), (127, ""), "status and output")
        check("execward: " in done.stderr and program in done.stderr, done.stderr)


@test
def a_command_that_cannot_be_executed_is_126(scene):
    workspace(scene)
    scene.file("work/text", "no program\n", 0o644)
    for program in ("./text", "/etc"):
        done = run(scene, [program])
        equal((done.returncode, done.stdout), (126, ""), "status of " + program)
        check("execward: " in done.stderr, done.stderr)


@test
def wrong_usage_is_125_and_nothing_runs(scene):
    for options in (
        ["--sandbox=none"],
        ["--writable=no-such-directory"],
        ["--directory=no-such-directory"],
        ["--what"],
        ["--deny-read="],
    ):
        done = run(scene, ["touch", "ran"], *options)
        equal((done.returncode, done.stdout), (125, ""), "status of %s" % options)
        check(done.stderr, "it says nothing")
    equal(os.listdir(scene.path("work")), [], "what is in the workspace")
    done = subprocess.run(
        [scene.command[0], "run"], env=environment(scene), capture_output=True, timeout=PATIENCE
    )
    equal(done.returncode, 125, "status without a command")


@test
def a_wrong_option_is_told_by_execward_with_a_way_to_its_help(scene):
    for words_of_it in (["--what"], ["--writable"], ["--quiet=yes"], ["-x"]):
        done = subprocess.run(
            [scene.command[0], "run", *words_of_it],
            env=environment(scene),
            capture_output=True,
            text=True,
            timeout=PATIENCE,
        )
        equal(done.returncode, 125, "status of %s" % words_of_it)
        lines = done.stderr.splitlines()
        check(all(line.startswith("execward: ") for line in lines), done.stderr)
        check("execward run --help" in lines[-1], done.stderr)


@test
def a_home_that_does_not_exist_is_not_made(scene):
    env = {**environment(scene), "HOME": scene.path("no", "home")}
    del env["XDG_STATE_HOME"]
    command = words(scene, ["--sandbox=read-only"], ["echo", "ran"])
    done = subprocess.run(
        command, cwd=workspace(scene), env=env, capture_output=True, text=True, timeout=PATIENCE
    )
    equal((done.returncode, done.stdout), (0, "ran\n"), "status and output")
    check(not os.path.lexists(scene.path("no")), "it was made")


@test
def help_names_every_option_and_status(scene):
    done = subprocess.run(
        [scene.command[0], "run", "--help"], capture_output=True, text=True, timeout=PATIENCE
    )
    equal((done.returncode, done.stderr), (0, ""), "status and stderr")
    for word in ("--sandbox", "--writable", "--deny-read", "--shared-tmp", "--exclude-tmp",
                 "--network", "--report-writes", "--best-effort", "--directory", "--quiet",
                 "125", "126", "127", "128+N"):  # fmt: skip
        check(word in done.stdout, "no " + word)


@test
def options_behind_the_command_belong_to_it(scene):
    equal(run(scene, ["echo", "--help", "--sandbox=x"]).stdout, "--help --sandbox=x\n", "output")


@test
def danger_full_access_runs_it_as_it_is(scene):
    with directory_outside() as outside:
        script = "echo x >%s/file; echo $0; exit 7" % outside
        done = shell(scene, script, "--sandbox=danger-full-access")
        equal((done.returncode, done.stdout), (7, "sh\n"), "status and output")
        equal(os.listdir(outside), ["file"], "files")
    equal(run(scene, ["no-such"], "--sandbox=danger-full-access").returncode, 127, "status")


# Pipes


@test
def stdout_and_stderr_stay_apart(scene):
    done = shell(scene, "echo out; echo err >&2; echo out")
    equal((done.stdout, done.stderr), ("out\nout\n", "err\n"), "streams")


@test
def much_passes_both_ways_byte_for_byte(scene):
    block = os.urandom(1 << 20)
    child = start(scene, [PYTHON, "-c", EXCHANGES_A_LOT], stdin=subprocess.PIPE)
    sent, got = hashlib.sha256(), hashlib.sha256()

    def send():
        for _ in range(MEGABYTES):
            sent.update(block)
            child.stdin.write(block)
        child.stdin.close()

    sender = threading.Thread(target=send, daemon=True)
    sender.start()
    while data := child.stdout.read1(1 << 16):
        got.update(data)
    equal(child.wait(PATIENCE), 0, "status")
    equal(got.hexdigest(), sent.hexdigest(), "digest")
    equal(child.stderr.read(), b"", "stderr")


@test
def the_end_of_stdin_is_passed_on(scene):
    equal(run(scene, ["cat"], text="a\n").stdout, "a\n", "output")
    equal(run(scene, ["wc", "-c"], text="").stdout, "0\n", "output without input")
    child = start(scene, ["cat"])
    equal(child.communicate(timeout=PATIENCE)[0], b"", "output with /dev/null")


@test
def output_of_the_last_moment_arrives(scene):
    for _ in range(10):
        done = shell(scene, "head -c 300000 /dev/zero; kill -KILL $$")
        equal((len(done.stdout), done.returncode), (300000, 137), "length and status")


@test
def a_reader_that_leaves_ends_the_writer(scene):
    child = start(scene, ["yes"])
    equal(child.stdout.readline(), b"y\n", "first line")
    child.stdout.close()
    equal(child.wait(PATIENCE), 128 + signal.SIGPIPE, "status")
    child.stderr.close()


@test
def a_writer_whose_reader_does_not_read_is_held_up(scene):
    script = "for i in range(3000): print('x' * 999); open('n', 'w').write(str(i))"
    child = start(scene, [PYTHON, "-u", "-c", script])
    path = scene.path("work", "n")
    eventually(lambda: os.path.exists(path), "the first write")
    written = None
    while written != (written := open(path).read()):
        time.sleep(0.3)  # until the number stays the same
    check(int(written or 0) < 1000, "nothing held it up: %s" % written)
    equal(len(child.communicate(timeout=PATIENCE)[0]), 3_000_000, "length of the output")


@test
def output_waits_for_its_reader_after_the_end(scene):
    child = start(scene, ["head", "-c", "200000", "/dev/zero"])
    # Longer than execward waits for a writer.
    wait_at_rest(child.pid, "a wait that costs no CPU time", 3)
    equal(len(child.communicate(timeout=PATIENCE)[0]), 200000, "length")
    equal(child.returncode, 0, "status")


@test
def what_a_command_leaves_of_a_file_is_left_for_the_next(scene):
    path = scene.file("input", "one\ntwo\nthree\n")
    script = 'while read line; do echo "$line"; %s run -- true; done <%s; %s run -- cat <%s' % (
        program_word(scene),
        shlex.quote(path),
        program_word(scene),
        shlex.quote(path),
    )
    done = subprocess.run(
        ["/bin/sh", "-c", script],
        cwd=workspace(scene),
        env=environment(scene),
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    equal((done.stdout, done.stderr), ("one\ntwo\nthree\n" * 2, ""), "output")


@test
def other_descriptors_are_not_passed_on(scene):
    path = scene.file("secret", "s")
    with open(path) as file:
        child = start(scene, ["ls", "/proc/self/fd"], pass_fds=[file.fileno()])
        equal(child.communicate(timeout=PATIENCE)[0].split(), [b"0", b"1", b"2", b"3"], "open")


@test
def a_full_disk_is_told(scene):
    with open("/dev/full", "w") as full:
        child = start(scene, ["sh", "-c", "yes"], stdout=full)
        _, errors = child.communicate(timeout=PATIENCE)
    equal(child.returncode, 128 + signal.SIGPIPE, "status")
    check(b"No space left" in errors, errors)


@test
def it_does_not_spin(scene):
    script = "exec sleep 1"
    child = start(scene, ["sh", "-c", script], stdin=subprocess.PIPE)
    child.wait(PATIENCE)
    child.communicate()
    used = os.times()
    before = used.children_user + used.children_system
    child = start(scene, ["sh", "-c", script], stdin=subprocess.PIPE)
    child.wait(PATIENCE)
    child.communicate()
    used = os.times()
    check(used.children_user + used.children_system - before < within(0.5), "CPU time")


# Ends


def started(scene, script, *options, **more):
    """Starts a command, and returns it after it has printed 'ready'."""
    child = start(scene, [PYTHON, "-u", "-c", script], *options, **more)
    equal(child.stdout.readline(), b"ready\n", "first line")
    return child


WAITS = "import signal; print('ready'); signal.pause()"
# Waits with blocked signals: a handler of Python runs late if its signal arrives just before pause().
SAYS_AND_LEAVES = """
import signal, sys
ends = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT}
signal.pthread_sigmask(signal.SIG_BLOCK, ends)
print("ready")
print("got", int(signal.sigwait(ends)))
sys.exit(5)
"""
SAYS_AND_STAYS = """
import signal
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
print("ready")
while True: print("got", int(signal.sigwait({signal.SIGINT})))
"""
IGNORES = """
import signal
for name in "INT TERM HUP QUIT".split():
    signal.signal(getattr(signal, "SIG" + name), signal.SIG_IGN)
print("ready")
while True: signal.pause()
"""


@test
def signals_are_passed_on(scene):
    for name in ("INT", "TERM", "HUP", "QUIT"):
        number = getattr(signal, "SIG" + name)
        child = started(scene, SAYS_AND_LEAVES)
        child.send_signal(number)
        output, _ = child.communicate(timeout=PATIENCE)
        equal((child.returncode, output), (5, b"got %d\n" % number), "status and output")


@test
def a_signal_that_ends_the_command_shows_in_the_status(scene):
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
        child = started(scene, WAITS)
        child.send_signal(number)
        child.communicate(timeout=PATIENCE)
        equal(child.returncode, 128 + number, "status")


@test
def a_command_that_ignores_signals_is_killed(scene):
    child = started(scene, IGNORES)
    began = time.monotonic()
    child.send_signal(signal.SIGTERM)
    child.communicate(timeout=PATIENCE)
    equal(child.returncode, 128 + signal.SIGKILL, "status")
    check(1.5 < time.monotonic() - began < within(20), "after %s" % (time.monotonic() - began))


@test
def the_second_signal_kills(scene):
    for _ in range(10):  # a busy machine may take longer, but not every time
        child = started(scene, SAYS_AND_STAYS)
        began = time.monotonic()
        child.send_signal(signal.SIGINT)
        equal(child.stdout.readline(), b"got 2\n", "what came of the first one")
        child.send_signal(signal.SIGINT)
        child.communicate(timeout=PATIENCE)
        equal(child.returncode, 128 + signal.SIGKILL, "status")
        took = time.monotonic() - began
        if took < 1.5:  # without the second signal it is killed after two seconds
            return
    raise Failure("it took %.1f s" % took)


SAVES_SLOWLY = """
import signal, sys, time
signal.signal(signal.SIGTERM, lambda number, frame: None)
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGHUP})
print("ready")
signal.sigwait({signal.SIGHUP})
time.sleep(0.5)
open("saved", "a").write("x")
sys.exit(5)
"""


@test
def a_hang_up_does_not_count_as_being_asked_again(scene):
    for more in ([signal.SIGHUP] * 2, [signal.SIGTERM], [signal.SIGTERM, signal.SIGHUP]):
        for _ in range(10):  # it has two seconds, which are sometimes too few on a busy machine
            child = started(scene, SAVES_SLOWLY)
            child.send_signal(signal.SIGHUP)
            for number in more:
                time.sleep(0.05)
                child.send_signal(number)
            child.communicate(timeout=PATIENCE)
            if child.returncode != 128 + signal.SIGKILL:
                break
        equal(child.returncode, 5, "status with %s" % more)


@test
def a_signal_that_the_caller_ignores_does_nothing(scene):
    child = started(
        scene, WAITS, preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN)
    )
    child.send_signal(signal.SIGHUP)
    time.sleep(0.3)
    check(child.poll() is None, "it ended")
    child.terminate()
    child.communicate(timeout=PATIENCE)


@test
def a_signal_ends_it_even_if_nobody_reads_its_output(scene):
    child = start(scene, ["yes"])
    check(select.select([child.stdout], [], [], PATIENCE)[0], "no output")
    time.sleep(0.5)  # until all pipes are full
    child.terminate()
    equal(child.wait(PATIENCE), 128 + signal.SIGTERM, "status")
    child.communicate()


@test
def an_end_in_the_first_moments_leaves_nothing(scene):
    # Orphans become children of this process from now on (prctl(2)).
    subreaper = 36
    equal(ctypes.CDLL(None).prctl(subreaper, 1, 0, 0, 0), 0, "prctl")
    succeeds(scene, "true")  # later runs use the results of this trial
    for i in range(80):
        child = start(scene, ["sleep", "1000"])
        time.sleep(0.003 + i * 0.0004)
        child.terminate()
        child.communicate(timeout=PATIENCE)

    def has_no_child():
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
            return False
        return True

    eventually(has_no_child, "the end of everything")
    succeeds(scene, "true")
    equal(os.listdir(scene.path("work")), [], "what is in the workspace")


@test
def nothing_outlives_the_command(scene):
    script = "(setsid sleep 1000 &) ; (setsid sleep 1000 >/dev/null 2>&1 </dev/null &); echo done"
    began = time.monotonic()
    equal(succeeds(scene, script), "done\n", "output")
    check(time.monotonic() - began < within(25), "it waited for what outlived it")
    equal(carriers(scene.mark), [], "processes left")


@test
def a_machine_without_namespaces_is_told_and_ends_what_it_can(scene):
    # A sandbox allows no further namespaces inside.
    inner = "HOME=/tmp XDG_STATE_HOME=/tmp %s run %%s -- sh -c '%%s'" % program_word(scene)
    leaves = "sleep 1000 >/dev/null 2>&1 & echo ran; exit 4"
    # A killed process stays visible for a moment.
    settles = "for i in $(seq 200); do ps -e -o comm= | grep -q ^sleep || break; sleep 0.1; done"
    listed = "; echo $?; %s; ps -e -o comm" % settles
    done = shell(scene, inner % ("--best-effort", leaves) + listed)
    if "execward-init" in done.stderr:
        print("skipped: execward-init cannot be trusted by this user in here")
        return
    equal(done.stdout.split()[:2], ["ran", "4"], "output and status")
    check("not guaranteed here: protectedPaths" in done.stderr, done.stderr)
    check("sleep" not in done.stdout.split(), done.stdout)


@test
def there_is_no_sandbox_in_a_sandbox(scene):
    inner = program_word(scene) + " run %s -- echo ran"
    with directory_outside() as outside:
        os.mkdir(os.path.join(outside, "execward"))  # it exists, and is hidden inside the sandbox
        env = {"XDG_CONFIG_HOME": outside}
        for options in ("", "--sandbox=read-only", "--best-effort"):
            done = shell(scene, inner % options, env=env)
            equal((done.returncode, done.stdout), (125, ""), "status and output with " + options)
            check("this is a sandbox of execward" in done.stderr, done.stderr)
            check("run the command as it is" in done.stderr, done.stderr)
        done = shell(scene, inner % "--sandbox=danger-full-access", env=env)
        equal((done.returncode, done.stdout), (0, "ran\n"), "status and output")


@test
def nothing_outlives_execward(scene):
    for options in ([], ["--sandbox=read-only"]):
        child = started(scene, IGNORES + "\n", *options)
        check(len(carriers(scene.mark)) >= 2, carriers(scene.mark))
        child.kill()
        child.wait(PATIENCE)
        eventually(lambda: not carriers(scene.mark), "the end of everything")
        child.communicate()


COUNTS_IN_A_FILE = """
import time
print("ready")
while True:
    time.sleep(0.01)
    open("n", "a").write("x")
"""


HAS_A_GROUP_IN_FRONT = """
import os, signal, time
signal.signal(signal.SIGTTOU, signal.SIG_IGN)
read, write = os.pipe()
child = os.fork()
if child == 0:
    os.setpgid(0, 0)
    os.tcsetpgrp(0, os.getpid())
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    inner = os.fork()
    if inner == 0:
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
        os.write(write, b"x")
        signal.sigwait({signal.SIGTERM})
        open("told", "w").close()
        while True: signal.pause()
    os.waitpid(inner, 0)
    os._exit(0)
signal.signal(signal.SIGTERM, signal.SIG_IGN)
os.read(read, 1)
print("ready")
os.waitpid(child, 0)
"""


@test
def a_signal_reaches_the_foreground_of_the_commands_terminal(scene):
    with Caller(scene, [PYTHON, "-u", "-c", HAS_A_GROUP_IN_FRONT]) as caller:
        caller.expect(b"ready")
        caller.wait_raw()
        os.kill(caller.pid, signal.SIGTERM)
        eventually(lambda: os.path.exists(scene.path("work", "told")), "the signal")
        caller.status()


@test
def a_stop_stops_the_command_and_it_goes_on(scene):
    child = started(scene, COUNTS_IN_A_FILE, process_group=0)
    path = scene.path("work", "n")
    eventually(lambda: os.path.exists(path), "the first write")
    child.send_signal(signal.SIGTSTP)
    eventually(lambda: stat_of(child.pid)[0] == "T", "a stop")
    before = wait_stalled(lambda: os.path.getsize(path), "it goes on while stopped", 0.3)
    child.send_signal(signal.SIGCONT)
    eventually(lambda: os.path.getsize(path) > before, "more")
    child.terminate()
    child.communicate(timeout=PATIENCE)
    equal(child.returncode, 128 + signal.SIGTERM, "status")


@test
def a_stop_that_nobody_could_end_does_not_happen(scene):
    child = started(scene, COUNTS_IN_A_FILE, start_new_session=True)
    path = scene.path("work", "n")
    child.send_signal(signal.SIGTSTP)
    eventually(lambda: os.path.exists(path) and os.path.getsize(path) > 5, "more")
    child.terminate()
    child.communicate(timeout=PATIENCE)


# The terminal


@test
def a_terminal_has_the_callers_size_and_follows_it(scene):
    script = (
        "trap 'stty size' WINCH; stty size; test -t 0 && test -t 1 && test -t 2 && echo terminal;"
        "while :; do sleep 0.05; done"
    )
    with Caller(scene, ["sh", "-c", script], size=(31, 97)) as caller:
        caller.expect(rb"31 97\r\nterminal\r\n")
        caller.resize(50, 120)
        caller.expect(rb"50 120\r\n")
        caller.send(b"\x03")
        equal(caller.status(), 128 + signal.SIGINT, "status")


@test
def ctrl_c_reaches_the_command_alone(scene):
    with Caller(scene, [PYTHON, "-u", "-c", SAYS_AND_LEAVES]) as caller:
        caller.expect(b"ready")
        caller.wait_raw()
        caller.send(b"\x03")
        caller.expect(b"got 2")
        equal(caller.status(), 5, "status")


@test
def the_terminal_is_the_commands_controlling_one(scene):
    script = "echo to-tty >/dev/tty; tty; ps -o tpgid= -p $$ | tr -d ' '; echo $$"
    with Caller(scene, ["sh", "-c", script]) as caller:
        caller.expect(rb"to-tty\r\n/dev/")
        equal(caller.status(), 0, "status")


@test
def job_control_works(scene):
    with Caller(scene, ["bash", "--norc", "--noprofile", "-i"]) as caller:
        caller.send(b"PS1='%'; echo rea''dy\r")
        caller.expect(rb"ready\r\n")
        check(b"no job control" not in caller.seen, caller.seen)
        caller.send(b"sleep 1000\r")
        sleeper = eventually(lambda: running(scene, "sleep 1000"), "the command")[0]
        caller.send(b"\x1a")
        caller.expect(b"Stopped")
        check(stat_of(caller.pid)[0] != "T", "execward was stopped")
        caller.send(b"jobs; fg\r")
        caller.expect(rb"sleep 1000.*sleep 1000")
        eventually(lambda: stat_of(sleeper)[0] != "T", "the command in front again")
        caller.send(b"\x03")
        caller.send(b"echo st''atus $?\r")
        caller.expect(rb"status 130")
        caller.send(b"exit 4\r")
        equal(caller.status(), 4, "status")


def stopped(scene):
    return [pid for pid in carriers(scene.mark) if stat_of(pid)[0] == "T"]


@test
def ctrl_z_stops_a_command_and_fg_goes_on_with_it(scene):
    workspace(scene)
    command = program_word(scene) + " run -- sh -c 'echo rea''dy; read x; echo got-$x; exit 6'"
    for line in (command, "sh -c " + shlex.quote(command + "; exit $?")):
        with Caller(scene, None, program=["/bin/bash", "--norc", "--noprofile", "-i"]) as caller:
            caller.send(b"PS1='%%'; %s\r" % line.encode())
            caller.expect(rb"ready\r\n")
            caller.wait_raw()
            caller.send(b"\x1a")
            caller.expect(b"Stopped")
            own = "sh -c echo ready; read x; echo got-$x; exit 6"
            eventually(lambda: set(running(scene, own)) & set(stopped(scene)), "a stopped command")
            caller.send(b"echo typed-to-sh''ell\r")
            caller.expect(rb"typed-to-shell\r\n")
            caller.send(b"fg\r")
            caller.expect(rb"fg\r\n")
            caller.wait_raw()
            eventually(lambda: not stopped(scene), "the command in front again")
            caller.send(b"hello\r")
            caller.expect(rb"got-hello\r\n.*%")
            caller.send(b"echo st''atus $?\r")
            caller.expect(b"status 6")
            caller.send(b"exit\r")
            caller.status()


HANDLES_CTRL_Z = """
import signal, sys
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTSTP})
print("ready")
print("got", int(signal.sigwait({signal.SIGTSTP})))
"""
READS_KEYS = """
import os, tty
tty.setraw(0)
os.write(1, b"ready")
print("got", os.read(0, 9))
"""


@test
def ctrl_z_is_left_to_a_command_that_handles_it(scene):
    for script, got in ((HANDLES_CTRL_Z, rb"got 20"), (READS_KEYS, rb"got b'\\x1a'")):
        with Caller(scene, [PYTHON, "-u", "-c", script]) as caller:
            caller.expect(b"ready")
            caller.wait_raw()
            caller.send(b"\x1a")
            caller.expect(got)
            equal(caller.status(), 0, "status")


PUSHES_INPUT = """
import fcntl, termios
try:
    fcntl.ioctl(0, termios.TIOCSTI, b"x")
    print("pushed")
except OSError as error:
    print("refused", error.errno)
"""


@test
def input_cannot_be_pushed_into_the_terminal(scene):
    with Caller(scene, [PYTHON, "-c", PUSHES_INPUT]) as caller:
        equal(int(caller.expect(rb"refused (\d+)").group(1)), errno.EPERM, "errno")
        equal(caller.status(), 0, "status")


@test
def the_terminal_works_like_the_callers(scene):
    def with_other_keys(slave, settings):
        settings[6][termios.VERASE] = b"#"
        settings[6][termios.VINTR] = b"!"
        termios.tcsetattr(slave, termios.TCSANOW, settings)

    command = ["sh", "-c", "echo ready; cat"]
    with Caller(scene, command, before=with_other_keys) as caller:
        caller.expect(b"ready")
        caller.wait_raw()
        caller.send(b"ax#b\r")
        caller.expect(rb"\r\nab\r\n")
        caller.send(b"!")
        equal(caller.status(), 128 + signal.SIGINT, "status")


@test
def the_callers_settings_come_back(scene):
    with Caller(scene, ["sh", "-c", "stty raw -echo; echo ready; sleep 1000"]) as caller:
        caller.expect(b"ready")
        caller.wait_raw()
        os.kill(caller.pid, signal.SIGTERM)
        equal(caller.status(), 128 + signal.SIGTERM, "status")
        equal(caller.now(), caller.settings, "settings after SIGTERM")
    with Caller(scene, ["sh", "-c", "stty raw -echo; exit 3"]) as caller:
        equal(caller.status(), 3, "status")
        equal(caller.now(), caller.settings, "settings after the end")
    with Caller(scene, ["no-such-program"]) as caller:
        equal(caller.status(), 127, "status")
        equal(caller.now(), caller.settings, "settings after a failure")


@test
def a_shell_that_ignores_it_is_ended_with_its_terminal(scene):
    with Caller(scene, [PYTHON, "-u", "-c", IGNORES]) as caller:
        caller.expect(b"ready")
        caller.wait_raw()
        os.kill(caller.pid, signal.SIGHUP)
        equal(caller.status(), 128 + signal.SIGKILL, "status")
        equal(caller.now(), caller.settings, "settings")


@test
def a_terminal_that_is_closed_ends_the_command(scene):
    with Caller(scene, [PYTHON, "-u", "-c", WAITS]) as caller:
        caller.expect(b"ready")
        caller.wait_raw()
        os.close(caller.slave)
        os.close(caller.master)
        caller.slave = caller.master = -1
        eventually(lambda: not carriers(scene.mark), "the end of everything")


@test
def a_command_whose_terminal_is_closed_has_time_to_save(scene):
    for _ in range(10):  # it has two seconds, which are sometimes too few on a busy machine
        status = status_after_its_terminal(scene, SAVES_SLOWLY)
        if status != 128 + signal.SIGKILL:
            break
    equal(status, 5, "status")
    check(os.path.exists(scene.path("work", "saved")), "it was not saved")


def status_after_its_terminal(scene, script):
    with Caller(scene, [PYTHON, "-u", "-c", script]) as caller:
        caller.expect(b"ready")
        caller.wait_raw()
        os.close(caller.slave)
        os.close(caller.master)
        caller.slave = caller.master = -1

        def ended():
            pid, status = os.waitpid(caller.pid, os.WNOHANG)
            return pid and (status,)

        (status,) = eventually(ended, "the end")
        caller.pid = 0
        return os.waitstatus_to_exitcode(status)


COUNTS = """
import hashlib, os, sys, termios, tty
tty.setraw(0)
os.write(1, b"ready")
digest, left = hashlib.sha256(), int(sys.argv[1])
while left:
    data = os.read(0, min(left, 65536))
    digest.update(data)
    left -= len(data)
print(digest.hexdigest(), end="\\r\\n")
"""


@test
def a_large_paste_arrives_whole(scene):
    text = bytes(i * 31 % 251 for i in range(300_000))
    with Caller(scene, [PYTHON, "-c", COUNTS, str(len(text))]) as caller:
        caller.expect(b"ready")
        caller.wait_raw()
        threading.Thread(target=caller.send, args=(text,), daemon=True).start()
        digest = caller.expect(rb"([0-9a-f]{64})").group(1).decode()
        equal(digest, hashlib.sha256(text).hexdigest(), "digest")
        equal(caller.status(), 0, "status")


@test
def much_output_and_the_last_of_it_arrive(scene):
    script = "i=0; while [ $i -lt 20000 ]; do echo line-$i; i=$((i+1)); done"
    with Caller(scene, ["sh", "-c", script]) as caller:
        end = time.monotonic() + PATIENCE
        while b"line-19999\r\n" not in caller.seen:
            check(time.monotonic() < end, "the end does not come")
            caller.read(0.05)
        equal(caller.status(), 0, "status")
        want = b"".join(b"line-%d\r\n" % i for i in range(20000))
        equal(caller.seen, want, "output")


@test
def what_is_redirected_is_no_terminal(scene):
    command = "%s run -- sh -c 'test -t 0 || echo input; test -t 1 || echo output' >%s"
    path = scene.path("out")
    workspace(scene)
    program = ["/bin/sh", "-c", command % (program_word(scene), shlex.quote(path))]
    with Caller(scene, None, program=program) as caller:
        equal(caller.status(), 0, "status")
        equal(open(path).read(), "input\noutput\n", "output")
        equal(caller.now(), caller.settings, "settings")


@test
def a_stream_that_is_redirected_stays_apart_from_the_terminal(scene):
    path = scene.path("errors")
    workspace(scene)
    command = "%s run -- sh -c 'echo out; echo err >&2; cat' 2>%s" % (
        program_word(scene),
        shlex.quote(path),
    )
    with Caller(scene, None, program=["/bin/sh", "-c", command]) as caller:
        caller.expect(b"out")
        caller.send(b"typed\r")
        caller.expect(rb"typed\r\ntyped\r\n")
        caller.send(b"\x04")
        equal(caller.status(), 0, "status")
        equal(open(path).read(), "err\n", "stderr")


@test
def ctrl_c_and_ctrl_z_work_with_a_redirected_stream(scene):
    workspace(scene)
    with Caller(scene, None, program=["/bin/bash", "--norc", "--noprofile", "-i"]) as caller:
        caller.send(b"PS1='%%'; %s run -- sh -c 'echo rea''dy; exec sleep 1000' | cat\r"
                    % program_word(scene).encode())  # fmt: skip
        caller.expect(rb"ready\r\n")
        caller.send(b"\x1a")
        caller.expect(b"Stopped")
        caller.send(b"fg\r")
        caller.expect(rb"fg\r\n.*\| cat\r\n")
        eventually(
            lambda: not [pid for pid in carriers(scene.mark) if stat_of(pid)[0] == "T"],
            "the command in front again",
        )
        caller.send(b"\x03")
        caller.expect(rb"\^C.*%")
        caller.send(b"echo st''atus ${PIPESTATUS[0]}\r")
        caller.expect(b"status 130")
        caller.send(b"exit\r")
        caller.status()


@test
def it_runs_in_the_background_of_a_shell(scene):
    workspace(scene)
    with Caller(scene, None, program=["/bin/bash", "--norc", "--noprofile", "-i"]) as caller:
        caller.send(b"PS1='%%'; %s run -- sh -c 'echo from-ba''ck; read x; echo got-$x; exit 6' &\r"
                    % program_word(scene).encode())  # fmt: skip
        caller.expect(rb"from-back\r+\n")
        caller.send(b"echo typed-to-sh''ell\r")
        caller.expect(rb"typed-to-shell\r\n")
        caller.send(b"fg\r")
        caller.expect(rb"fg\r\n")
        caller.wait_raw()
        caller.send(b"hello\r")
        caller.expect(rb"got-hello\r\n.*%")
        caller.send(b"echo st''atus $?\r")
        caller.expect(b"status 6")
        caller.send(b"exit\r")
        caller.status()


@test
def a_command_from_the_background_has_a_usual_terminal(scene):
    workspace(scene)
    with Caller(scene, None, program=["/bin/bash", "--norc", "--noprofile", "-i"]) as caller:
        caller.send(b"PS1='%%'; %s run -- sh -c 'echo from-ba''ck; exec cat' &\r"
                    % program_word(scene).encode())  # fmt: skip
        caller.expect(rb"from-back\r+\n")
        caller.send(b"fg\r")
        caller.expect(rb"fg\r\n.*exec cat'\r\n")
        caller.wait_raw()
        caller.send(b"abx\x7fc\r")
        caller.expect(rb"\r\nabc\r\n")
        caller.send(b"\x04")
        caller.expect(b"%")
        caller.send(b"echo st''atus $?; stty -a\r")
        told = caller.expect(rb"status (\d+)\r\n.*isig icanon iexten echo ")
        equal(told[1], b"0", "the status; before it: %r" % told[0][:300])
        caller.send(b"exit\r")
        caller.status()


@test
def a_command_that_closes_its_terminal_goes_on(scene):
    script = """
trap "echo > hung-up" HUP
exec <&- >&- 2>&-
echo > closed
until [ -e go ]; do sleep 0.05; done
exit 7"""
    with Caller(scene, ["sh", "-c", script]) as caller:
        eventually(lambda: os.path.exists(scene.path("work", "closed")), "a closed terminal")
        wait_at_rest(caller.pid, "execward run")
        open(scene.path("work", "go"), "w").close()
        equal(caller.status(), 7, "the status")
        check(not os.path.exists(scene.path("work", "hung-up")), "it got SIGHUP")


# Confinement


@test
def what_is_outside_cannot_be_written_and_what_is_inside_can(scene):
    with directory_outside() as outside:
        script = "echo in >inside; cat inside; echo out >%s/file" % outside
        done = shell(scene, script)
        check(done.returncode != 0 and "Read-only" in done.stderr, done.stderr)
        equal(done.stdout, "in\n", "output")
        equal(os.listdir(outside), [], "files outside")
        check(os.path.exists(scene.path("work", "inside")), "nothing inside")
        equal(succeeds(scene, "echo x >%s/file" % outside, "--writable=" + outside), "", "output")
        equal(os.listdir(outside), ["file"], "files of --writable")


@test
def a_place_of_the_workspace_can_be_kept_read_only(scene):
    for name in ("kept", "own/kept"):
        os.makedirs(os.path.join(workspace(scene), name))
    script = "for d in kept own/kept own .; do (echo > $d/x) 2>/dev/null && echo $d; done"
    options = ("--read-only=kept", "--read-only=./own/kept")
    equal(succeeds(scene, script + "; true", *options), "own\n.\n", "what can be written")


@test
def tools_have_a_cache_of_the_run(scene):
    script = 'mkdir -p "$GOCACHE" "$npm_config_cache" && echo "$GOCACHE $npm_config_cache"'
    equal(succeeds(scene, script), "/tmp/.caches/go-build /tmp/.caches/npm\n", "caches")


@test
def read_only_writes_nothing_but_its_own_tmp(scene):
    done = shell(scene, "echo x >file", "--sandbox=read-only")
    check(done.returncode != 0, "it could write")
    equal(os.listdir(scene.path("work")), [], "files")


@test
def tmp_is_its_own(scene):
    name = "blackbox-" + scene.mark[:8]
    script = "echo $TMPDIR; f=$(mktemp) && echo ok; touch /tmp/%s; ls /tmp" % name
    lines = succeeds(scene, script, env={"TMPDIR": scene.directory}).split()
    equal(lines[:2], ["/tmp", "ok"], "TMPDIR and mktemp")
    check(name in lines, lines)
    check(not os.path.exists("/tmp/" + name), "the machine has it")


# A sandbox that may write in /tmp protects the repositories of all tests.
@test(alone=True)
def tmp_is_the_machines_by_choice(scene):
    path = "/tmp/blackbox-" + scene.mark[:8]
    env = {"TMPDIR": "/tmp"}
    try:
        equal(succeeds(scene, "touch " + path, "--shared-tmp", "--quiet", env=env), "", "output")
        check(os.path.exists(path), "the machine does not have it")
        done = shell(scene, "rm " + path, "--shared-tmp", "--exclude-tmp", env=env)
        check(done.returncode != 0 and os.path.exists(path), "an excluded /tmp was written")
    finally:
        with contextlib.suppress(OSError):
            os.unlink(path)


# Each protects the repositories of the other one, with placeholders that come and go.
@test(alone=True)
def runs_that_share_tmp_do_not_disturb_each_other(scene):
    os.makedirs(scene.path("home"))
    failures = []

    def run_often(name):
        directory = scene.path(name)
        subprocess.run(["git", "init", "-q", directory], check=True)
        env = environment(scene, XDG_STATE_HOME=scene.path("state-" + name), TMPDIR="/tmp")
        for _ in range(20):
            done = subprocess.run(
                words(scene, ["--shared-tmp", "--quiet"], ["echo", name]), cwd=directory, env=env,
                stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE,
            )
            if (done.returncode, done.stdout) != (0, name + "\n"):
                failures.append((done.returncode, done.stdout, done.stderr))

    threads = [threading.Thread(target=run_often, args=(name,)) for name in ("a", "b")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    equal(failures, [], "statuses and stderr")


@test
def the_directory_is_the_workspace(scene):
    workspace(scene)
    other = scene.path("other")
    os.mkdir(other)
    equal(succeeds(scene, "pwd; echo x >file", "--directory=" + other), other + "\n", "directory")
    equal(os.listdir(other), ["file"], "files")
    done = shell(scene, "echo x >%s/file" % scene.path("work"), "--directory=" + other)
    check(done.returncode != 0, "it could write where it was called")


@test
def a_link_that_an_earlier_command_has_made_opens_nothing_unseen(scene):
    with directory_outside() as outside:
        succeeds(scene, "ln -s %s out" % outside)
        done = shell(scene, "echo x >%s/file" % outside, "--writable=out")
        check(done.returncode != 0, "it was opened")
        check(outside in done.stderr or "link" in done.stderr, done.stderr)
        equal(os.listdir(outside), [], "files outside")
        done = shell(scene, "true", "--directory=out")
        check("--directory out is a link" in done.stderr and outside in done.stderr, done.stderr)
        equal(shell(scene, "true", "--directory=out", "--quiet").stderr, "", "stderr with --quiet")


@test
def what_is_denied_cannot_be_read(scene):
    workspace(scene)
    scene.file("work/secret/key", "the-secret")
    scene.file("work/a.pem", "the-secret")
    scene.file("work/open", "readable")
    script = "cat open secret/key a.pem; ls secret"
    done = shell(scene, script, "--deny-read=secret", "--deny-read=*.pem")
    check("the-secret" not in done.stdout and "readable" in done.stdout, done.stdout)
    done = shell(scene, "cat secret/key", "--deny-read=" + scene.path("work/secret/key"))
    check("the-secret" not in done.stdout and done.returncode != 0, done.stdout)


@test
def what_the_settings_deny_cannot_be_read_either(scene):
    path = scene.file("work/key", "the-secret")
    config = scene.file("config.toml", '[confinement]\ndeny_read = ["%s"]\n' % path, 0o600)
    done = shell(scene, "cat key", env={"EXECWARD_CONFIG": config})
    check("the-secret" not in done.stdout and done.returncode != 0, done.stdout)
    done = shell(scene, "cat " + config, "--directory=" + scene.directory,
                 env={"EXECWARD_CONFIG": config})  # fmt: skip
    check("deny_read" not in done.stdout, "the settings could be read")
    scene.file("config.toml", "nonsense", 0o600)
    equal(shell(scene, "true", env={"EXECWARD_CONFIG": config}).returncode, 125, "status")


@test
def execwards_own_files_are_out_of_reach(scene):
    workspace(scene)
    scene.file("home/.config/execward/config.toml", "# the-secret\n", 0o600)
    succeeds(scene, "true")
    env = {"XDG_CONFIG_HOME": scene.path("home", ".config")}
    path = scene.path("home", ".config", "execward")
    options = ["--directory=" + scene.path("home")]
    done = shell(scene, "cat %s/config.toml; echo x >%s/y" % (path, path), *options, env=env)
    check("the-secret" not in done.stdout, "it could be read")
    equal(os.listdir(path), ["config.toml"], "files")


CONNECTS = """
import socket, sys
for _ in range(int(sys.argv[3])):
    try:
        socket.create_connection((sys.argv[1], int(sys.argv[2])), 5)
        print("connected")
    except OSError as error:
        print(error.errno)
"""


@test
def a_refused_connection_is_told_with_the_option_that_allows_it(scene):
    done = run(scene, [PYTHON, "-c", CONNECTS, "192.0.2.7", "443", "3"])
    equal(done.stdout, "%d\n" % errno.ENETUNREACH * 3, "errors")
    lines = [line for line in done.stderr.splitlines() if "192.0.2.7:443" in line]
    equal(len(lines), 1, "lines")
    check(lines[0].startswith("execward: ") and "3 times" in lines[0], lines)
    check("--network" in lines[0], lines)
    done = run(scene, [PYTHON, "-c", CONNECTS, "192.0.2.7", "443", "1"], "--quiet")
    equal(done.stderr, "", "stderr with --quiet")


@test
def the_network_is_there_by_choice(scene):
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = str(server.getsockname()[1])
        done = run(scene, [PYTHON, "-c", CONNECTS, "127.0.0.1", port, "1"])
        check("connected" not in done.stdout, "it reached the machine")
        done = run(scene, [PYTHON, "-c", CONNECTS, "127.0.0.1", port, "1"], "--network")
        equal((done.stdout, done.stderr), ("connected\n", ""), "output")


@test
def a_refused_write_is_told_by_choice(scene):
    with directory_outside() as outside:
        script = "echo x >%s/file" % outside
        for policy in ("on-request", "on-failure"):
            done = shell(scene, script, "--approval-policy=" + policy)
            check("execward: " not in done.stderr, "it was told unasked")
        done = shell(scene, script, "--report-writes")
        lines = [line for line in done.stderr.splitlines() if line.startswith("execward: ")]
        check(len(lines) == 1 and outside in lines[0] and "--writable" in lines[0], done.stderr)


@test
def what_would_allow_a_write_is_no_home_directory(scene):
    with directory_outside() as home:
        script = "mkdir -p ~; mkdir ~/.npm; echo x >~/.gitconfig"
        done = shell(scene, script, "--report-writes", env={"HOME": home})
        ways = [line for line in done.stderr.splitlines() if line.startswith("execward: ")]
        equal(
            ways,
            [
                "execward: refused: mkdir {0} (--writable={0} allows it, once it exists)".format(
                    home + "/.npm"
                ),
                "execward: refused: open %s/.gitconfig (nothing allows it)" % home,
            ],
            "what was told",
        )


@test
def what_was_moved_aside_is_told_with_the_way_back(scene):
    done = shell(scene, "mkdir .codex && echo x >.codex/config.toml")
    lines = [line for line in done.stderr.splitlines() if line.startswith("execward: ")]
    check(len(lines) == 1 and "moved aside" in lines[0] and "mv -nT" in lines[0], done.stderr)
    check(not os.path.lexists(workspace(scene) + "/.codex"), "it is still there")


@test
def refusals_are_told_after_the_terminal_is_itself_again(scene):
    with Caller(scene, [PYTHON, "-c", CONNECTS, "192.0.2.7", "443", "1"]) as caller:
        caller.expect(rb"execward: refused[^\r\n]*192.0.2.7:443[^\r\n]*\r\n")
        equal(caller.status(), 0, "status")


@test
def no_litter_is_left(scene):
    work = workspace(scene)
    succeeds(scene, "true")
    equal(os.listdir(work), [], "what is in the workspace")
    subprocess.run(["git", "init", "-q", work], check=True, env=environment(scene))
    before = sorted(os.listdir(work))
    succeeds(scene, "echo x >a && git add a && git -c user.name=x -c user.email=x commit -qm x")
    equal(sorted(os.listdir(work)), sorted([*before, "a"]), "what is in the workspace")
    equal(succeeds(scene, "git status --porcelain"), "", "status of git")


@test
def what_a_killed_execward_leaves_is_taken_away_by_the_next(scene):
    work = workspace(scene)
    child = started(scene, WAITS)
    child.kill()
    child.communicate(timeout=PATIENCE)
    eventually(lambda: not carriers(scene.mark), "the end of everything")
    succeeds(scene, "true")
    equal(os.listdir(work), [], "what is in the workspace")


@test
def programs_that_need_much_work(scene):
    script = (
        "import asyncio, multiprocessing\n"
        "async def f():\n"
        "    p = await asyncio.create_subprocess_exec('true'); return await p.wait()\n"
        "if __name__ == '__main__':\n"
        "    print(asyncio.run(f()), multiprocessing.Pool(2).map(abs, [-1, 2]))\n"
    )
    workspace(scene)
    scene.file("work/f.py", script)
    done = run(scene, [PYTHON, "f.py"])
    equal((done.stdout, done.stderr), ("0 [1, 2]\n", ""), "output")


if __name__ == "__main__":
    main()

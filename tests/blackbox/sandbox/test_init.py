"""execward-init by itself: it gets orders, inside bubblewrap if it has to be the first process, and
outside if it becomes the command."""

import array
import contextlib
import ctypes
import fcntl
import json
import os
import pty
import re
import select
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.abspath(__file__ + "/../../.."))
from support.client import PATH, PATIENCE, check, equal
from support.runner import main, test

HEADER = struct.Struct("=QIIQIIIIIIIIII")  # src/sandbox/init/order_format.h
MAGIC, VERSION = 0x726564726F2D7765, 6
TERMINAL, FIRST, SCOPES, LISTENER, MOUNTS, MAY_LACK_PROC = 1, 2, 4, 8, 16, 32
PLACE, WRITABLE, READ_ONLY, HIDDEN, OWN = range(5)

RECORD = struct.Struct("=IIqI4x")  # src/sandbox/init/wire.h
APPLIED, FAILED = 4, 5
STEPS = [
    "order", "process", "session", "terminal", "limits", "directory", "capabilities",
    "privileges", "mounts", "landlock", "filter", "report", "exec",
]  # fmt: skip

SEALS = fcntl.F_SEAL_SEAL | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_WRITE
ALLOW, NOTIFY, REFUSE = 0x7FFF0000, 0x7FC00000, 0x00050001
GETPPID = {"x86_64": 110, "aarch64": 173}[os.uname().machine]


def order(argv, **wish):
    """Returns the bytes of an order; see src/sandbox/plan/init_order.h for the names."""
    programs = wish.get("programs", argv[:1])
    lists = [programs, argv, wish.get("environment", ["PATH=" + PATH]), wish.get("writable", [])]
    expected = wish.get("expected", [])
    lists += [wish.get("device_writable", []), [path for _, path, _ in expected]]
    lists.append(wish.get("submounts", []))
    limits, rules = wish.get("limits", []), wish.get("rules", [])
    fixed = b"".join(struct.pack("=QQQ", *limit) for limit in limits)
    for kind, _, (device, inode) in expected:
        fixed += struct.pack("=QQQII", device, inode, 0, kind, 0)
    fixed += b"".join(struct.pack("=HBBI", *rule) for rule in rules)
    slots, texts = [], b""
    alone = [wish.get("directory", "/"), wish.get("script", "")]  # in no list
    for number, list_ in enumerate([*lists, alone]):
        if number == 1:
            slots.append(None)  # for a shell
        for text in list_:
            slots.append(len(texts))
            texts += os.fsencode(text) + b"\0"
        slots.append(None)
    slots.pop()  # nothing ends these
    begin = HEADER.size + len(fixed) + 8 * len(slots)
    places = b"".join(struct.pack("=Q", 0 if s is None else begin + s) for s in slots)
    flags = wish.get("flags", FIRST | SCOPES)
    counts = [len(limits), len(rules), *map(len, lists)]
    size = begin + len(texts)
    head = HEADER.pack(MAGIC, VERSION, flags, size, wish.get("landlock", 0), *counts)
    return head + fixed + places + texts


def expect(kind, path, like=None):
    """Expects the path to be the file that `like` is outside."""
    status = os.stat(like or path)
    return kind, path, (status.st_dev, status.st_ino)


def shell(script, **wish):
    return order(["sh", "-c", script], programs=["/bin/sh"], **wish)


def filter_for(action):
    """Applies the action to getppid(2), and allows everything else."""
    return [(0x20, 0, 0, 0), (0x15, 0, 1, GETPPID), (0x06, 0, 0, action), (0x06, 0, 0, ALLOW)]


def program_of(scene):
    """Returns the path of execward-init: beside execward, or where the installed one finds it."""
    beside = os.path.join(os.path.dirname(os.path.abspath(scene.command[0])), "execward-init")
    if os.path.exists(beside):
        return beside
    found = subprocess.run([scene.command[0], "doctor", "--json"], capture_output=True, check=False)
    return json.loads(found.stdout)["init"]


class Run:
    """One start, until all its descriptors are closed."""

    def __init__(self, scene, order, **options):
        self.records, self.output, self.told_end = [], b"", b""
        self.listener = self.leader = self.terminal = None
        self.on_applied = options.get("on_applied")
        command = options.get("around", []) + [options.get("init") or program_of(scene)]
        with contextlib.ExitStack() as self.open_here:
            self.start(command, order, options)
            self.read()
            self.status = self.child.wait(PATIENCE)

    def keep(self, fd):
        self.open_here.callback(os.close, fd)
        return fd

    def start(self, command, order, options):
        self.ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.open_here.enter_context(self.ours)
        self.ours.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        end, end_there = os.pipe()
        self.end = self.keep(end)
        memory = os.memfd_create("order", os.MFD_ALLOW_SEALING | os.MFD_CLOEXEC)
        os.write(memory, order)
        fcntl.fcntl(memory, fcntl.F_ADD_SEALS, options.get("seals", SEALS))
        out, out_there = pty.openpty() if options.get("has_terminal") else os.pipe()
        self.out = self.keep(out)
        stdin = out_there if options.get("has_terminal") else subprocess.DEVNULL
        # Keeps clear of the numbers that the descriptors get in the child.
        handed = (theirs.fileno(), end_there, memory)
        high = [fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 100) for fd in handed]

        def take_descriptors():
            os.setsid()
            for place, fd in enumerate(high, 3):
                os.dup2(fd, place)

        self.child = subprocess.Popen(
            command, stdin=stdin, stdout=out_there, stderr=out_there, env={}, close_fds=False,
            preexec_fn=take_descriptors,
        )  # fmt: skip
        theirs.close()
        for fd in (end_there, memory, out_there, *high):
            os.close(fd)

    def read(self):
        sources = {self.out: self.take_output, self.end: self.take_end}
        sources[self.ours.fileno()] = self.take_record
        limit = time.monotonic() + PATIENCE
        while sources:
            ready, _, _ = select.select(list(sources), [], [], max(0, limit - time.monotonic()))
            if not ready:
                self.child.kill()
                raise AssertionError("still open; so far %r %r" % (self.records, self.output))
            for fd in ready:
                if not sources[fd]():
                    del sources[fd]

    def take_record(self):
        data, ancillary, _, _ = self.ours.recvmsg(40000, 512)
        if not data:
            return False
        kind, step, value, size = RECORD.unpack(data[: RECORD.size])
        equal(len(data), RECORD.size + size, "size of the packet")
        for _, what, content in ancillary:
            if what == socket.SCM_RIGHTS:
                self.listener = self.keep(array.array("i", content)[0])
            elif what == socket.SCM_CREDENTIALS:
                self.leader = struct.unpack("=III", content)[0]
        if kind == FAILED:
            self.records.append((STEPS[step], value, os.fsdecode(data[RECORD.size :])))
        else:
            equal(kind, APPLIED, "kind of record")
            self.records.append("applied")
            if self.on_applied:
                self.on_applied(self)
        return True

    def take_output(self):
        with contextlib.suppress(OSError):  # the end of a terminal
            data = os.read(self.out, 65536)
            self.output += data
            return bool(data)
        return False

    def take_end(self):
        data = os.read(self.end, 16)
        self.told_end += data
        return bool(data)

    def wait_status(self):
        return struct.unpack("=i", self.told_end)[0] if self.told_end else None

    def text(self):
        return self.output.decode().replace("\r\n", "\n")


def bubblewrap(scene, *more):
    """Returns the command that makes execward-init the first process of a pid namespace, or None if
    this machine cannot do it.
    """
    program = shutil.which("bwrap", path=PATH)
    around = [program, "--unshare-user", "--unshare-pid", "--as-pid-1", "--die-with-parent",
              "--cap-drop", "ALL", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc",
              "--bind", scene.directory, scene.directory, *more, "--"]  # fmt: skip
    options = {"env": {"PATH": PATH}, "capture_output": True}
    if program and subprocess.run([*around, "true"], **options).returncode == 0:
        return around
    print("not tried: bubblewrap does not work here")
    return None


def first_process(scene, order, *more, **options):
    around = bubblewrap(scene, *more)
    return Run(scene, order, around=around, **options) if around else None


def has_landlock():
    libc = ctypes.CDLL(None)
    version = libc.syscall(444, None, 0, 1)  # landlock_create_ruleset(2), the version
    if version < 3:
        print("not tried: no Landlock with truncate here")
    return version >= 3


@test
def damaged_orders_are_not_run(scene):
    good = shell("echo ran", flags=0)

    foreign = good[:8] + b"\xff" + good[9:]  # the version
    for bad in (b"", good[:-1], good[:40], bytes(len(good)), good + b"\0", foreign):
        run = Run(scene, bad)
        equal(run.records, [("order", 74, "")], "records")  # EBADMSG
        equal((run.status, run.output, run.told_end), (125, b"", b""), "what came of it")
    equal(Run(scene, good).text(), "ran\n", "output of the sound one")


@test
def orders_that_somebody_could_still_change_are_not_run(scene):
    for seals in (0, SEALS & ~fcntl.F_SEAL_WRITE, SEALS & ~fcntl.F_SEAL_SHRINK):
        run = Run(scene, shell("echo ran", flags=0), seals=seals)

        equal(run.records, [("order", 1, "")], "records")  # EPERM
        equal(run.output, b"", "output")


LOOK = """
import os
fds = [int(fd) for fd in os.listdir("/proc/self/fd") if os.path.exists("/proc/self/fd/" + fd)]
status = dict(line.split(":", 1) for line in open("/proc/self/status"))
names = ("CapInh", "CapPrm", "CapEff", "CapAmb", "SigBlk", "NoNewPrivs")
bits = [int(status[name], 16) for name in names]
print(sorted(fds), bits, os.getsid(0) == os.getpid(), os.getcwd())
print(open("/proc/self/limits").read())
"""


def check_look(run):
    equal(run.records, ["applied"], "records")
    equal(run.text().splitlines()[0], "[0, 1, 2] [0, 0, 0, 0, 0, 1] True /usr", "what it found")
    check(re.search(r"Max core file size +[01] +[01] ", run.text()), "core dumps are possible")
    check(re.search(r"Max open files +30 +40 ", run.text()), "the limit is not set")


@test
def the_command_gets_three_descriptors_and_no_privileges(scene):
    wish = {"directory": "/usr", "limits": [(7, 30, 40)]}
    wish["programs"] = ["/nowhere/python3", sys.executable]
    argv = ["python3", "-I", "-c", LOOK]

    check_look(Run(scene, order(argv, flags=0, **wish)))
    if run := first_process(scene, order(argv, **wish)):
        check_look(run)


@test
def how_the_command_ended_is_told_and_passed_on(scene):
    if not (run := first_process(scene, shell("exit 7"))):
        return
    equal((run.wait_status(), run.status), (7 << 8, 7), "exit 7")

    run = first_process(scene, shell("kill -9 $$"))
    equal((run.wait_status(), run.status), (9, 137), "signal 9")


@test
def a_program_that_cannot_be_executed_is_named(scene):
    plain = scene.file("plain")
    for programs, expected, status in (
        (["/nowhere/x", "/nowhere/y"], ("exec", 2, "/nowhere/x"), 127),
        (["/nowhere/x", plain, "/nowhere/y"], ("exec", 13, plain), 126),
    ):
        run = Run(scene, order(["x"], programs=programs, flags=0))
        equal((run.records, run.status), (["applied", expected], status), "what came of it")


@test
def a_script_without_an_interpreter_is_run_by_the_shell(scene):
    script = scene.file("script", 'echo "$# $1|$2"', 0o755)

    run = Run(scene, order(["ignored", "a b", "c"], programs=["/nowhere/x", script], flags=0))

    equal(run.text(), "2 a b|c\n", "output")


@test
def a_directory_that_cannot_be_entered_is_named(scene):
    run = Run(scene, order(["/bin/true"], directory="/nowhere", flags=0))

    equal((run.records, run.status), ([("directory", 2, "/nowhere")], 125), "what came of it")


@test
def the_terminal_belongs_to_the_command(scene):
    look = "import os; print(os.tcgetpgrp(0) == os.getpgrp(), os.open('/dev/tty', os.O_RDWR) > 2)"
    argv = [sys.executable, "-I", "-c", look]

    run = Run(scene, order(argv, flags=TERMINAL), has_terminal=True)
    equal(run.text(), "True True\n", "without a first process")
    if run := first_process(scene, order(argv, flags=TERMINAL | FIRST), has_terminal=True):
        equal(run.text(), "True True\n", "with a first process")


@test
def a_terminal_that_is_none_is_told(scene):
    run = Run(scene, order(["/bin/true"], flags=TERMINAL))

    equal((run.records, run.status), ([("terminal", 25, "")], 125), "what came of it")  # ENOTTY


@test
def the_first_process_forwards_sigterm_alone(scene):
    def terminate(run):
        with open("/proc/%d/stat" % run.leader) as file:
            first = int(file.read().rsplit(")", 1)[1].split()[1])
        os.kill(first, signal.SIGTERM)

    script = "sleep 60 & wait"  # the signal may arrive before the command runs
    if run := first_process(scene, shell(script), on_applied=terminate):
        equal((run.wait_status(), run.status), (15, 143), "SIGTERM from outside")
        script = "for s in KILL INT STOP HUP CHLD; do kill -$s 1; done; exit 5"
        run = first_process(scene, shell(script))
        equal(run.status, 5, "signals from inside")


@test
def orphans_are_reaped_and_end_with_the_command(scene):
    script = """
        for i in 1 2 3; do (true &); done
        (setsid sleep 600 &)
        until ! grep -l '(zombie)' /proc/[0-9]*/status 2>/dev/null; do :; done
        exit 0"""
    if run := first_process(scene, shell(script)):  # its output ends, so the sleep has ended
        equal(run.status, 0, "exit status")


@test
def the_first_process_is_out_of_reach(scene):
    script = "cat /proc/1/environ; cat /proc/1/mem; echo x > /proc/1/fd/4; readlink /proc/1/exe"
    if run := first_process(scene, shell(script)):
        equal(run.text().count("ermission denied"), 3, "refusals in %r" % run.text())
        equal(run.wait_status(), 1 << 8, "what was told of the end")


@test
def capabilities_that_are_left_over_are_found(scene):
    more = ["--cap-add", "CAP_NET_RAW"]
    if run := first_process(scene, shell("echo ran"), *more):
        equal((run.records, run.output), ([("capabilities", 1, "")], b""), "what came of it")


@test
def a_first_process_that_is_not_the_first_is_refused(scene):
    run = Run(scene, shell("echo ran", flags=FIRST))

    equal((run.records, run.output), ([("process", 3, "")], b""), "what came of it")  # ESRCH


@test
def landlock_leaves_only_the_writable_paths_writable(scene):
    if not has_landlock():
        return
    os.makedirs(scene.path("in/deep"))
    inside, outside = scene.path("in"), scene.file("out", "old")
    script = """
        cd "$1" && echo a > f && mv f deep/g && ln -s x l && rm l && cat deep/g
        echo new > "$2"; echo new >> "$2"; rm "$2"; : > /dev/null && cat "$2" """
    argv = ["sh", "-c", script, "sh", inside, outside]
    writable = [inside, "/nowhere", scene.file("in/file")]
    wish = {"programs": ["/bin/sh"], "writable": writable, "device_writable": ["/dev"]}

    run = Run(scene, order(argv, flags=0, landlock=3, **wish))

    equal(run.records, ["applied"], "records")
    equal(run.text().count("ermission denied"), 3, "refusals in %r" % run.text())
    check(run.text().startswith("a\n") and run.text().endswith("old"), "output is %r" % run.text())


@test
def a_writable_path_that_cannot_be_opened_is_named(scene):
    if not has_landlock():
        return
    path = scene.file("file") + "/below"

    run = Run(scene, shell("echo ran", flags=0, landlock=3, writable=[path]))

    equal((run.records, run.output), ([("landlock", 20, path)], b""), "what came of it")  # ENOTDIR


@test
def the_filter_is_in_force_when_the_command_runs(scene):
    script = "import os; print('ran', os.getppid())"
    argv = [sys.executable, "-I", "-c", script]

    run = Run(scene, order(argv, flags=0, rules=filter_for(REFUSE)))

    equal((run.records, run.text()), (["applied"], "ran -1\n"), "what came of it")


@test
def the_listener_of_the_filter_arrives_with_the_word_that_all_is_in_force(scene):
    def look(run):
        check(run.listener is not None, "no listener")
        equal(os.readlink("/proc/self/fd/%d" % run.listener), "anon_inode:seccomp notify", "it")

    argv = [sys.executable, "-I", "-c", "print('ran')"]
    run = Run(scene, order(argv, flags=LISTENER, rules=filter_for(NOTIFY)), on_applied=look)

    equal((run.records, run.text()), (["applied"], "ran\n"), "what came of it")


@test
def a_path_that_is_another_one_inside_is_refused(scene):
    here, other = scene.directory, scene.path("other")
    os.mkdir(other)
    for kind in (PLACE, WRITABLE, READ_ONLY):
        run = Run(scene, shell("echo ran", flags=0, expected=[expect(kind, here, other)]))
        equal((run.records, run.output), ([("mounts", 116, here)], b""), "another")  # ESTALE
        run = Run(scene, shell("echo ran", flags=0, expected=[expect(kind, here + "/no", other)]))
        equal((run.records, run.output), ([("mounts", 2, here + "/no")], b""), "none")
    run = Run(scene, shell("echo ran", flags=0, expected=[expect(PLACE, here)]))
    equal((run.records, run.text()), (["applied"], "ran\n"), "the same")


@test
def a_link_is_not_what_it_leads_to(scene):
    link = scene.path("link")
    os.symlink("/etc", link)

    run = Run(scene, shell("echo ran", flags=0, expected=[expect(PLACE, link)]))

    equal((run.records, run.output), ([("mounts", 116, link)], b""), "what came of it")


@test
def what_should_be_a_mount_and_is_none_is_refused(scene):
    there = scene.path("there")
    os.mkdir(there)
    for kind in (WRITABLE, READ_ONLY, HIDDEN, OWN):
        wish = {"expected": [expect(WRITABLE, scene.directory), expect(kind, there)]}
        if not (run := first_process(scene, shell("echo ran", **wish))):
            return
        equal((run.records, run.output), ([("mounts", 116, there)], b""), "kind %d" % kind)


def with_mounts(scene, more, *expected, **wish):
    """Starts execward-init so that it checks the mounts; the scene's directory must be writable."""
    expected = [expect(WRITABLE, scene.directory), *expected]
    wish = {"flags": FIRST | MOUNTS, "expected": expected, **wish}
    return first_process(scene, shell("echo ran", **wish), *more)


@test
def mounts_that_are_as_planned_are_accepted(scene):
    for name in ("kept", "hidden", "own", "a b\\c"):
        os.mkdir(scene.path(name))
    kept, odd = scene.path("kept"), scene.path("a b\\c")
    hidden, own = scene.path("hidden"), scene.path("own")
    more = ["--ro-bind", kept, kept, "--bind", odd, odd, "--tmpfs", own]
    more += ["--perms", "0000", "--tmpfs", hidden, "--remount-ro", hidden]

    run = with_mounts(
        scene, more, expect(READ_ONLY, kept), expect(WRITABLE, odd), expect(HIDDEN, hidden),
        expect(OWN, own),
    )  # fmt: skip
    if run:
        equal((run.records, run.text()), (["applied"], "ran\n"), "what came of it")


@test
def a_mount_that_is_writable_and_should_not_be_is_refused(scene):
    there = scene.path("there")
    os.mkdir(there)
    for more, path, expected in (
        (["--bind", "/usr", "/usr"], "/usr", []),
        (["--bind", "/usr", there], there, []),
        (["--bind", there, "/dev/shm"], "/dev/shm", []),
        (["--tmpfs", "/dev/shm"], "/dev/shm", []),
        (["--bind", there, there], there, [expect(READ_ONLY, there)]),
        (["--tmpfs", there], there, [expect(HIDDEN, there)]),
        (["--bind", there, there], there, [expect(OWN, there)]),
    ):
        if not (run := with_mounts(scene, more, *expected)):
            return
        equal((run.records, run.output), ([("mounts", 1, path)], b""), "with %s" % more)  # EPERM


@test
def what_is_mounted_in_a_writable_directory_comes_along_if_it_was_there_before(scene):
    there = scene.path("there")
    os.mkdir(there)
    more = ["--bind", "/usr", there]
    if not (run := with_mounts(scene, [])):
        return
    source = source_of("/usr")

    run = with_mounts(scene, more, submounts=["0:0 /usr", source])
    equal((run.records, run.text()), (["applied"], "ran\n"), "it was there")
    run = with_mounts(scene, more, submounts=["0:0 /usr", source + "/", source[:-1]])
    equal((run.records, run.output), ([("mounts", 1, there)], b""), "another was there")


def source_of(path):
    """Returns the source of a path as the table of mounts shows it if the path is a bind mount."""
    with open("/proc/self/mountinfo") as file:
        lines = [line.split() for line in file]
    top = [line for line in lines if path.startswith(line[4].rstrip("/") + "/")][-1]
    below = os.path.relpath(path, top[4])
    return "%s %s" % (top[2], os.path.normpath(os.path.join(top[3], below)))


@test
def without_proc_the_mounts_are_looked_at_only_if_they_have_to_be(scene):
    hide = ["--tmpfs", "/proc", "--remount-ro", "/proc", "--bind", "/usr", "/usr"]
    if not (run := with_mounts(scene, hide)):
        return
    equal(run.records, [("mounts", 2, "/proc/self/mountinfo")], "they have to be")
    run = with_mounts(scene, hide, flags=FIRST | MOUNTS | MAY_LACK_PROC)
    equal(run.records, ["applied"], "they need not be")


def exchanging(one, other, until):
    """Starts a program that exchanges two names, again and again, until a file exists."""
    script = """
import ctypes, os, sys
libc = ctypes.CDLL(None)
one, other = os.fsencode(sys.argv[1]), os.fsencode(sys.argv[2])
while not os.path.exists(sys.argv[3]):
    for _ in range(1000):
        libc.renameat2(-100, one, -100, other, 2)
"""
    return subprocess.Popen([sys.executable, "-S", "-c", script, one, other, until])


@test(alone=True)
def directories_exchanged_for_links_during_the_start_open_nothing(scene):
    """Whatever is mounted meanwhile, files outside can never be written."""
    outside = os.path.realpath(tempfile.mkdtemp(prefix="execward-test-", dir="/var/tmp"))
    try:
        race(scene, outside)
    finally:
        shutil.rmtree(outside)


def race(scene, outside):
    work = os.path.join(outside, "work")
    victim = os.path.join(outside, "victim")
    nested = os.path.join(work, "nested")
    os.makedirs(os.path.join(victim, ".git", "hooks"))
    os.makedirs(os.path.join(nested, ".git", "hooks"))
    for directory in (victim, nested):  # so that both look like a repository
        for name in ("HEAD", "config"):
            with open(os.path.join(directory, ".git", name), "w") as file:
                file.write("ref: refs/heads/main\n")
        for name in ("objects", "refs"):
            os.mkdir(os.path.join(directory, ".git", name))
    os.symlink("../victim", os.path.join(work, "link"))
    stop = os.path.join(outside, "stop")
    script = "for d in nested link ../victim; do echo x > $d/escaped; done 2>/dev/null; echo ran"
    command = [*scene.command[:1], "run", "--sandbox", "workspace-write", "--", "sh", "-c", script]
    undisturbed = subprocess.run(command, cwd=work, capture_output=True, timeout=PATIENCE)
    if undisturbed.returncode == 125:
        print("not tried: no sandbox works here")
        return
    equal(undisturbed.stdout, b"ran\n", "output where nobody disturbs it")
    attacker = exchanging(nested, os.path.join(work, "link"), stop)
    outcomes, limit = [], time.monotonic() + 3
    try:
        while time.monotonic() < limit or not outcomes:
            run = subprocess.run(command, cwd=work, capture_output=True, timeout=PATIENCE)
            outcomes.append(run.returncode)
            check(not os.path.exists(os.path.join(victim, "escaped")), "it got out")
            check(run.returncode == 125 or run.stdout == b"ran\n", "what came of it: %r" % run)
    finally:
        open(stop, "w").close()
        attacker.wait(PATIENCE)
    print("%d starts, %d refused" % (len(outcomes), outcomes.count(125)))


if __name__ == "__main__":
    main()

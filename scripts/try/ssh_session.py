"""Runs `execward serve` over ssh to an sshd of its own, and drops the connection in every way: for a
client that starts ssh, and for an execward whose environment is behind ssh.

usage: scripts/try/ssh_session.py EXECWARD

scripts/try/ssh calls this once it has found sshd. One line per check; the last is 'N passed, N failed'.
"""

import contextlib
import fcntl
import os
import pwd
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import uuid

sys.path.insert(0, os.path.abspath(__file__ + "/../../../tests"))
from support.client import (
    PROGRAM_MARK,
    SERVER_MARK,
    Failure,
    Server,
    carriers,
    check,
    children_of,
    command_line,
    decoded,
    encoded,
    equal,
    eventually,
    file_uri,
    is_alive,
    kill_quietly,
    stat_of,
    sweep,
    wait_at_rest,
    within,
)
from support.exec import Home, exec_server
from support.peer import completed, entry, entry_of, failed, rests, token, wait_gone
from support.runner import Scene

RUN_DIRECTORY = "/run/sshd"  # sshd refuses to run as root without it
END_SECONDS = 15  # after a drop, everything on the other side must end within this time
FLOOD_BYTES = 4 << 20
SILENCE_SECONDS = 1  # the interval of keep-alive messages; sshd gives up when two answers are missing
BANNER = "This is the banner of a machine that greets everybody."
PROFILE = "profile: and this is a profile that talks"

SETTINGS = """
ListenAddress 127.0.0.1
Port {port}
HostKey {directory}/host_key
AuthorizedKeysFile {directory}/user_key.pub
StrictModes no
PidFile none
UsePAM no
PasswordAuthentication no
KbdInteractiveAuthentication no
PermitRootLogin prohibit-password
Banner {directory}/banner
AcceptEnv {mark}
SetEnv HOME={directory}/home XDG_STATE_HOME={directory}/home/state XDG_CONFIG_HOME={directory}/home/config
ClientAliveInterval {silence}
ClientAliveCountMax 2
"""

# A sleeper, a program that ignores signals, one in a session of its own, and a daemon without a
# parent and without descriptors of the others.
TREE = """
import os, signal, time
def rest(name):
    os.write(1, name + b" up\\n")
    if name == b"daemon":
        os.closerange(0, 3)
    while True:
        time.sleep(60)
def ignore():
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(number, signal.SIG_IGN)
def daemon():
    os.setsid()
    if os.fork():
        os._exit(0)
for name, prepare in ((b"deaf", ignore), (b"session", os.setsid), (b"daemon", daemon)):
    if os.fork() == 0:
        prepare()
        rest(name)
rest(b"sleeper")
"""
TREE_COUNT = 4


class Host:
    """An sshd on a loopback port. All its files are in one temporary directory."""

    def __init__(self, execward):
        self.execward = os.path.abspath(execward)
        self.directory = tempfile.mkdtemp(prefix="execward-ssh-")
        self.log_path = os.path.join(self.directory, "log")
        self.user = pwd.getpwuid(os.geteuid())
        self.child, self.run_lock = None, None

    def begin(self):
        for name in ("host_key", "user_key"):
            path = os.path.join(self.directory, name)
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", path], check=True)
        os.mkdir(os.path.join(self.directory, "home"))
        self._write("banner", BANNER + "\n")
        self._write("home/.bashrc", "echo %s >&2\n" % shlex.quote(PROFILE))
        if os.geteuid() == 0:
            self._make_run_directory()
        # Another program may take the port between the choice and the start.
        for _ in range(5):
            if self._listens():
                return self._log_in()
        raise Failure("sshd does not listen: " + self.log()[-600:])

    def _make_run_directory(self):
        """Creates the directory and holds a lock until it is removed, so that no other run relies
        on it.
        """
        lock = os.open(os.path.dirname(RUN_DIRECTORY), os.O_RDONLY | os.O_CLOEXEC)
        fcntl.flock(lock, fcntl.LOCK_EX)
        if os.path.isdir(RUN_DIRECTORY):
            os.close(lock)
            return
        self.run_lock = lock
        os.mkdir(RUN_DIRECTORY, 0o755)

    def _log_in(self):
        command = [*self.command()[:-1], "true"]
        tried = subprocess.run(command, capture_output=True, timeout=30, check=False)
        if tried.returncode != 0:
            said = tried.stderr.decode("utf-8", "replace") + self.log()[-600:]
            raise Failure("no login as %s:\n%s" % (self.user.pw_name, said))

    def _write(self, name, text):
        with open(os.path.join(self.directory, name), "w", encoding="utf-8") as file:
            file.write(text)

    def _listens(self):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        settings = SETTINGS.format(
            port=self.port, directory=self.directory, mark=SERVER_MARK, silence=SILENCE_SECONDS
        )
        self._write("sshd_config", settings)
        sshd = shutil.which("sshd")  # sshd starts itself anew for each connection, and needs its absolute path
        with open(self.log_path, "wb") as log:
            self.child = subprocess.Popen(
                [sshd, "-D", "-e", "-f", os.path.join(self.directory, "sshd_config")],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        eventually(
            lambda: self.child.poll() is not None or "Server listening on" in self.log(),
            "sshd that listens",
        )
        return self.child.poll() is None

    def log(self):
        with open(self.log_path, encoding="utf-8", errors="replace") as file:
            return file.read()

    def command(self, terminal="-T"):
        options = [
            "BatchMode=yes",
            "StrictHostKeyChecking=no",
            "UserKnownHostsFile=/dev/null",
            "IdentitiesOnly=yes",
            "SendEnv=" + SERVER_MARK,
        ]
        flags = [word for option in options for word in ("-o", option)]
        key = os.path.join(self.directory, "user_key")
        address = ["-p", str(self.port), "-l", self.user.pw_name, "127.0.0.1"]
        remote = shlex.join([self.execward, "serve"])
        return ["ssh", "-F", "none", terminal, "-i", key, *flags, *address, remote]

    def sessions(self):
        return [pid for pid in children_of(self.child.pid) if is_alive(pid)]

    def end(self):
        """Ends the processes of the sshd by their pids, and removes the directory."""
        if self.child and self.child.poll() is None:
            for pid in self.sessions():
                kill_quietly(pid)
            self.child.kill()
            self.child.wait()
        if self.run_lock is not None:
            with contextlib.suppress(OSError):
                os.rmdir(RUN_DIRECTORY)
            os.close(self.run_lock)
        shutil.rmtree(self.directory, ignore_errors=True)


@contextlib.contextmanager
def connection(host, terminal="-T"):
    mark = uuid.uuid4().hex
    work = tempfile.mkdtemp(prefix="work-", dir=host.directory)
    server = Server(host.command(terminal), work, mark, handshake=False)
    try:
        # The sandbox on this machine is tested elsewhere.
        server.handshake(settings={"sandbox": "danger-full-access"})
        yield server
    finally:
        server.discard()
        sweep(mark)


def everything_of(server):
    """Returns the remote server and its programs. The ssh client carries the mark, too."""
    return [
        pid
        for pid in carriers(server.mark, SERVER_MARK) + carriers(server.mark)
        if pid != server.pid
    ]


def session_of(host, server):
    """Returns the process of our sshd that holds the pipes of the remote server."""
    for pid in carriers(server.mark, SERVER_MARK):
        above = []
        while pid > 1 and pid != host.child.pid:
            above.append(pid)
            pid = int(stat_of(pid)[1])
        if pid == host.child.pid:
            return next(own for own in above if command_line(own).startswith("sshd"))
    raise Failure("no server is below our sshd")


# A connection that is used


def answers_over_ssh(host):
    with connection(host) as server:
        equal(server.run_shell("a", "echo hello; exit 3"), (3, b"hello\n"), "of process/start")
        result = server.call("exec/command", {"command": "echo ciao; exit 4"})
        equal((result["exitCode"], result["output"]), (4, "ciao\n"), "of exec/command")
        # The server ends when its input ends, and ssh returns the server's status.
        equal(server.end(), 0, "exit status of ssh")
        server.verify()


def carries_files(host):
    # Every byte value, and more data than a window of the connection holds.
    content = bytes(range(256)) * 16384
    with connection(host) as server:
        path = os.path.join(server.directory, "a file")
        server.call("fs/writeFile", {"path": file_uri(path), "dataBase64": encoded(content)})
        with open(path, "rb") as file:
            check(file.read() == content, "fs/writeFile wrote something else")
        read = server.call("fs/readFile", {"path": file_uri(path)})
        check(decoded(read["dataBase64"]) == content, "fs/readFile read something else")
        equal(server.end(), 0, "exit status of ssh")
        server.verify()


def is_not_disturbed_by_greetings(host):
    with connection(host) as server:
        server.answers()
        equal(server.end(), 0, "exit status of ssh")
        server.verify()
        said = server.stderr()
        check(BANNER in said, "there was no banner: " + said)
        # Debian's bash reads it for every command of ssh; other shells do not.
        if os.path.basename(host.user.pw_shell) == "bash":
            check(PROFILE in said, "the profile was silent: " + said)


# A connection that is lost


def kill_client(host, server):
    kill_quietly(server.pid)


def terminate_client(host, server):
    kill_quietly(server.pid, signal.SIGTERM)


def kill_session(host, server):
    kill_quietly(session_of(host, server))


def close_input(host, server):
    server.close_input()


def close_input_unread(host, server):
    """The flood fills all buffers on the way before stdin ends."""
    server.stop_reading()
    wait_for_full_pipes(server)
    server.close_input()


def fall_silent(host, server):
    """No packet arrives any more, as if a machine had lost its network. sshd must notice."""
    session = session_of(host, server)
    kill_quietly(server.pid, signal.SIGSTOP)
    eventually(lambda: not is_alive(session), "sshd that gives up")


def wait_for_full_pipes(server):
    flood = next(pid for pid in carriers(server.mark) if command_line(pid) == "yes")
    wait_at_rest(flood, "a flood that has to wait")


def start_everything(server):
    server.start_python("tree", TREE)
    for name in (b"sleeper", b"deaf", b"session", b"daemon"):
        server.wait_output("tree", name + b" up\n")
    command = {"argv": ["sleep", "1000"], "yieldTimeMs": 250, "env": {PROGRAM_MARK: server.mark}}
    equal(server.call("exec/command", command)["state"], "running", "state of sleep")
    server.start("flood", ["yes"])
    before = server.received_bytes
    server.wait(lambda: server.received_bytes > before + FLOOD_BYTES, "a flood")
    eventually(lambda: len(server.programs()) == TREE_COUNT + 2, "the tree, sleep and yes")


def drop(host, way, terminal="-T"):
    """Returns the seconds until all processes had ended."""
    with connection(host, terminal) as server:
        server.may_be_cut = True
        start_everything(server)
        way(host, server)
        began = time.monotonic()
        try:
            eventually(lambda: not everything_of(server), "the end of everything", within(END_SECONDS))
        except Failure:
            left = {pid: command_line(pid) for pid in everything_of(server)}
            raise Failure("still there after %d s: %s" % (within(END_SECONDS), left)) from None
        took = time.monotonic() - began
        server.discard()
        # A terminal echoes the client's messages, so a client cannot check the server's output.
        if terminal == "-T":
            server.verify()
    eventually(lambda: not host.sessions(), "the end of sshd's session", within(END_SECONDS))
    return took


# A local server whose commands run on the host


@contextlib.contextmanager
def environment(host):
    """Yields a server with the host as its environment "box"."""
    mark = uuid.uuid4().hex
    work = tempfile.mkdtemp(prefix="work-", dir=host.directory)
    scene = Scene([host.execward, "serve"], work, mark)
    home = Home(scene)
    home.config(entry("box", *host.command(), workspace_roots=[work]))
    try:
        server = exec_server(scene, home=home)
        yield server, scene
        scene.finish()
        eventually(lambda: not host.sessions(), "the end of sshd's session", within(END_SECONDS))
    finally:
        scene.discard()
        sweep(mark)


def runs_there(host):
    with environment(host) as (server, scene):
        argv = ["/bin/sh", "-c", "echo one; read line; echo got $line; exit 3"]
        process_id = server.left_running(argv, environment="box", tty=True)
        server.wait_delta(process_id, "one\r\n")
        result = server.last_answer(process_id, "hello\n")
        equal((result["exitCode"], result["environment"]), (3, "box"), "code and environment")
        check("got hello\r\n" in result["output"], "output %r" % result["output"])
        equal(entry_of(server, "box")["state"], "ready", "state")
        session_of(host, server)  # fails unless the command ran behind our sshd


def kill_ssh(host, server, number=signal.SIGKILL):
    own = carriers(server.mark, SERVER_MARK)
    kill_quietly(next(pid for pid in own if command_line(pid).startswith("ssh ")), number)


def lose(host, way, *words):
    """The reason must contain the words. Returns the seconds until the program had ended."""
    with environment(host) as (server, scene):
        word = token(scene, "rests")
        message_id = server.exec_later(rests(word), environment="box", yieldTimeMs=30000)
        server.wait(lambda: server.programs_by_id, "the begin of the program")
        (process_id,) = server.programs_by_id
        server.wait_delta(process_id, "up\n")

        way(host, server)
        began = time.monotonic()
        reason = failed(server.result(message_id), "environmentLost", *words)
        check(PROFILE not in reason, "a greeting is no reason: " + reason)
        end = server.wait_end(process_id).end
        equal((end["status"], end["exitCode"]), ("failed", -1), "status and code of exec/end")
        wait_gone(word)
        took = time.monotonic() - began
        eventually(lambda: not host.sessions(), "the end of sshd's session", within(END_SECONDS))

        equal(completed(server.exec(["/bin/echo", "again"], environment="box")), "again\n", "output")
        print("#   the reason: " + reason)
        return took


def leave(host):
    """The client of the local server leaves. Returns the seconds until the program had ended."""
    with environment(host) as (server, scene):
        word = token(scene, "rests")
        process_id = server.left_running(rests(word), environment="box")
        server.wait_delta(process_id, "up\n")
        began = time.monotonic()
        equal(server.end(), 0, "exit status")
        wait_gone(word)
        return time.monotonic() - began


SCENES = {
    "process/start and exec/command answer over ssh": answers_over_ssh,
    "fs/readFile and fs/writeFile carry every byte": carries_files,
    "a banner and a profile that talks on stderr do not disturb": is_not_disturbed_by_greetings,
    "a server here runs commands in an environment behind ssh": runs_there,
    "programs in an environment end when the client here has gone": leave,
}
DROPS = {
    "SIGKILL of the ssh client": kill_client,
    "SIGKILL of the sshd process of the session": kill_session,
    "the end of the client's stdin": close_input,
    "the end of the client's stdin, when it no longer reads": close_input_unread,
    "SIGTERM to the ssh client": terminate_client,
    "a client that falls silent, with ClientAliveInterval": fall_silent,
}

# By the way of the loss: the function, and a word of the reason that the call reports.
LOSSES = {
    "SIGKILL of the ssh client": (kill_ssh, "SIGKILL"),
    "SIGTERM to the ssh client": (lambda *who: kill_ssh(*who, signal.SIGTERM), ""),
    "SIGKILL of the sshd process of the session": (kill_session, "255"),
}


def run(host):
    """Returns how many checks failed."""
    checks = [(name, lambda scene=scene: scene(host)) for name, scene in SCENES.items()]
    checks += [
        ("everything ends after " + name, lambda way=way: drop(host, way))
        for name, way in DROPS.items()
    ]
    checks += [
        ("a call in an environment ends after %s" % name, lambda loss=loss: lose(host, *loss))
        for name, loss in LOSSES.items()
    ]
    if host.user.pw_uid == 0:  # sshd needs root to give the user a terminal
        checks.append(
            ("everything ends after SIGKILL of an ssh -tt", lambda: drop(host, kill_client, "-tt"))
        )
    failed = 0
    for name, scene in checks:
        try:
            took = scene()
            print("ok - %s%s" % (name, "" if took is None else " (%.2f s)" % took), flush=True)
        except Failure as failure:
            failed += 1
            print("not ok - %s\n#   %s" % (name, failure), flush=True)
    print("%d passed, %d failed" % (len(checks) - failed, failed))
    return failed


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    # SIGTERM must not leave an sshd behind.
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    host = Host(sys.argv[1])
    try:
        host.begin()
        return 1 if run(host) else 0
    except Failure as reason:
        print("try/ssh: %s" % reason, file=sys.stderr)
        return 2
    finally:
        host.end()


if __name__ == "__main__":
    sys.exit(main())

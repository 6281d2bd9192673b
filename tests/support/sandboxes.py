"""Confined programs for black-box tests: requests for a sandbox, and directories to try it in.

A test with a Site has a server, a workspace that programs may change, and a directory outside of it
that they may not change. The latter is in /var/tmp, since a sandbox has a /tmp of its own.
"""

import collections
import contextlib
import functools
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import threading

from support.client import PATH, PYTHON, check, command_line, equal, file_uri
from support.runner import test

SANDBOXED = "linuxSeccomp"
WORKSPACE_WRITE = "workspace-write"
READ_ONLY = "read-only"
PLACEHOLDERS = (".git", ".agents", ".codex", ".execward")
NOWHERE = "192.0.2.1"  # an address that no machine has (RFC 5737)

Ended = collections.namedtuple("Ended", "code signal text exited started")


# Requests


def special(kind, access, subpath=None, **more):
    value = {"kind": kind, **({"subpath": subpath} if subpath else {})}
    return {"path": {"type": "special", "value": value}, "access": access, **more}


def at(path, access, **more):
    return {"path": {"type": "path", "path": file_uri(path)}, "access": access, **more}


def matching(pattern, access, **more):
    return {"path": {"type": "glob_pattern", "pattern": pattern}, "access": access, **more}


READS_ALL = special("root", "read")
WRITES_WORKSPACE = special("project_roots", "write")


def permissions(entries, network="restricted", roots=(), cwd=None, **more):
    """Returns the form of Codex's protocol. `roots`: the workspace."""
    context = {"workspaceRoots": [file_uri(root) for root in roots]}
    if cwd:
        context["cwd"] = file_uri(cwd)
    return {
        "permissions": {
            "type": "managed",
            "file_system": {"type": "restricted", "entries": list(entries)},
            "network": network,
        },
        "policyContext": context,
        "windowsSandboxLevel": "disabled",
        **more,
    }


def mode(policy=WORKSPACE_WRITE, **more):
    """Returns the form with a mode. An option of the policy makes it an object."""
    own = ("policyCwd", "networkPolicy", "fileSystemPolicy", "enforcement", "reportWrites")
    options = {name: value for name, value in more.items() if name not in own}
    return {
        "mode": "require",
        "policy": {"type": policy, **options} if options else policy,
        **{name: value for name, value in more.items() if name in own},
    }


def both_forms(workspace, network=False):
    """Returns the same confinement to a workspace in both forms; the form with a mode has two
    variants.
    """
    entries = [READS_ALL, WRITES_WORKSPACE]
    word = "enabled" if network else "restricted"
    return {
        "mode": mode(networkAccess=network, policyCwd=workspace),
        "mode with parts": {
            "mode": "auto",
            "policyCwd": workspace,
            "fileSystemPolicy": {"type": "restricted", "entries": entries},
            "networkPolicy": word,
        },
        "permissions": permissions(entries, word, roots=[workspace]),
    }


# Directories and servers


class Site:
    def __init__(self, scene):
        self.scene, self._server, self._next = scene, None, 0
        self.workspace = scene.path("workspace")
        os.mkdir(self.workspace)
        self.outside = os.path.realpath(tempfile.mkdtemp(prefix="execward-test-", dir="/var/tmp"))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for directory, names, _ in os.walk(self.outside):
            for name in names:
                with contextlib.suppress(OSError):
                    os.chmod(os.path.join(directory, name), 0o700)
        shutil.rmtree(self.outside, ignore_errors=True)

    @property
    def server(self):
        if not self._server:
            self._server = self.new_server()
        return self._server

    def new_server(self, *flags, **options):
        """Starts another server with the same state, and makes it the server of the site."""
        env = {
            "HOME": self.scene.directory,
            "XDG_STATE_HOME": self.scene.path("state"),
            "XDG_CONFIG_HOME": self.scene.path("config"),
            **options.pop("env", {}),
        }
        self._server = self.scene.server(*flags, env=env, **options)
        return self._server

    # Files

    def inside(self, *names):
        return os.path.join(self.workspace, *names)

    def beyond(self, *names):
        return os.path.join(self.outside, *names)

    def file(self, path, content="", file_mode=0o644):
        """Creates a file at an absolute path, or below the workspace."""
        path = self.inside(path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as file:
            file.write(content)
        os.chmod(path, file_mode)
        return path

    def repository(self, path="."):
        """Creates a repository with one commit. Returns its path."""
        path = os.path.normpath(self.inside(path))
        os.makedirs(path, exist_ok=True)
        self.git(path, "init", "-q", "-b", "main")
        self.file(os.path.join(path, "readme"), "one\n")
        self.git(path, "add", ".")
        self.git(path, "commit", "-q", "-m", "one")
        return path

    def git(self, path, *arguments):
        """Runs git outside of all sandboxes. Returns its output."""
        done = subprocess.run(
            ["git", *arguments],
            cwd=path,
            env=self.git_environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=False,
        )
        equal(done.returncode, 0, "git %s: %s" % (" ".join(arguments), done.stdout.decode()))
        return done.stdout.decode()

    def git_environment(self):
        person = {"NAME": "a", "EMAIL": "a@b.invalid"}
        return {
            "PATH": PATH,
            "HOME": self.scene.directory,
            "GIT_CONFIG_NOSYSTEM": "1",
            **{"GIT_AUTHOR_" + name: value for name, value in person.items()},
            **{"GIT_COMMITTER_" + name: value for name, value in person.items()},
        }

    # Programs

    def new_name(self):
        self._next += 1
        return "p%d" % self._next

    def start(self, argv, sandbox=None, name=None, **options):
        """Starts a confined program. Returns its name. `argv`: a script, or a list."""
        return self.started(argv, sandbox, name, **options)["processId"]

    def started(self, argv, sandbox=None, name=None, **options):
        argv = ["sh", "-c", argv] if isinstance(argv, str) else argv
        options.setdefault("cwd", file_uri(self.workspace))
        sandbox = mode() if sandbox is None else sandbox
        return self.server.start(name or self.new_name(), argv, sandbox=sandbox, **options)

    def python(self, script, *arguments, **options):
        return self.start([PYTHON, "-S", "-c", script, *arguments], **options)

    def run(self, argv, sandbox=None, **options):
        started = self.started(argv, sandbox, **options)
        return self.ended(started["processId"], started)

    def run_python(self, script, *arguments, **options):
        return self.run([PYTHON, "-S", "-c", script, *arguments], **options)

    def ended(self, name, started=None):
        process = self.server.wait_closed(name)
        text = process.output().decode("utf-8", "replace").replace("\r\n", "\n")
        exited = process.exited
        return Ended(exited["exitCode"], exited.get("signal"), text, exited, started)

    def works(self, argv, sandbox=None, **options):
        """Runs a program and expects exit code 0. Returns its output."""
        ended = self.run(argv, sandbox, **options)
        shown = "%s: %s" % (argv, ended.text[-600:])
        equal((ended.code, ended.signal), (0, None), "end of %s" % shown)
        return ended.text

    def fails(self, argv, sandbox=None, **options):
        """Runs a program and expects another exit code than 0. Returns its output."""
        ended = self.run(argv, sandbox, **options)
        check(ended.code != 0, "it worked: %s: %s" % (argv, ended.text[-600:]))
        return ended.text

    def litter(self, path=None):
        """Returns what a sandbox created in a directory and did not remove."""
        path = path or self.workspace
        return [name for name in PLACEHOLDERS if os.path.lexists(os.path.join(path, name))]


def sandbox_test(function=None, *, alone=False, needs=()):
    """Marks a test that gets a Site. It is skipped where a program that it needs is missing."""
    if function is None:
        return lambda real: sandbox_test(real, alone=alone, needs=needs)
    missing = [name for name in needs if not shutil.which(name, path=PATH + ":/usr/sbin:/sbin")]
    if missing:
        print("SKIP %s: no %s on this machine" % (function.__name__, ", ".join(missing)))
        return function

    @functools.wraps(function)
    def in_site(scene):
        with Site(scene) as site:
            function(site)

    return test(in_site, alone=alone)


# Programs outside of the sandbox


def keeps_walks(pid):
    """Is it the process that keeps walks for later starts of a session?"""
    return command_line(pid).endswith("execward-init walk")


class Listener:
    """A server on this machine that answers "hello" and counts its connections."""

    def __init__(self, family, address, kind=socket.SOCK_STREAM):
        self.socket = socket.socket(family, kind)
        self.socket.bind(address)
        self.kind, self.visits = kind, 0
        if kind != socket.SOCK_DGRAM:
            self.socket.listen(64)
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self):
        with contextlib.suppress(OSError):
            while True:
                if self.kind == socket.SOCK_DGRAM:
                    self.socket.recv(4096)
                    self.visits += 1
                    continue
                connection, _ = self.socket.accept()
                self.visits += 1
                with connection, contextlib.suppress(OSError):
                    connection.sendall(b"hello\n")

    @property
    def port(self):
        return self.socket.getsockname()[1]

    def close(self):
        with contextlib.suppress(OSError):
            self.socket.shutdown(socket.SHUT_RDWR)
        self.socket.close()


@contextlib.contextmanager
def listening(path=None, *, abstract=None, kind=socket.SOCK_STREAM):
    """Yields a listener on a port of the loopback, on a socket file, or under an abstract name."""
    if abstract is not None:
        listener = Listener(socket.AF_UNIX, "\0" + abstract, kind)
    elif path is not None:
        listener = Listener(socket.AF_UNIX, path, kind)
    else:
        listener = Listener(socket.AF_INET, ("127.0.0.1", 0), kind)
    try:
        yield listener
    finally:
        listener.close()


@contextlib.contextmanager
def bystander(*argv):
    """Yields a process that no sandbox should reach. Fails if it was ended or stopped."""
    process = subprocess.Popen(
        list(argv) or ["sleep", "600"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL
    )
    try:
        yield process
        check(process.poll() is None, "a process outside was ended")
        with open("/proc/%d/stat" % process.pid) as file:
            state = file.read().rsplit(")", 1)[1].split()[0]
        check(state in "RSD", "a process outside is in state " + state)
    finally:
        with contextlib.suppress(OSError):
            process.send_signal(signal.SIGCONT)
        process.kill()
        process.wait()


def connect_to(port, address="127.0.0.1"):
    """Returns a Python program that connects to a port and prints the answer."""
    return "import socket\ns = socket.create_connection((%r, %d), 60)\nprint(s.recv(9).decode())" % (
        address,
        port,
    )


def connect_to_file(path):
    return (
        "import socket\ns = socket.socket(socket.AF_UNIX)\ns.settimeout(60)\n"
        "s.connect(%r)\nprint(s.recv(9).decode())" % path
    )

"""An exec-server that behaves as its script says: `python3 peer_server.py SCRIPT`.

SCRIPT is a JSON file, read anew at each start of this program; peer.py writes it and explains its
members. The program speaks over stdin and stdout like one of three servers ("dialect"), refuses what
that server would refuse, and runs real programs or plays events from the script. A log of JSON lines
holds everything that it receives, sends and starts. Like Codex's exec-server it takes one request
after the other.
"""

import base64
import collections
import contextlib
import ctypes
import fcntl
import fnmatch
import json
import os
import pty
import queue
import select
import signal
import struct
import subprocess
import sys
import termios
import threading
import time
import urllib.parse

MARK = "BLACKBOX_SERVER"  # as in client.py: leftovers are found by it
LIBC = ctypes.CDLL(None)
PR_SET_PDEATHSIG = 1
LOGGED_BYTES = 16384
READ_BYTES = 8192
SIGNALS = {
    "interrupt": signal.SIGINT,
    "terminate": signal.SIGTERM,
    "kill": signal.SIGKILL,
    "hangup": signal.SIGHUP,
    "quit": signal.SIGQUIT,
    "usr1": signal.SIGUSR1,
    "usr2": signal.SIGUSR2,
    "stop": signal.SIGSTOP,
    "continue": signal.SIGCONT,
    "winch": signal.SIGWINCH,
}
METHODS = {
    "codex-old": {"process/start", "process/read", "process/write", "process/terminate"},
    "codex": {
        "environment/info",
        "environment/status",
        "process/start",
        "process/read",
        "process/write",
        "process/signal",
        "process/terminate",
    },
}
METHODS["execward"] = METHODS["codex"] | {
    "process/resize",
    "process/closeStdin",
    "process/list",
    "shutdown",
}
HANDLERS = {  # methods whose handler is not named for the last part of the name
    "environment/info": "environment_info",
    "environment/status": "environment_status",
    "process/closeStdin": "close_stdin",
}
NOTIFICATIONS = {
    "codex-old": {"initialized"},
    "codex": {"initialized"},
    "execward": {"initialized", "exit", "$/cancelRequest"},
}
POLICY_MEMBERS = {"inherit", "ignoreDefaultExcludes", "exclude", "set", "includeOnly"}
CORE = {"HOME", "LANG", "LC_ALL", "LC_CTYPE", "LOGNAME", "PATH", "SHELL", "TMPDIR", "USER"}


class Refusal(Exception):
    """An error as the answer to a request."""

    def __init__(self, code, message, kind=None):
        super().__init__(message)
        self.error = {"code": code, "message": message}
        if kind:
            self.error["data"] = {"kind": kind}


class Log:
    def __init__(self, path):
        self.descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    def note(self, **entry):
        os.write(self.descriptor, json.dumps(entry).encode() + b"\n")


class Wire:
    """stdout. A sender holds the lock, so a sender that is stuck stops all others."""

    def __init__(self, dialect, log):
        self.log, self.lock = log, threading.RLock()
        self.envelope = {"jsonrpc": "2.0"} if dialect == "execward" else {}

    def send(self, message):
        line = json.dumps({**self.envelope, **message}, separators=(",", ":")).encode()
        short = len(line) <= LOGGED_BYTES
        self.log.note(out=message if short else {"method": message.get("method"), "size": len(line)})
        self.write(line + b"\n")

    def write(self, data):
        with self.lock, contextlib.suppress(BrokenPipeError, OSError):
            rest = memoryview(data)
            while rest:
                rest = rest[os.write(1, rest) :]

    def close(self):
        with self.lock:
            nothing = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nothing, 1)
            os.close(nothing)


class Fates:
    """Actions at certain points. A fate counts from its `from`th time (default 1) to its `to`th."""

    def __init__(self, script, wire, log):
        self.fates, self.wire, self.log = script.get("fates", []), wire, log
        self.times = collections.Counter()
        self.lock = threading.Lock()

    def at(self, point):
        """Returns the fate that counts now, or None. Fates that need no request are carried out
        immediately.
        """
        with self.lock:
            self.times[point] += 1
            time_of_it = self.times[point]
        for fate in self.fates:
            is_now = fate.get("from", 1) <= time_of_it <= fate.get("to", time_of_it)
            if fate["at"] == point and is_now:
                self.log.note(fate=fate)
                self._meet(fate)
                return fate
        return None

    def _meet(self, fate):
        what = fate["do"]
        if what == "say":
            self.wire.write(fate["text"].encode())
        elif what == "long":
            self.wire.write(b'{"method":"process/output","params":{"chunk":"')
            for _ in range(fate["mib"]):
                self.wire.write(b"QUJD" * (1 << 18))
            self.wire.write(b'"}}\n')
        elif what == "exit":
            self.wire.write(fate.get("last", "").encode())
            os.write(2, fate.get("stderr", "").encode())
            os._exit(fate.get("status", 0))
        elif what == "close":
            self.wire.close()
        elif what == "freeze":
            with self.wire.lock:
                rest_for_ever()
        elif what == "block":
            rest_for_ever()
        elif what == "deafen":
            os.close(0)
            self.log.note(note="deaf")
            rest_for_ever()
        elif what == "ask":
            line = b'{"id":"%s","method":"weather/ask"}\n' % (b"x" * fate["size"])
            while True:
                self.wire.write(line * 16)


def rest_for_ever():
    while True:
        time.sleep(3600)


# Refusals


def want(condition, what):
    if not condition:
        raise Refusal(-32602, "invalid params: " + what, "invalidParams")


def is_map_of_strings(value):
    return isinstance(value, dict) and all(isinstance(part, str) for part in value.values())


def are_strings(value):
    return isinstance(value, list) and all(isinstance(part, str) for part in value)


def checked_path(text, dialect, what):
    """Returns the native path. New versions of Codex require file URIs, old ones did not know them.
    """
    want(isinstance(text, str), what + " is no string")
    is_uri = text.startswith("file:")
    want(dialect != "codex" or is_uri, what + " is no file URI")
    want(dialect != "codex-old" or not is_uri, what + " is no plain path")
    path = urllib.parse.unquote(text[5:].replace("//localhost/", "/", 1)) if is_uri else text
    path = path[2:] if path.startswith("///") else path
    want(path.startswith("/"), what + " is not absolute")
    return path


def check_entry(entry, dialect):
    want(entry.get("access") in ("read", "write", "deny", "none"), "access of an entry")
    place = entry.get("path")
    want(isinstance(place, dict), "path of an entry")
    want(place.get("type") in ("path", "glob_pattern", "special"), "type of a path")
    if place["type"] == "path":
        checked_path(place.get("path"), dialect, "path of an entry")
    elif place["type"] == "special":
        kinds = ("root", "minimal", "project_roots", "current_working_directory", "tmpdir")
        kind = place.get("value", {}).get("kind")
        want(kind in (*kinds, "slash_tmp", "unknown"), "special place %s" % kind)


def check_permissions(permissions, dialect):
    want(isinstance(permissions, dict), "permissions of the sandbox")
    kind = permissions.get("type")
    want(kind in ("managed", "disabled", "external"), "type of permissions")
    if kind == "disabled":
        return
    want(permissions.get("network") in ("restricted", "enabled"), "network of permissions")
    if kind == "managed":
        files = permissions.get("file_system")
        want(isinstance(files, dict), "file_system of permissions")
        want(files.get("type") in ("restricted", "unrestricted"), "type of file_system")
        for entry in files.get("entries", []) if files["type"] == "restricted" else []:
            check_entry(entry, dialect)


def check_sandbox(sandbox, dialect):
    if sandbox is None:
        return
    want(dialect != "codex-old", "sandbox in a form that came later")
    want(isinstance(sandbox, dict), "sandbox")
    if dialect == "execward" and sandbox.get("mode"):
        want(sandbox["mode"] in ("disabled", "forbid", "auto", "require"), "mode of the sandbox")
        return
    check_permissions(sandbox.get("permissions"), dialect)
    if dialect == "codex":
        levels = ("disabled", "restricted-token", "elevated", "mxc")
        want(sandbox.get("windowsSandboxLevel") in levels, "windowsSandboxLevel")
    context = sandbox.get("policyContext") or sandbox
    for root in [context.get("cwd"), *(context.get("workspaceRoots") or [])]:
        if root is not None:
            checked_path(root, dialect, "a root of the sandbox")


def check_policy(policy):
    if policy is None:
        return
    want(isinstance(policy, dict), "envPolicy")
    want(policy.keys() >= POLICY_MEMBERS, "envPolicy has not all five members")
    want(policy["inherit"] in ("all", "core", "none"), "inherit of envPolicy")
    want(isinstance(policy["ignoreDefaultExcludes"], bool), "ignoreDefaultExcludes of envPolicy")
    want(are_strings(policy["exclude"]) and are_strings(policy["includeOnly"]), "globs of envPolicy")
    want(is_map_of_strings(policy["set"]), "set of envPolicy")


def check_start(params, dialect):
    want(isinstance(params.get("processId"), str), "processId")
    want(are_strings(params.get("argv")) and params["argv"], "argv")
    checked_path(params.get("cwd"), dialect, "cwd")
    want(is_map_of_strings(params.get("env")), "env")
    want(isinstance(params.get("tty"), bool), "tty")
    want(isinstance(params.get("pipeStdin", False), bool), "pipeStdin")
    want(params.get("arg0") is None or isinstance(params["arg0"], str), "arg0")
    check_sandbox(params.get("sandbox"), dialect)
    check_policy(params.get("envPolicy"))


# Programs and their events


def matches(name, globs):
    return any(fnmatch.fnmatchcase(name.upper(), glob.upper()) for glob in globs)


def environment_of(params):
    policy, made = params.get("envPolicy"), {}
    if policy:
        inherit = policy["inherit"]
        made = {k: v for k, v in os.environ.items() if inherit == "all" or k in CORE}
        made = {} if inherit == "none" else made
        if not policy["ignoreDefaultExcludes"]:
            made = {k: v for k, v in made.items() if not matches(k, ["*KEY*", "*SECRET*", "*TOKEN*"])}
        made = {k: v for k, v in made.items() if not matches(k, policy["exclude"])}
        made.update(policy["set"])
        if policy["includeOnly"]:
            made = {k: v for k, v in made.items() if matches(k, policy["includeOnly"])}
    return {**made, **params["env"], MARK: os.environ.get(MARK, "")}


class Order:
    """Releases the events of one process in the order of the script. process/read returns a
    withheld event.
    """

    def __init__(self, script, fates, wire):
        self.fates, self.wire = fates, wire
        self.disorder = set(script.get("disorder", []))
        self.withheld = set(script.get("withheld", []))
        self.waiting, self.first, self.may_send = [], None, False

    def take(self, method, params):
        self.waiting.append({"method": method, "params": params})
        self.first = self.first or self.waiting[0]
        self.release()

    def release(self):
        if not self.may_send:
            return
        is_over = bool(self.waiting) and self.waiting[-1]["method"] == "process/closed"
        if self.disorder & {"shuffled", "closed first"} and not is_over:
            return
        events, self.waiting = self.waiting, []
        for event in self._arranged(events):
            self._send(event)

    def _arranged(self, events):
        if "shuffled" in self.disorder:
            events = events[1::2] + events[0::2]
        if "closed first" in self.disorder:
            exits = [event for event in events if event["method"] == "process/exited"]
            events = [event for event in events if event not in exits] + exits
        for event in events:
            if event["params"]["seq"] not in self.withheld:
                yield from self._repeated(self._damaged(event))

    def _repeated(self, event):
        if "strangers" in self.disorder:
            yield {"method": "process/exited", "params": {"processId": "?", "seq": 1, "exitCode": 9}}
            yield {"method": "weather/changed", "params": {"sky": "blue"}}
        yield event
        if "twice" in self.disorder:
            yield event
        if "backwards" in self.disorder:
            yield self.first

    def _damaged(self, event):
        params = dict(event["params"])
        if "no exit code" in self.disorder:
            params.pop("exitCode", None)
        if "bad base64" in self.disorder and params["seq"] == 2 and "chunk" in params:
            params["chunk"] = "!%s" % params["chunk"]
        return {"method": event["method"], "params": params}

    def _send(self, event):
        self.wire.send(event)
        if event["method"] == "process/output":
            self.fates.at("output")


class Program:
    """One entry of the process table, and its events so far."""

    def __init__(self, params, order, dialect):
        self.id, self.tty, self.order, self.dialect = params["processId"], params["tty"], order, dialect
        self.changed = threading.Condition(threading.RLock())
        self.seq, self.chunks, self.exit, self.is_closed = 0, [], None, False
        self.child = self.input = self.terminal = None
        self.streams = set()
        self.in_use, self.takes_input = params["tty"] or bool(params.get("pipeStdin")), True
        self.written = set()

    # Events

    def event(self, method, **members):
        with self.changed:
            self.seq += 1
            params = {"processId": self.id, "seq": self.seq, **members}
            self.order.take(method, params)
            self.changed.notify_all()

    def output(self, stream, data):
        with self.changed:
            if self.is_closed:
                return
            chunk = base64.b64encode(data).decode()
            self.chunks.append({"seq": self.seq + 1, "stream": stream, "chunk": chunk})
            self.event("process/output", stream=stream, chunk=chunk)

    def exited(self, status, said=None):
        code, name = (status, None) if status >= 0 else (128 - status, signal.Signals(-status).name)
        if self.dialect != "execward" and self.tty and name:
            code = 1  # Codex reports it so
        with self.changed:
            self.exit = code
            more = {} if self.dialect == "codex-old" else {"sandboxDenied": False}
            if self.dialect == "execward" and name:
                more["signal"] = name
            more.update(said or {})
            self.event("process/exited", exitCode=code, **more)
            self.close_if_over()

    def close_if_over(self):
        with self.changed:
            if self.exit is not None and not self.streams and not self.is_closed:
                self.close()

    def close(self):
        with self.changed:
            self.is_closed = True
            self.event("process/closed")

    def drop_readers(self):
        with self.changed:
            self.streams.clear()
            self.close_if_over()

    def may_send(self):
        with self.changed:
            self.order.may_send = True
            self.order.release()

    # Requests about a program

    def read(self, params, evicted):
        after, most = params.get("afterSeq") or 0, params.get("maxBytes")
        with self.changed:
            self.changed.wait_for(
                lambda: self.seq > after or self.is_closed, (params.get("waitMs") or 0) / 1000
            )
            found, size = [], 0
            for chunk in self.chunks:
                if chunk["seq"] <= max(after, evicted):
                    continue
                size += len(base64.b64decode(chunk["chunk"]))
                if found and most is not None and size > most:
                    break
                found.append(chunk)
            next_seq = found[-1]["seq"] + 1 if most is not None and found else self.seq + 1
            return {
                "chunks": found,
                "nextSeq": next_seq,
                "exited": self.exit is not None,
                "exitCode": self.exit,
                "closed": self.is_closed,
                "failure": None,
                "sandboxDenied": False,
            }

    def write(self, data, write_id):
        if not self.in_use or not self.takes_input:
            return "stdinClosed"
        if write_id is None or write_id not in self.written:
            self.written.add(write_id)
            if self.input:
                self.input.put(data)
        return "accepted"

    def close_input(self):
        if self.takes_input and self.input:
            self.input.put(b"\x04" if self.tty else None)
        self.takes_input = self.tty

    def resize(self, size):
        data = struct.pack("HHHH", size["rows"], size["cols"], 0, 0)
        fcntl.ioctl(self.terminal, termios.TIOCSWINSZ, data)

    def signal(self, number):
        with contextlib.suppress(OSError):
            if self.child and self.exit is None:
                os.killpg(self.child.pid, number)

    def terminate(self):
        was_running = self.exit is None
        if self.child:
            self.signal(signal.SIGKILL)
        elif was_running:
            self.exited(-signal.SIGKILL)
        return was_running

    # A real program

    def run(self, params, path):
        argv = [params.get("arg0") or params["argv"][0], *params["argv"][1:]]
        environment = environment_of(params)
        options = {
            "executable": params["argv"][0],
            "cwd": path,
            "env": environment,
            "start_new_session": True,
        }
        if self.tty:
            self._run_in_terminal(argv, options, params.get("size") or {"rows": 24, "cols": 80})
        else:
            self._run_with_pipes(argv, options)

    def _run_with_pipes(self, argv, options):
        self.child = subprocess.Popen(
            argv,
            stdin=subprocess.PIPE if self.in_use else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            preexec_fn=dies_with_us,
            **options,
        )
        self.streams = {"stdout", "stderr"}
        self.pumps = [
            ("stdout", self.child.stdout.fileno()),
            ("stderr", self.child.stderr.fileno()),
        ]
        if self.in_use:
            self._take_input(self.child.stdin.fileno(), self.child.stdin.close)

    def _run_in_terminal(self, argv, options, size):
        self.terminal, theirs = pty.openpty()
        self.resize(size)

        def prepare():
            dies_with_us()
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)

        try:
            self.child = subprocess.Popen(
                argv, stdin=theirs, stdout=theirs, stderr=theirs, preexec_fn=prepare, **options
            )
        finally:
            os.close(theirs)
        self.streams, self.pumps = {"pty"}, [("pty", self.terminal)]
        self._take_input(self.terminal, lambda: None)

    def _take_input(self, descriptor, close):
        self.input = queue.Queue()

        def pour():
            while (data := self.input.get()) is not None:
                with contextlib.suppress(OSError):
                    while data:
                        data = data[os.write(descriptor, data) :]
            close()

        threading.Thread(target=pour, daemon=True).start()

    def begin_events(self):
        for stream, descriptor in self.pumps:
            threading.Thread(target=self._pump, args=(stream, descriptor), daemon=True).start()
        threading.Thread(target=lambda: self.exited(self.child.wait()), daemon=True).start()

    def _pump(self, stream, descriptor):
        with contextlib.suppress(OSError):
            while data := os.read(descriptor, READ_BYTES):
                self.output(stream, data)
        with self.changed:
            self.streams.discard(stream)
            self.close_if_over()

    # A played program

    def play(self, events):
        self.streams.add("played")
        for what, *members in events:
            if what == "exited":
                self.exited(*members)
            elif what == "closed":
                self.drop_readers()
            elif what == "closed alone":
                self.close()
            else:
                self.output(what, members[0].encode("utf-8", "surrogateescape"))


def dies_with_us():
    LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


# The conversation


class Peer:
    def __init__(self, script):
        self.script, self.dialect = script, script.get("dialect", "codex")
        self.log = Log(script["log"])
        self.wire = Wire(self.dialect, self.log)
        self.fates = Fates(script, self.wire, self.log)
        self.is_initialized = self.is_ready = self.serves_no_more = False
        self.ids, self.programs, self.held_replies = set(), {}, []
        self.opened = collections.deque()  # held requests that need not wait any more
        self.wake_read, self.wake_write = os.pipe()

    def serve(self):
        if self.script.get("ignores_signals"):
            for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
                signal.signal(number, signal.SIG_IGN)
        self.fates.at("begin")
        buffer = b""
        while True:
            ready, _, _ = select.select([0, self.wake_read], [], [])
            if self.wake_read in ready:
                os.read(self.wake_read, 4096)
            while self.opened:
                self.answer(self.opened.popleft(), None)
            if 0 not in ready:
                continue
            data = os.read(0, 1 << 16)
            if not data:
                return
            *lines, buffer = (buffer + data).split(b"\n")
            for line in lines:
                if line.strip():
                    self.take(line)

    def end(self):
        self.log.note(note="end of input")
        for program in list(self.programs.values()):
            program.signal(signal.SIGKILL)

    def problem(self, text):
        self.log.note(problem=text)

    def take(self, line):
        try:
            message = json.loads(line)
        except ValueError:
            self.problem("not JSON: %r" % line[:200])
            return self.wire.send({"id": -1, "error": {"code": -32600, "message": "invalid request"}})
        is_short = len(line) <= LOGGED_BYTES
        self.log.note(**{"in": message if is_short else {**message, "params": {"size": len(line)}}})
        if self.serves_no_more:
            return None
        if "method" not in message:
            return self.stop_serving("a response that nobody asked for")
        if "id" not in message:
            return self.take_notification(message["method"])
        if message["id"] in self.ids or not isinstance(message["id"], (str, int)):
            self.problem("id %r is a second one, or none" % message["id"])
        self.ids.add(message["id"])
        return self.answer(message, self.fates.at(message["method"]))

    def stop_serving(self, why):
        """Stops as Codex's server does."""
        self.problem(why)
        self.serves_no_more = self.dialect != "execward"

    def take_notification(self, method):
        if method not in NOTIFICATIONS[self.dialect]:
            return self.stop_serving("a notification that it does not know: " + method)
        if method == "initialized":
            if not self.is_initialized:
                self.stop_serving("initialized before initialize")
            self.is_ready = True
            self.fates.at("initialized")
        if method == "exit":
            self.end()
            os._exit(0)
        return None

    def answer(self, message, fate):
        what = fate["do"] if fate else None
        if what == "hang":
            return
        if what == "hold":
            return self.hold(message, fate["until"])
        if what in ("error", "result"):
            return self.wire.send({"id": message["id"], what: fate[what]})
        try:
            self.handle(message, message.get("params") or {}, what)
        except Refusal as refusal:
            if refusal.error["code"] == -32602:
                self.problem("%s: %s" % (message["method"], refusal))
            self.log.note(refused=message["method"])
            if self.dialect == "codex-old":
                refusal.error.pop("data", None)
            self.wire.send({"id": message["id"], "error": refusal.error})

    def hold(self, message, path):
        """Waits until a file of that name exists."""

        def wait():
            while not os.path.exists(path):
                time.sleep(0.01)
            self.opened.append(message)
            os.write(self.wake_write, b"x")

        threading.Thread(target=wait, daemon=True).start()

    def handle(self, message, params, what):
        method = message["method"]
        if method == "initialize":
            return self.reply(message, self.initialize(params))
        if method not in METHODS[self.dialect]:
            raise Refusal(-32601, "unknown method: " + method, "unknownMethod")
        if not self.is_ready:
            self.problem("%s before initialized" % method)
            raise Refusal(-32600, "not initialized", "notInitialized")
        if method == "process/start":
            return self.start(message, params)
        result = getattr(self, HANDLERS.get(method, method.split("/")[-1]))(params)
        if what == "do it silently":
            return None
        return self.reply(message, result)

    def reply(self, message, result):
        self.wire.send({"id": message["id"], "result": result})

    # Methods

    def initialize(self, params):
        if self.is_initialized:
            self.problem("a second initialize")
            raise Refusal(-32600, "already initialized")
        want(isinstance(params.get("clientName"), str), "clientName")
        self.is_initialized = True
        if self.dialect == "codex-old":
            return {}
        result = {"sessionId": "5f0c1a52-7d0c-4b0e-9b0e-2f1f1f0a6f11"}
        if self.dialect == "execward":
            names = ("processes", "exec", "approvals", "files", "extensions")
            result["serverInfo"] = {"name": "execward", "version": "9.8.7"}
            result["protocolVersion"] = "1.0"
            result["capabilities"] = dict.fromkeys(names, True)
        result["environmentInfo"] = self.environment_info({})
        return result

    def environment_info(self, _):
        return {
            "shell": self.script.get("shell", {"name": "sh", "path": "/bin/sh"}),
            "executorVersion": "0.171.0",
            "providerId": "sha256:0",
            "cwd": self.script.get("told_cwd") or "file://" + urllib.parse.quote(self.script["cwd"]),
            "userHomeDir": "file:///root",
            "tempDir": "file:///tmp",
            "platformOs": "linux",
            "prependPathDirs": [],
            "temporaryDirectories": [],
            "capabilities": {},
        }

    def environment_status(self, _):
        return {"status": "ready"}

    def start(self, message, params):
        check_start(params, self.dialect)
        if params["processId"] in self.programs:
            self.problem("a second start of %r" % params["processId"])
            raise Refusal(-32600, "process already exists", "processExists")
        order = Order(self.script, self.fates, self.wire)
        program = Program(params, order, self.dialect)
        path = checked_path(params["cwd"], self.dialect, "cwd")
        play = self.script.get("play")
        if play is None:
            self.run(program, params, path)
        self.programs[params["processId"]] = program
        begin = program.begin_events if play is None else lambda: program.play(play)
        if "output before reply" in order.disorder:
            program.may_send()
            begin()
            with program.changed:
                program.changed.wait_for(lambda: program.seq > 0, 60)
            self.reply_start(message, params)
        else:
            self.reply_start(message, params, program.may_send)
            begin()

    def run(self, program, params, path):
        try:
            program.run(params, path)
        except (FileNotFoundError, NotADirectoryError) as error:
            raise Refusal(-32603, "failed to spawn: %s" % error, "spawnNotFound") from None
        except (OSError, ValueError) as error:
            raise Refusal(-32603, "failed to spawn: %s" % error, "spawnFailed") from None
        self.log.note(spawned=params["processId"], pid=program.child.pid)

    def reply_start(self, message, params, afterwards=lambda: None):
        """Holds replies until the script's number has arrived, and then sends them in reverse
        order.
        """
        result = {"processId": params["processId"]}
        kind = self.script.get("sandbox_type", "linuxSeccomp" if params.get("sandbox") else "none")
        if kind is not None and self.dialect != "codex-old":
            result["sandboxType"] = kind
        if self.dialect == "execward" and ("missing" in self.script or kind != "none"):
            result["missing"] = self.script.get("missing", [])
        self.held_replies.append((message, result, afterwards))
        if len(self.held_replies) < self.script.get("starts_at_once", 1):
            return
        while self.held_replies:
            held, result, afterwards = self.held_replies.pop()
            self.reply(held, result)
            self.fates.at("started")
            afterwards()

    def program(self, params):
        want(isinstance(params.get("processId"), str), "processId")
        return self.programs.get(params["processId"])

    def known(self, params):
        program = self.program(params)
        if not program:
            raise Refusal(-32600, "unknown process", "unknownProcess")
        return program

    def read(self, params):
        for name in ("afterSeq", "maxBytes", "waitMs"):
            value = params.get(name)
            want(value is None or (isinstance(value, int) and value >= 0), name)
        return self.known(params).read(params, self.script.get("evicted", 0))

    def write(self, params):
        program, write_id = self.program(params), params.get("writeId")
        want(self.dialect != "codex" or (isinstance(write_id, str) and write_id), "writeId")
        try:
            data = base64.b64decode(params.get("chunk"), validate=True)
        except (ValueError, TypeError):
            raise Refusal(-32602, "invalid params: chunk") from None
        if not program:
            return {"status": "unknownProcess"}
        status = program.write(data, write_id)
        if params.get("closeStdin") and self.dialect == "execward":
            program.close_input()
        return {"status": status}

    def signal(self, params):
        names = SIGNALS if self.dialect == "execward" else ["interrupt"]
        want(params.get("signal") in names, "signal %r" % params.get("signal"))
        program = self.program(params)
        if program:
            program.signal(SIGNALS[params["signal"]])
        return {}

    def terminate(self, params):
        program = self.program(params)
        if not program:
            return {"running": False}
        if self.dialect == "execward" and params.get("graceMs") and program.child:
            program.signal(signal.SIGTERM)
            with program.changed:
                program.changed.wait_for(lambda: program.exit is not None, params["graceMs"] / 1000)
        was_running = program.terminate()
        if program.child:
            with program.changed:
                program.changed.wait_for(lambda: program.exit is not None, 60)
        if self.dialect != "execward" or not program.child:
            program.drop_readers()
        return {"running": was_running}

    def resize(self, params):
        program, size = self.known(params), params.get("size")
        want(isinstance(size, dict) and {"rows", "cols"} <= size.keys(), "size")
        if not program.tty:
            raise Refusal(-32600, "not a terminal", "notATerminal")
        program.resize(size)
        return {}

    def close_stdin(self, params):
        program = self.program(params)
        if not program:
            return {"status": "unknownProcess"}
        if not program.in_use or not program.takes_input:
            return {"status": "stdinClosed"}
        program.close_input()
        return {"status": "accepted"}

    def list(self, _):
        return {
            "processes": [
                {"processId": name, "pid": program.child.pid if program.child else 0}
                for name, program in self.programs.items()
            ]
        }

    def shutdown(self, _):
        self.end()
        return {}


def main():
    with open(sys.argv[1]) as file:
        peer = Peer(json.load(file))
    peer.log.note(begun=os.getpid(), arguments=sys.argv[2:], directory=os.getcwd(),
                  environment=dict(os.environ))
    peer.serve()
    peer.end()
    os._exit(0)


if __name__ == "__main__":
    main()

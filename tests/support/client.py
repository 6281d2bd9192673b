"""A client of the process server for black-box tests that checks the rules of the protocol.

Every line that arrives is checked on every run: strict JSON, the envelope, the schema (when
scripts/check/schema_lib.py can be loaded), sequence numbers without gaps, one exited and one closed per
process, nothing before the start reply or after closed. Violations are collected in
`violations` and fail the test when its server ends.
"""

import base64
import contextlib
import hashlib
import json
import os
import select
import signal
import subprocess
import sys
import threading
import time
import urllib.parse

REPOSITORY = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PYTHON = "/usr/bin/python3" if os.path.exists("/usr/bin/python3") else sys.executable
PATH = "/usr/bin:/bin"
PROGRAM_MARK = "BLACKBOX_PROGRAM"  # in the environment of every program that a test starts
SERVER_MARK = "BLACKBOX_SERVER"  # in the environment of every server that a test starts
SLACK = float(os.environ.get("EXECWARD_TEST_SLACK", "1"))
PATIENCE = 60 * SLACK  # seconds that anything which must happen may take
KEPT_BYTES = 32 << 20  # beyond this the output of a process is only counted and hashed
VALIDATED_LINES = 5000  # per server; the messages of a flood are alike
VALIDATED_BYTES = 1 << 18


class Failure(Exception):
    """A test has failed: the server did not keep a promise."""


def check(condition, why):
    if not condition:
        raise Failure(str(why))


def equal(got, want, what):
    if got != want:
        raise Failure("%s: got %s, want %s" % (what, brief(got), brief(want)))


def brief(value, length=200):
    text = value if isinstance(value, str) else repr(value)
    return text if len(text) <= length else "%s...(%d characters)" % (text[:length], len(text))


def within(seconds):
    """A bound that is itself the promise of a test, stretched for slow builds and busy machines."""
    return seconds * SLACK


def wait_stalled(measure, what, quiet=1.0):
    """Waits until a growing number stays the same for a while. Returns it."""
    end, last, since = time.monotonic() + PATIENCE, measure(), time.monotonic()
    while time.monotonic() - since < quiet:
        check(time.monotonic() < end, "no standstill: " + what)
        time.sleep(0.02)
        if measure() != last:
            last, since = measure(), time.monotonic()
    return last


def wait_at_rest(pid, what, seconds=0.5):
    """Waits until a process that could run has not used the processor for a while."""
    last, since = None, time.monotonic()

    def is_at_rest():
        nonlocal last, since
        used = stat_of(pid)[11:13]
        if used != last:
            last, since = used, time.monotonic()
        return time.monotonic() - since > seconds

    eventually(is_at_rest, what)


def eventually(condition, what, timeout=None):
    """Waits for something that no message announces. Returns its first true value."""
    end = time.monotonic() + (PATIENCE if timeout is None else timeout)
    while True:
        is_late = time.monotonic() > end  # before the last check, which may take long
        value = condition()
        if value:
            return value
        if is_late:
            raise Failure("not seen: " + what)
        time.sleep(0.01)


def seconds_of(work):
    began = time.monotonic()
    work()
    return time.monotonic() - began


def encoded(data):
    return base64.b64encode(data).decode()


def decoded(text):
    return base64.b64decode(text, validate=True)


def is_whole_text(data):
    try:
        data.decode("utf-8")
        return True
    except UnicodeDecodeError:
        return False


def file_uri(path):
    return "file://" + urllib.parse.quote(path)


# Readers of /proc


def stat_of(pid):
    """Returns the fields of /proc/PID/stat after the name: [0] is the state, [1] the parent."""
    try:
        with open("/proc/%d/stat" % pid) as file:
            return file.read().rsplit(")", 1)[1].split()
    except (OSError, IndexError):
        return ["X", "0"]


def is_alive(pid):
    return stat_of(pid)[0] not in "ZX"


def every_pid():
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def children_of(pid):
    return [other for other in every_pid() if stat_of(other)[1] == str(pid)]


def carriers(mark, name=PROGRAM_MARK):
    """Returns the living processes with this mark in their environment."""
    wanted = ("%s=%s" % (name, mark)).encode()
    found = []
    for pid in every_pid():
        try:
            with open("/proc/%d/environ" % pid, "rb") as file:
                carries = wanted in file.read().split(b"\0")
        except OSError:
            continue
        if carries and pid != os.getpid() and is_alive(pid):
            found.append(pid)
    return found


def command_line(pid):
    try:
        with open("/proc/%d/cmdline" % pid, "rb") as file:
            return file.read().replace(b"\0", b" ").decode("utf-8", "replace").strip()
    except OSError:
        return ""


def program_of(pid):
    try:
        return os.readlink("/proc/%d/exe" % pid)
    except OSError:
        return None


def kill_quietly(pid, number=signal.SIGKILL):
    with contextlib.suppress(OSError):
        os.kill(pid, number)


def sweep(mark):
    """Kills all processes that carry the mark; for use after a failure."""
    for _ in range(50):
        left = carriers(mark, SERVER_MARK) + carriers(mark)
        if not left:
            return
        for pid in left:
            kill_quietly(pid)
        time.sleep(0.02)


def load_validator():
    """Returns the repository's check of a line against the schema, or None if it cannot be loaded.
    """
    sys.path.insert(0, os.path.join(REPOSITORY, "scripts", "check"))
    try:
        import schema_lib

        return schema_lib.validate_line
    except (ImportError, AttributeError):
        return None
    finally:
        sys.path.pop(0)


def strict_json(line):
    def refuse(name):
        raise ValueError("not JSON: " + name)

    return json.loads(line.decode("utf-8"), parse_constant=refuse)


class Process:
    """The events of one process so far."""

    def __init__(self):
        self.seq = 0  # of the latest event
        self.chunks = []  # (seq, stream, bytes)
        self.sizes = {}  # bytes by stream
        self.hashes = {}  # md5 by stream
        self.tails = {}  # last bytes by stream
        self.exited = None
        self.closed = None
        self.problems = []

    def size(self):
        return sum(self.sizes.values())

    def output(self, stream=None):
        return b"".join(data for _, of, data in self.chunks if stream in (None, of))

    def md5(self, stream="stdout"):
        return (
            self.hashes[stream].hexdigest() if stream in self.hashes else hashlib.md5().hexdigest()
        )

    def add(self, method, params):
        seq = params["seq"]
        if seq != self.seq + 1:
            self.problems.append("%s has seq %d after %d" % (method, seq, self.seq))
        if self.closed:
            self.problems.append("%s with seq %d after closed" % (method, seq))
        self.seq = seq
        if method == "process/output":
            self._add_output(seq, params["stream"], decoded(params["chunk"]))
        elif method == "process/exited":
            if self.exited:
                self.problems.append("exited twice")
            self.exited = params
        else:
            if not self.exited:
                self.problems.append("closed before exited")
            self.closed = params

    def _add_output(self, seq, stream, data):
        if not data:
            self.problems.append("empty chunk with seq %d" % seq)
        if len(data) > 65536:
            self.problems.append("chunk of %d bytes" % len(data))
        self.sizes[stream] = self.sizes.get(stream, 0) + len(data)
        self.hashes.setdefault(stream, hashlib.md5()).update(data)
        self.tails[stream] = (self.tails.get(stream, b"") + data)[-256:]
        if self.size() <= KEPT_BYTES:
            self.chunks.append((seq, stream, data))


class LineFraming:
    @staticmethod
    def wrap(body):
        return body + b"\n"

    @staticmethod
    def take(buffer, scanned):
        """Returns the next message of the buffer, or None and the offset up to which it was
        searched.
        """
        end = buffer.find(b"\n", scanned)
        if end < 0:
            return None, len(buffer)
        body = bytes(buffer[:end])
        del buffer[: end + 1]
        return body, 0


class HeaderFraming:
    @staticmethod
    def wrap(body):
        return b"Content-Length: %d\r\n\r\n" % len(body) + body

    @staticmethod
    def take(buffer, scanned):
        end = buffer.find(b"\r\n\r\n")
        if end < 0:
            return None, 0
        name, _, value = bytes(buffer[:end]).partition(b":")
        if name.lower() != b"content-length":
            raise ValueError("bad header block %r" % bytes(buffer[:end]))
        start, length = end + 4, int(value)
        if len(buffer) < start + length:
            return None, 0
        body = bytes(buffer[start : start + length])
        del buffer[: start + length]
        return body, 0


class Server:
    """A running server and the client's view of it."""

    def __init__(
        self,
        command,
        directory,
        mark,
        flags=(),
        env=None,
        handshake=True,
        capabilities=None,
        framing=LineFraming,
        prepare=None,
        stderr=None,
        listener=None,
        cwd=None,
        initialize=None,
    ):
        environment = {k: v for k, v in os.environ.items() if not k.startswith("EXECWARD_")}
        environment[SERVER_MARK] = mark
        environment.update(env or {})
        self.directory, self.mark, self.framing, self.listener = directory, mark, framing, listener
        self.stderr_path = os.path.join(directory, "stderr-%d" % time.monotonic_ns())
        with open(self.stderr_path, "wb") as own_stderr:
            self.child = subprocess.Popen(
                [*command, *flags],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=own_stderr if stderr is None else stderr,
                env=environment,
                cwd=cwd or directory,
                preexec_fn=prepare,
            )
        self.pid = self.child.pid
        os.set_blocking(self.child.stdin.fileno(), False)
        os.set_blocking(self.child.stdout.fileno(), False)
        self.changed = threading.Condition()
        self.sending = threading.RLock()
        self.processes = {}
        self.warnings = []  # (method, params) of notifications that concern no process
        self.replies = {}  # by the JSON text of the id
        self.pending = {}  # (method, params) by the JSON text of the id
        self.errors = []  # error replies with id null
        self.violations = []
        self.ended = False  # the server closed its stdout
        self.may_be_cut = (
            False  # a test that kills the server sets this: its last message may be unfinished
        )
        self.received_bytes = self.received_lines = 0
        self._next_id = 0
        self._validate = load_validator()
        self._buffer, self._scanned = bytearray(), 0
        self._wake_read, self._wake_write = os.pipe()
        self._reading, self._told_to_stop, self._is_discarded, self._idle = (
            True,
            False,
            False,
            threading.Event(),
        )
        self._thread = threading.Thread(target=self._read_all, daemon=True)
        self._thread.start()
        self.initialized = None
        if handshake:
            self.handshake(capabilities, **(initialize or {}))

    # Receiving

    def _read_all(self):
        stdout = self.child.stdout.fileno()
        while not self._told_to_stop:
            if not self._reading:
                self._idle.set()
            ready, _, _ = select.select(
                [stdout, self._wake_read] if self._reading else [self._wake_read], [], []
            )
            if self._wake_read in ready:
                os.read(self._wake_read, 4096)
                continue
            try:
                data = os.read(stdout, 1 << 18)
            except BlockingIOError:
                continue
            except OSError:
                data = b""
            if not data:
                break
            self._feed(data)
        with self.changed:
            if self._buffer and not self.may_be_cut:
                self.violations.append(
                    "unfinished message at the end: " + brief(bytes(self._buffer))
                )
            self.ended = True
            self.changed.notify_all()

    def _feed(self, data):
        with self.changed:
            self.received_bytes += len(data)
            self._buffer += data
            while True:
                try:
                    body, self._scanned = self.framing.take(self._buffer, self._scanned)
                except ValueError as error:
                    self.violations.append(str(error))
                    self._buffer.clear()
                    break
                if body is None:
                    break
                self.received_lines += 1
                self._take(body)
            self.changed.notify_all()

    def _take(self, body):
        try:
            message = strict_json(body)
            if not isinstance(message, dict) or message.get("jsonrpc") != "2.0":
                raise ValueError("not a JSON-RPC 2.0 message")
            self._check_schema(message, len(body))
            if "method" in message:
                self._take_notification(message)
            else:
                self._take_reply(message)
        except (ValueError, KeyError, TypeError) as error:
            self.violations.append(
                "%s: %s in %s"
                % (type(error).__name__, error, brief(body.decode("utf-8", "replace")))
            )
            return
        if self.listener:
            self.listener(message)

    def _check_schema(self, message, length):
        if not self._validate or self.received_lines > VALIDATED_LINES or length > VALIDATED_BYTES:
            return
        asked = self.pending.get(json.dumps(message.get("id"))) if "method" not in message else None
        problems = self._validate("server", message, {message["id"]: asked[0]} if asked else {})
        if problems:
            self.violations.append(
                "schema: %s in %s" % (brief(problems, 300), brief(json.dumps(message), 300))
            )

    def _take_notification(self, message):
        method, params = message["method"], message["params"]
        if "id" in message:
            self.violations.append("a request from the server: " + brief(message))
        elif not method.startswith("process/"):
            self.warnings.append((method, params))
        elif params["processId"] not in self.processes:
            self.violations.append(
                "%s before the start reply of %r" % (method, params["processId"])
            )
        else:
            self.processes[params["processId"]].add(method, params)

    def _take_reply(self, message):
        if ("result" in message) == ("error" in message):
            raise ValueError("neither result nor error, or both")
        if "error" in message and not message["error"].get("data", {}).get("kind"):
            self.violations.append("error without a kind: " + brief(message))
        if message["id"] is None:
            self.errors.append(message)
            return
        key = json.dumps(message["id"])
        if key not in self.pending:
            self.violations.append("answer to nothing, or a second one: " + brief(message))
            return
        method, params = self.pending.pop(key)
        if method == "process/start" and "result" in message:
            self._keep_problems(params["processId"])
            self.processes[params["processId"]] = Process()
        self.replies[key] = message

    def _keep_problems(self, process_id):
        earlier = self.processes.get(process_id)
        if earlier:
            self.violations += ["%r: %s" % (process_id, problem) for problem in earlier.problems]
            if not earlier.closed:
                self.violations.append("%r was reused before it closed" % process_id)

    def stop_reading(self):
        """Returns once no further byte is read from the server."""
        self._idle.clear()
        self._reading = False
        os.write(self._wake_write, b"x")
        check(self._idle.wait(PATIENCE) or self.ended, "the test's own reader did not stop")

    def resume_reading(self):
        self._reading = True
        if not self._is_discarded:
            os.write(self._wake_write, b"x")

    def wait(self, condition, what, timeout=None):
        """Waits until the condition holds after some message. Returns its first true value."""
        end = time.monotonic() + (PATIENCE if timeout is None else timeout)
        with self.changed:
            while True:
                value = condition()
                if value:
                    return value
                left = end - time.monotonic()
                if left <= 0 or self.ended:
                    raise Failure(
                        "%s: not seen %s; %s"
                        % (
                            what,
                            "before the server ended" if self.ended else "in time",
                            self.story(),
                        )
                    )
                self.changed.wait(min(left, 1))

    def story(self):
        parts = ["violations: " + brief(self.violations)] if self.violations else []
        return "; ".join(parts + ["stderr: " + brief(self.stderr()[-400:], 400)])

    def stderr(self):
        with open(self.stderr_path, "rb") as file:
            return file.read().decode("utf-8", "replace")

    # Sending

    def send_bytes(self, data, timeout=None):
        stdin, rest = self.child.stdin.fileno(), memoryview(data)
        end = time.monotonic() + (PATIENCE if timeout is None else timeout)
        with self.sending:
            while rest:
                try:
                    rest = rest[os.write(stdin, rest) :]
                except BlockingIOError:
                    check(
                        time.monotonic() < end,
                        "the server does not read its input; " + self.story(),
                    )
                    select.select([], [stdin], [], 0.5)
                except BrokenPipeError:
                    raise Failure("the server closed its input; " + self.story()) from None

    def send(self, message):
        self.send_bytes(self.framing.wrap(json.dumps(message).encode()))

    def new_id(self):
        with self.changed:
            self._next_id += 1
            return self._next_id

    def expect(self, message_id, method="environment/status", params=None):
        """Announces an id whose request is sent as raw bytes, so that its answer is expected."""
        with self.changed:
            self.pending[json.dumps(message_id)] = (method, params or {})
        return message_id

    def request(self, method, params=None, message_id=None):
        """Sends a request. Returns its id; see reply()."""
        message_id = self.new_id() if message_id is None else message_id
        self.expect(message_id, method, params)
        self.send(
            {
                "jsonrpc": "2.0",
                "id": message_id,
                "method": method,
                "params": {} if params is None else params,
            }
        )
        return message_id

    def request_at_once(self, requests):
        """Sends requests (method, params) in a single write. Returns their ids."""
        ids, data = [], b""
        for method, params in requests:
            ids.append(self.expect(self.new_id(), method, params))
            message = {"jsonrpc": "2.0", "id": ids[-1], "method": method, "params": params}
            data += self.framing.wrap(json.dumps(message).encode())
        self.send_bytes(data)
        return ids

    def notify(self, method, params=None):
        self.send({"jsonrpc": "2.0", "method": method, "params": {} if params is None else params})

    def reply(self, message_id, timeout=None):
        key = json.dumps(message_id)
        self.wait(lambda: key in self.replies, "the answer to request %s" % key, timeout)
        return self.replies[key]

    def is_answered(self, message_id):
        return json.dumps(message_id) in self.replies

    def result(self, message_id, timeout=None):
        message = self.reply(message_id, timeout)
        check(
            "result" in message, "an error where a result was due: %s" % brief(message.get("error"))
        )
        return message["result"]

    def error(self, message_id, code=None, kind=None):
        message = self.reply(message_id)
        check(
            "error" in message, "a result where an error was due: %s" % brief(message.get("result"))
        )
        if code is not None:
            equal(message["error"]["code"], code, "code of %s" % brief(message["error"]))
        if kind is not None:
            equal(message["error"]["data"]["kind"], kind, "kind of %s" % brief(message["error"]))
        return message["error"]

    def call(self, method, params=None, timeout=None):
        return self.result(self.request(method, params), timeout)

    def refused(self, method, params=None, code=None, kind=None):
        """Calls and expects an error. Returns the error."""
        return self.error(self.request(method, params), code, kind)

    def next_error(self, count=1):
        """Waits for this number of errors with id null since the last call. Returns the last one.
        """
        taken = self.wait(
            lambda: len(self.errors) >= count and self.errors[:count], "an error with id null"
        )
        with self.changed:
            del self.errors[:count]
        return taken[-1]["error"]

    def answers(self):
        """Checks that the server is alive and has read everything that was sent before."""
        equal(self.call("environment/status"), {"status": "ready"}, "environment/status")

    # Calls by name

    def handshake(self, capabilities=None, **more):
        params = {"clientName": "blackbox", **more}
        if capabilities is not None:
            params["capabilities"] = capabilities
        self.initialized = self.call("initialize", params)
        self.notify("initialized")

    def start_params(self, process_id, argv, env=None, **options):
        environment = {"PATH": PATH, PROGRAM_MARK: self.mark, **(env or {})}
        return {
            "processId": process_id,
            "argv": argv,
            "cwd": file_uri(self.directory),
            "env": environment,
            "tty": False,
            **options,
        }

    def start(self, process_id, argv, **options):
        return self.call("process/start", self.start_params(process_id, argv, **options))

    def start_shell(self, process_id, script, **options):
        return self.start(process_id, ["sh", "-c", script], **options)

    def start_python(self, process_id, script, *arguments, **options):
        return self.start(process_id, [PYTHON, "-S", "-c", script, *arguments], **options)

    def run_shell(self, process_id, script, **options):
        """Runs a script to its end. Returns exit code and output."""
        self.start_shell(process_id, script, **options)
        return self.finished(process_id)

    def run(self, process_id, argv, **options):
        self.start(process_id, argv, **options)
        return self.finished(process_id)

    def write(self, process_id, data, **options):
        return self.call(
            "process/write", {"processId": process_id, "chunk": encoded(data), **options}
        )

    def read(self, process_id, **options):
        return self.call("process/read", {"processId": process_id, **options})

    def read_bytes(self, process_id, **options):
        return b"".join(
            decoded(chunk["chunk"]) for chunk in self.read(process_id, **options)["chunks"]
        )

    def terminate(self, process_id, **options):
        return self.call("process/terminate", {"processId": process_id, **options})

    def signal(self, process_id, name, **options):
        return self.call("process/signal", {"processId": process_id, "signal": name, **options})

    def entry(self, process_id):
        """Returns the entry of the process in process/list, or None."""
        listed = self.call("process/list")["processes"]
        return next((info for info in listed if info["processId"] == process_id), None)

    # Waiting for processes

    def process(self, process_id):
        return self.processes.get(process_id) or Process()

    def output(self, process_id, stream=None):
        with self.changed:
            return self.process(process_id).output(stream)

    def wait_output(self, process_id, text, count=1):
        """Waits until the output contains the text. Returns all output so far."""
        self.wait(
            lambda: self.process(process_id).output().count(text) >= count,
            "%r in the output of %r" % (text, process_id),
        )
        return self.output(process_id)

    def wait_exited(self, process_id, timeout=None):
        return self.wait(
            lambda: self.process(process_id).exited, "exited of %r" % process_id, timeout
        )

    def wait_closed(self, process_id, timeout=None):
        self.wait(lambda: self.process(process_id).closed, "closed of %r" % process_id, timeout)
        return self.process(process_id)

    def finished(self, process_id):
        process = self.wait_closed(process_id)
        return process.exited["exitCode"], process.output()

    # Processes of the server itself

    def worker(self):
        """Returns the worker, which is the child of the keeper."""
        own = program_of(self.pid)

        def find():
            return [
                pid for pid in children_of(self.pid) if program_of(pid) == own and is_alive(pid)
            ]

        return eventually(find, "a worker below the keeper")[0]

    def own_pids(self):
        return [self.pid, self.worker()]

    def descriptors(self):
        return sum(len(os.listdir("/proc/%d/fd" % pid)) for pid in self.own_pids())

    def resident_bytes(self):
        total = 0
        for pid in self.own_pids():
            with open("/proc/%d/statm" % pid) as file:
                total += int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
        return total

    def busy_seconds(self):
        """Returns the CPU time that keeper and worker have used."""
        total = 0
        for pid in self.own_pids():
            with open("/proc/%d/schedstat" % pid) as file:
                total += int(file.read().split()[0])
        return total / 1e9

    def wait_idle(self, quiet=0.5):
        """Waits until the server has not used the processor for a while."""
        end, last, since = time.monotonic() + PATIENCE, self.busy_seconds(), time.monotonic()
        while time.monotonic() - since < quiet:
            check(time.monotonic() < end, "the server works on and on; " + self.story())
            time.sleep(0.02)
            if self.busy_seconds() > last:
                last, since = self.busy_seconds(), time.monotonic()

    def zombies(self):
        """Returns the ended processes that the server has not reaped."""
        return [
            pid for own in self.own_pids() for pid in children_of(own) if stat_of(pid)[0] == "Z"
        ]

    def is_sanitized(self):
        """Returns True in sanitizer builds: their allocator keeps freed memory, so bounds on memory
        mean nothing.
        """
        if os.environ.get("EXECWARD_TEST_SANITIZED"):
            return True
        with open("/proc/%d/maps" % self.pid) as file:
            maps = file.read()
        return "libasan" in maps or "clang_rt.asan" in maps

    def programs(self):
        return carriers(self.mark)

    # The end

    def close_input(self):
        with self.sending:
            if not self.child.stdin.closed:
                self.child.stdin.close()

    def exit_status(self, timeout=None):
        """Waits for the server's end. Returns the exit status; 128+N for signal N."""
        try:
            status = self.child.wait(PATIENCE if timeout is None else timeout)
        except subprocess.TimeoutExpired:
            raise Failure("the server lives on; " + self.story()) from None
        return status if status >= 0 else 128 - status

    def end(self):
        """Closes the input and waits for the end. Returns the exit status."""
        self.close_input()
        return self.exit_status()

    def verify(self):
        """Fails if the server broke a rule of every run. The server must have ended."""
        self.resume_reading()
        self._thread.join(PATIENCE)
        with self.changed:
            problems = list(self.violations)
            for process_id, process in self.processes.items():
                problems += ["%r: %s" % (process_id, problem) for problem in process.problems]
        check(
            not problems, "broken rules (%d): %s" % (len(problems), brief("; ".join(problems), 800))
        )

    def discard(self):
        """Ends the server in any state, and releases the resources of the client."""
        if self._is_discarded:
            return
        self._is_discarded = True
        if self.child.poll() is None:
            kill_quietly(self.pid)
            self.child.wait()
        self._told_to_stop = True
        with contextlib.suppress(OSError):
            os.write(self._wake_write, b"x")
        self._thread.join(PATIENCE)
        for stream in (self.child.stdin, self.child.stdout):
            with contextlib.suppress(OSError):
                stream.close()
        for descriptor in (self._wake_read, self._wake_write):
            with contextlib.suppress(OSError):
                os.close(descriptor)

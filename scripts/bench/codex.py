#!/usr/bin/env python3
"""Codex with its own exec-server against Codex with execward, taken in turns in one run.

usage: scripts/bench/codex.py --codex PATH --rig DIR [--rounds N] [--json FILE] BUILD_DIR

Codex is unmodified; a scripted model on loopback (mock_model.py in the rig's DIR) tells it what to do.
A relay between Codex and the server takes the times on the wire; it passes bytes on before it notes
them. The measurements of much output and of leftovers run without the relay. The first round is a
warm-up. Prints medians over all rounds, and the maximum of memory and of leftover processes.
"""

import argparse
import contextlib
import json
import os
import pathlib
import shlex
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import uuid

COMMANDS = 20  # in one run of Codex
OUTPUT_BYTES = 200_000_000
PATIENCE = 120
GRACE = 5.0  # how many seconds after a kill a process may still be alive

# Key, its row in the table, its unit, and how samples become one number.
MEASURES = (
    ("first", "start of Codex to the first output of a command", "ms", statistics.median),
    ("ready", "of that, start of the server to its answer to `initialize`", "ms", statistics.median),
    ("command", "`true`: `process/start` to `process/closed`", "ms", statistics.median),
    ("start", "the same, to the answer", "ms", statistics.median),
    ("sandboxed", "`true` in a sandbox: `process/start` to `process/closed`", "ms", statistics.median),
    ("metadata", "`fs/getMetadata`", "ms", statistics.median),
    ("write", "`fs/writeFile` in a sandbox", "ms", statistics.median),
    ("flood", "200 MB of output: call to the model being told", "s", statistics.median),
    ("memory", "peak memory of the server meanwhile", "MiB", max),
    ("client_killed", "processes left 5 s after Codex was killed", "", max),
    ("server_killed", "processes left 5 s after the server was killed", "", max),
)


def relay(log_path, command):
    """Stands between Codex and a server. Notes {direction} {nanoseconds} {length}, then the bytes.
    """
    log, lock = open(log_path, "wb"), threading.Lock()

    def note(direction, at, data=b""):
        with lock:
            log.write(b"%s %d %d\n" % (direction, at, len(data)) + data)

    note(b"start", time.monotonic_ns())
    server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda number, _: server.send_signal(number))

    def pass_on(direction, source, sink):
        with contextlib.suppress(OSError):
            while data := os.read(source, 1 << 16):
                at, rest = time.monotonic_ns(), data
                while rest:
                    rest = rest[os.write(sink, rest):]
                note(direction, at, data)
        with contextlib.suppress(OSError):
            os.close(sink)

    ways = ((b">", 0, server.stdin.fileno()), (b"<", server.stdout.fileno(), 1))
    threads = [threading.Thread(target=pass_on, args=way, daemon=True) for way in ways]
    for thread in threads:
        thread.start()
    server.wait()
    threads[1].join(2)
    with lock:
        log.flush()
        os._exit(0)


def program_of(pid):
    try:
        return os.readlink("/proc/%d/exe" % pid)
    except OSError:  # it has ended meanwhile
        return None


class Wire:
    """The record of a relay: the messages of each side, with the milliseconds at which each was
    complete.
    """

    def __init__(self, path):
        self.began, self.sent, self.received = None, [], []
        pending = {b">": b"", b"<": b""}
        with open(path, "rb") as log:
            for head in log:
                direction, nanoseconds, length = head.split()
                at, data = int(nanoseconds) / 1e6, log.read(int(length))
                if direction == b"start":
                    self.began = at
                    continue
                *lines, pending[direction] = (pending[direction] + data).split(b"\n")
                side = self.sent if direction == b">" else self.received
                side += [(at, json.loads(line)) for line in lines if line.strip()]
        self.answers = {m["id"]: (at, m) for at, m in self.received if "method" not in m}

    def all(self, method):
        return [(at, m) for at, m in self.sent + self.received if m.get("method") == method]

    def answer_times(self, method, sandboxed=False):
        return [self.answers[m["id"]][0] - at for at, m in self.all(method)
                if m["id"] in self.answers and bool(m["params"].get("sandbox")) == sandboxed]

    def command_times(self):
        for _, request in self.all("process/start"):
            if "error" in (answer := self.answers[request["id"]][1]):
                sys.exit("bench/codex: a command was refused: %s" % answer["error"])
        closed = {m["params"]["processId"]: at for at, m in self.all("process/closed")}
        return [closed[m["params"]["processId"]] - at for at, m in self.all("process/start")]


class Contender:
    """A server, with its own home and one for Codex, which are kept for all rounds."""

    def __init__(self, name, server, root):
        self.name, self.server = name, server
        self.root = pathlib.Path(root, name)
        self.client_home, self.server_home = self.root / "client", self.root / "server"
        for folder in (self.client_home, self.server_home):
            folder.mkdir(parents=True)
        self.samples = {key: [] for key, *_ in MEASURES}


class Session:
    """One `codex exec` that carries out the steps."""

    def __init__(self, bench, contender, steps, sandbox="danger-full-access", with_relay=True):
        self.bench, self.contender = bench, contender
        self.token = "bench-" + uuid.uuid4().hex
        self.folder = pathlib.Path(tempfile.mkdtemp(dir=contender.root))
        self.workspace = self.folder / "workspace"
        self.workspace.mkdir()
        self.log = self.folder / "wire"
        self.model = bench.model(steps).start()
        command = contender.server
        if with_relay:
            command = [sys.executable, os.path.abspath(__file__), "--relay", str(self.log), "--", *command]
        self.configure(command, sandbox)
        env = {k: v for k, v in os.environ.items() if not k.startswith(("OPENAI_", "CODEX_", "EXECWARD_"))}
        env.update(CODEX_HOME=str(contender.client_home), HOME=str(contender.root), NO_PROXY="127.0.0.1",
                   XDG_STATE_HOME=str(contender.root), XDG_CONFIG_HOME=str(contender.root))
        self.errors = open(self.folder / "errors", "wb")
        self.began = time.monotonic_ns() / 1e6
        self.codex = subprocess.Popen(
            [bench.codex, "exec", "--skip-git-repo-check", "--json", "-C", str(self.workspace), "go"],
            cwd=self.folder, env=env, start_new_session=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=self.errors)

    def configure(self, command, sandbox):
        home, toml = self.contender.client_home, self.bench.rig.toml
        catalog = home / "catalog.json"
        catalog.write_text(json.dumps(self.bench.rig.CATALOG))
        (home / "config.toml").write_text("\n".join([
            'model = "mock-model"', 'model_provider = "mock"', 'approval_policy = "never"',
            "sandbox_mode = " + toml(sandbox), "model_catalog_json = " + toml(str(catalog)),
            "check_for_update_on_startup = false", "[analytics]", "enabled = false",
            "[model_providers.mock]", 'name = "mock"', 'wire_api = "responses"',
            "base_url = " + toml("http://127.0.0.1:%d/v1" % self.model.port),
            "request_max_retries = 0", "stream_max_retries = 0",
            # Other programs use /tmp, too: changes there do not count.
            "[sandbox_workspace_write]", "exclude_slash_tmp = true", "exclude_tmpdir_env_var = true", ""]))
        env = {"BENCH_TOKEN": self.token, "CODEX_HOME": str(self.contender.server_home)}
        (home / "environments.toml").write_text("\n".join([
            'default = "bench"', "include_local = false", "[[environments]]", 'id = "bench"',
            "program = " + toml(command[0]), "args = " + toml(command[1:]), "env = " + toml(env), ""]))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.codex.poll() is None:
            self.codex.kill()
            self.codex.wait()
        self.left(patience=2)
        for pid in self.processes():  # our processes: they carry the token of this run
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.model.stop()
        self.errors.close()

    def finish(self):
        """Waits for Codex; returns the messages on the wire."""
        status = self.codex.wait(PATIENCE)
        if status != 0 or self.model.overrun:
            sys.exit("bench/codex: %s: codex: status %d: %s" % (
                self.contender.name, status, (self.folder / "errors").read_bytes()[-400:]))
        return Wire(self.log) if self.log.exists() else None

    def processes(self):
        return self.bench.rig.processes_with(self.token)

    def server_processes(self):
        """Returns the processes of the server itself, without those of its commands, the outermost
        first.
        """
        program = os.path.realpath(self.contender.server[0])
        return sorted(pid for pid in self.processes() if program_of(pid) == program)

    def left(self, patience=GRACE):
        deadline = time.monotonic() + patience
        while (found := self.processes()) and time.monotonic() < deadline:
            time.sleep(0.05)
        return len(found)


def shell(command, **arguments):
    return {"items": [{"call": "exec_command", "args": {"cmd": command, **arguments}}]}


DONE = {"items": [{"say": "done"}]}


def commands(bench, contender):
    with Session(bench, contender, [shell("true")] * COMMANDS + [DONE]) as session:
        wire = session.finish()
    for _ in range(3):  # Codex sometimes ends without a word to its environment
        with Session(bench, contender, [shell("echo up"), DONE]) as session:
            first = session.finish()
        if first is not None and first.all("process/output"):
            break
    else:
        sys.exit("bench/codex: %s: no output of a command reached Codex" % contender.name)
    (_, initialize), = first.all("initialize")
    return {
        "first": [first.all("process/output")[0][0] - session.began],
        "ready": [first.answers[initialize["id"]][0] - first.began],
        "command": wire.command_times(),
        "start": wire.answer_times("process/start"),
        "metadata": wire.answer_times("fs/getMetadata"),
    }


def in_a_sandbox(bench, contender):
    patches = [{"items": [{"custom": "apply_patch", "input": "*** Begin Patch\n*** Add File: %d.txt\n"
                           "+one\n*** End Patch\n" % number}]} for number in range(COMMANDS)]
    steps = [shell("true", yield_time_ms=10000)] * COMMANDS + patches + [DONE]
    with Session(bench, contender, steps, sandbox="workspace-write") as session:
        wire = session.finish()
    if not (session.workspace / ("%d.txt" % (COMMANDS - 1))).exists():
        sys.exit("bench/codex: %s: no patch was applied in a sandbox" % contender.name)
    return {"sandboxed": wire.command_times(), "write": wire.answer_times("fs/writeFile", sandboxed=True)}


def flood(bench, contender):
    command = r"head -c %d /dev/zero | tr '\0' x" % OUTPUT_BYTES
    arguments = {"session_id": "${session}", "chars": "", "yield_time_ms": 30000}
    wait = {"items": [{"call": "write_stdin", "args": arguments}]}
    # More waits than needed: those after the end fail immediately.
    steps = [shell(command, yield_time_ms=30000, max_output_tokens=1000)] + [wait] * 2 + [DONE]
    peaks = {}
    with Session(bench, contender, steps, with_relay=False) as session:
        while session.codex.poll() is None:
            for pid in session.server_processes():
                peaks[pid] = max(peaks.get(pid, 0), peak_memory(pid))
            time.sleep(0.1)
        session.finish()
        told = [at for at, body in session.model.stamped if "exited with code 0" in json.dumps(body["input"])]
        if not told:
            sys.exit("bench/codex: %s: 200 MB did not end within a minute" % contender.name)
        return {"flood": [told[0] - session.model.stamped[0][0]], "memory": [sum(peaks.values()) / 1024]}


def peak_memory(pid):
    """Returns KiB, or 0 if the process has just ended."""
    with contextlib.suppress(OSError, StopIteration):
        lines = pathlib.Path("/proc/%d/status" % pid).read_text().splitlines()
        return int(next(line for line in lines if line.startswith("VmHWM:")).split()[1])
    return 0


def left_behind(bench, contender):
    command = "echo up; setsid sleep 3600 </dev/null >/dev/null 2>&1 & sleep 3601"
    steps = [shell(command, yield_time_ms=1000), {"hang": True}]
    result = {}
    for key in ("client_killed", "server_killed"):
        with Session(bench, contender, steps, with_relay=False) as session:
            session.model.wait_for_requests(2, PATIENCE)
            if sum(c.startswith("sleep 360") for c in session.processes().values()) != 2:
                sys.exit("bench/codex: %s: the command was not up" % contender.name)
            killed = session.codex.pid if key == "client_killed" else session.server_processes()[0]
            os.kill(killed, signal.SIGKILL)
            result[key] = [session.left()]
    return result


class Bench:
    def __init__(self, options):
        sys.dont_write_bytecode = True
        sys.path.insert(0, os.path.abspath(options.rig))
        import codex_rig
        import mock_model

        class Model(mock_model.MockModel):
            """Also records the time of each request."""

            def _answer(self, handler, body):
                self.stamped = getattr(self, "stamped", []) + [(time.monotonic(), body)]
                super()._answer(handler, body)

        self.rig, self.model, self.codex = codex_rig, Model, native(options.codex)


def native(codex):
    """Returns the program behind the launcher of the npm package: a launcher costs time, and a kill
    would only hit the launcher.
    """
    path = pathlib.Path(codex).resolve()
    with open(path, "rb") as file:
        if file.read(4) == b"\x7fELF":
            return str(path)
    for folder in path.parents:
        for found in folder.glob("codex-linux-*/vendor/*/bin/codex"):
            return str(found)
    sys.exit("bench/codex: no native codex behind %s" % codex)


def print_table(own, ours, command):
    print("| | Codex's own | execward | own / execward |\n| --- | ---: | ---: | ---: |")
    for key, title, unit, summary in MEASURES:
        one, other = summary(own.samples[key]), summary(ours.samples[key])
        digits = 0 if not unit else 1 if max(one, other) >= 100 or unit == "MiB" else 2
        ratio = "%.2f" % (one / other) if unit and other else ""
        cells = ("%.*f %s" % (digits, value, unit) for value in (one, other))
        print("| %s | %s | %s |" % (title, " | ".join(map(str.strip, cells)), ratio))
    print("\n    " + command)


def main():
    if sys.argv[1:2] == ["--relay"]:
        relay(sys.argv[2], sys.argv[4:])
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--codex", required=True, help="the codex program, or its npm launcher")
    parser.add_argument("--rig", required=True, metavar="DIR", help="the folder of codex_rig.py")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", type=pathlib.Path, metavar="FILE", help="also write every sample")
    parser.add_argument("build", type=pathlib.Path, metavar="BUILD_DIR")
    options = parser.parse_args()
    bench = Bench(options)
    # Not in /tmp: Codex's exec-server sets up no sandbox for a home there.
    with tempfile.TemporaryDirectory(prefix="bench-codex-", dir="/var/tmp") as root:
        own = Contender("codex", [bench.codex, "exec-server", "--listen", "stdio"], root)
        ours = Contender("execward", [str(options.build.resolve() / "execward"), "serve"], root)
        for number in range(options.rounds + 1):
            for contender in (own, ours) if number % 2 else (ours, own):
                for measure in (commands, in_a_sandbox, flood, left_behind):
                    print("round %d: %s, %s" % (number, contender.name, measure.__name__), file=sys.stderr)
                    for key, samples in measure(bench, contender).items():
                        contender.samples[key] += samples if number else []
    if options.json:
        options.json.write_text(json.dumps({c.name: c.samples for c in (own, ours)}, indent=1) + "\n")
    print_table(own, ours, shlex.join(sys.argv))


if __name__ == "__main__":
    main()

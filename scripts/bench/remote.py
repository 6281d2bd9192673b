#!/usr/bin/env python3
"""Measures what an environment adds to the time of a command, in one run and in turns.

usage: scripts/bench/remote.py [--rounds N] [--codex PATH] [--json FILE] BUILD_DIR

The environment is another `execward serve` on this machine, and with --codex also Codex's exec-server.
There is no network in between: the result is the cost of the second server and of the way through it.
A local command is also looked up and compared with the list of harmless programs; a remote one is not.
Times are from the request to the event of the end, or to the echo. The first round is a warm-up. For
the first command the server is a fresh one that has answered `initialize`. Prints medians over all
rounds, and in brackets their ratio to the local median.
"""

import argparse
import contextlib
import json
import os
import pathlib
import shlex
import statistics
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True  # for the next lines, which import from tests/
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tests"))
from support.codex_server import HOMES, native  # noqa: E402
from support.client import encoded  # noqa: E402
from support.peer import entry  # noqa: E402

COMMANDS = 20  # in a round
ECHOES = 50
FLOOD_BYTES = 200_000_000
FLOOD = "head -c %d /dev/zero | tr '\\0' x" % FLOOD_BYTES

# Key, title of the row, unit, and seconds in that unit.
MEASURES = (
    ("first", '`["true"]`, the first one: connects', "ms", 1000),
    ("answer", '`["true"]` to the answer', "ms", 1000),
    ("command", '`["true"]` to `exec/end`', "ms", 1000),
    ("echo", "a key in a terminal, `process/write` to the delta with its echo", "ms", 1000),
    ("flood", "%d MB of output to `exec/end`" % (FLOOD_BYTES // 10**6), "s", 1),
)


class Server:
    """A minimal client of exec/command. `place`: the id of an environment."""

    def __init__(self, command, home):
        env = {k: v for k, v in os.environ.items() if not k.startswith("EXECWARD_")}
        env.update(XDG_CONFIG_HOME=str(home / "config"), XDG_STATE_HOME=str(home / "state"))
        self.child = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env, cwd=home, bufsize=0)
        self.number, self.buffer = 0, b""
        settings = {"approvalPolicy": "never", "sandbox": "danger-full-access", "workspaceRoots": [str(home)]}
        self.ask("initialize", clientName="bench", settings=settings)
        self.send({"method": "initialized"})

    def send(self, message):
        self.child.stdin.write(json.dumps(message).encode() + b"\n")

    def request(self, method, **params):
        self.number += 1
        self.send({"id": self.number, "method": method, "params": params})

    def ask(self, method, **params):
        self.request(method, **params)
        return self.wait(self.is_answer)["result"]

    def is_answer(self, message):
        return message.get("id") == self.number

    def fill(self):
        data = os.read(self.child.stdout.fileno(), 1 << 20)
        if not data:
            sys.exit("bench/remote: the server ended")
        return data

    def wait(self, is_it):
        while True:
            while b"\n" not in self.buffer:
                self.buffer += self.fill()
            line, _, self.buffer = self.buffer.partition(b"\n")
            message = json.loads(line)
            if "error" in message or message.get("result", {}).get("state") == "failed":
                sys.exit("bench/remote: %s" % line.decode())
            if is_it(message):
                return message

    def wait_event(self, method):
        return self.wait(lambda message: message.get("method") == method)

    def close(self):
        self.child.stdin.close()
        self.child.stdout.close()
        self.child.wait()


def run_true(server, place):
    """Returns the seconds to the answer and to the end."""
    began = time.perf_counter()
    server.request("exec/command", argv=["true"], environment=place)
    times = {}

    def take(message):
        if server.is_answer(message):
            times["answer"] = time.perf_counter() - began
        if message.get("method") == "exec/end":
            times["command"] = time.perf_counter() - began
        return len(times) == 2

    server.wait(take)
    return times


def commands(server, place):
    runs = [run_true(server, place) for _ in range(COMMANDS)]
    return {key: [run[key] for run in runs] for key in ("answer", "command")}


def echoes(server, place):
    argv, taken = ["cat"], []
    result = server.ask("exec/command", argv=argv, tty=True, environment=place, yieldTimeMs=250)
    for number in range(ECHOES):
        key = "<%d>" % number
        shown, at = "", []

        def take(message):
            nonlocal shown
            if message.get("method") == "exec/outputDelta":
                shown += message["params"]["delta"]
                at.append(time.perf_counter())
            return shown.count(key) == 2  # the echo of the terminal, and the output of cat

        began = time.perf_counter()
        server.request("process/write", processId=result["processId"], chunk=encoded(b"%s\n" % key.encode()))
        server.wait(take)
        taken.append(at[0] - began)
    server.request("exec/terminate", processId=result["processId"])
    server.wait_event("exec/end")
    return {"echo": taken}


def flood(server, place):
    """Does not parse the lines, which would take longer than everything else."""
    began = time.perf_counter()
    server.request("exec/command", command=FLOOD, shell="/bin/sh", environment=place,
                   yieldTimeMs=250, maxOutputTokens=1)
    count, end, data = 0, b'"method":"exec/end"', server.buffer
    while (at := data.find(end)) < 0:
        count += data[:-len(end)].count(b"x")
        data = data[-len(end):] + server.fill()
    taken = time.perf_counter() - began
    count += data[:at].count(b"x")
    data = data[at:]
    while b"\n" not in data:
        data = server.fill()
    server.buffer = data.partition(b"\n")[2]
    if count < FLOOD_BYTES:
        sys.exit("bench/remote: %d of %d bytes came from %s" % (count, FLOOD_BYTES, place))
    return {"flood": [taken]}


class Bench:
    def __init__(self, options, home):
        self.home = home
        self.command = [str(options.build.resolve() / "execward"), "serve"]
        self.places = {"local": "here", "execward": "execward there"}
        own = {"XDG_CONFIG_HOME": str(home / "there/config"), "XDG_STATE_HOME": str(home / "there/state")}
        settings = {"cwd": str(home), "workspace_roots": [str(home)]}
        entries = [entry("execward", *self.command, env=own, **settings)]
        if options.codex:
            (home / "codex").mkdir()
            self.places["codex"] = "Codex there"
            env = {"CODEX_HOME": str(home / "codex")}
            codex = [native(options.codex), "exec-server", "--listen", "stdio"]
            entries.append(entry("codex", *codex, env=env, **settings))
        config = home / "config/execward/config.toml"
        config.parent.mkdir(parents=True)
        config.write_text("\n".join(entries))
        for path in (config.parent, config):
            path.chmod(path.stat().st_mode & ~0o077)

    def round(self, places):
        """Yields place, measurement and times."""
        for place in places:
            with self.server() as server:
                yield place, "first", [run_true(server, place)["command"]]
        with self.server() as server:
            for place in places:
                run_true(server, place)  # connects
            for measure in (commands, echoes, flood):
                for place in places:
                    for key, times in measure(server, place).items():
                        yield place, key, times

    def server(self):
        return contextlib.closing(Server(self.command, self.home))


def print_table(places, samples):
    print("| | %s |" % " | ".join(places.values()))
    print("| --- | %s" % ("---: | " * len(places)).rstrip())
    for key, title, unit, factor in MEASURES:
        medians = [factor * statistics.median(samples[place][key]) for place in places]
        cells = ["%.2f %s" % (medians[0], unit)]
        cells += ["%.2f %s (%.2f)" % (median, unit, median / medians[0]) for median in medians[1:]]
        print("| %s | %s |" % (title, " | ".join(cells)))
    print("\n    " + shlex.join(sys.argv))


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--codex", metavar="PATH", help="the codex program, or its npm launcher")
    parser.add_argument("--json", type=pathlib.Path, metavar="FILE", help="also write every sample, in seconds")
    parser.add_argument("build", type=pathlib.Path, metavar="BUILD_DIR")
    options = parser.parse_args()
    # Codex does not work with a home in the temporary directory.
    with tempfile.TemporaryDirectory(prefix="bench-remote-", dir=HOMES) as home:
        bench = Bench(options, pathlib.Path(home))
        samples = {place: {key: [] for key, *_ in MEASURES} for place in bench.places}
        for number in range(options.rounds + 1):
            print("round %d of %d" % (number, options.rounds), file=sys.stderr)
            places = list(bench.places)
            for place, key, times in bench.round(places if number % 2 else places[::-1]):
                samples[place][key] += times if number else []
    if options.json:
        options.json.write_text(json.dumps(samples, indent=1) + "\n")
    print_table(bench.places, samples)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Starts confined programs for a while and checks that nothing grows.

usage: scripts/soak/starts.py [--seconds N] [--rate N] BUILD_DIR

Starts /bin/true in a sandbox RATE times a second (default: 100) for N seconds (default: 60), all in
one session. Prints, a few times, the memory of the server, its descriptors and children, the mounts
of this machine and of the session's sandbox, and what lies in the session's /tmp. The first fifth of
the time is a warm-up: the server keeps what ended programs have written for a while. Fails if anything
is more at the end than after it, or if the rate was not reached.
"""

import argparse
import json
import os
import pathlib
import queue
import re
import subprocess
import sys
import tempfile
import threading
import time

MEMORY_TOLERANCE = 1024  # kB: allocators round, and a turn of the server may be under way
COUNT = "wc -l < /proc/self/mountinfo; ls -A /tmp | wc -l"


class Server:
    """A client that starts programs without waiting for each."""

    def __init__(self, program, directory, environment):
        self.directory = directory
        self.count = 0
        self.open = set()
        self.messages = queue.Queue()
        self.process = subprocess.Popen(
            [program, "serve"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment
        )
        threading.Thread(target=self.read, daemon=True).start()
        self.send({"id": 0, "method": "initialize", "params": {"clientName": "soak"}})
        self.messages.get(timeout=60)
        self.send({"method": "initialized"})

    def read(self):
        for line in self.process.stdout:
            self.messages.put(json.loads(line))
        self.messages.put(None)

    def send(self, message):
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()

    def start(self, argv):
        self.count += 1
        name = "p%d" % self.count
        self.open.add(name)
        params = {
            "processId": name,
            "argv": argv,
            "cwd": "file://" + self.directory,
            "env": {"PATH": "/usr/bin:/bin"},
            "tty": False,
            "sandbox": {"mode": "require", "policy": "workspace-write"},
        }
        self.send({"id": self.count, "method": "process/start", "params": params})

    def take(self, timeout):
        """Takes what has come, and waits at most that long for the first message."""
        try:
            message = self.messages.get(timeout=max(timeout, 0.0001))
        except queue.Empty:
            return
        if message is None or "error" in message:
            sys.exit("soak/starts: %s" % (message or "the server has ended"))
        params = message.get("params", {})
        if message.get("method") == "process/exited" and params["exitCode"] != 0:
            sys.exit("soak/starts: a program has failed: %s" % message)
        if message.get("method") == "process/closed":
            self.open.discard(params["processId"])

    def finish(self):
        end = time.monotonic() + 60
        while self.open:
            if time.monotonic() > end:
                sys.exit("soak/starts: %d programs have not ended" % len(self.open))
            self.take(1)

    def end(self):
        self.process.stdin.close()
        self.process.wait()


def children_of(pid):
    words = pathlib.Path("/proc/%d/task/%d/children" % (pid, pid)).read_text().split()
    return [int(word) for word in words]


def memory_of(pid):
    try:
        text = pathlib.Path("/proc/%d/smaps_rollup" % pid).read_text()
    except OSError:
        return 0  # a zombie that is about to be reaped
    return int(re.search(r"Pss:\s+(\d+)", text).group(1))


def look(server, workspace):
    """Returns what there is now, by name. Nothing runs meanwhile."""
    server.finish()
    place = os.path.join(workspace, "counts")
    server.start(["/bin/sh", "-c", "{ %s; } > %s" % (COUNT, place)])
    server.finish()
    mounts, files = (int(line) for line in pathlib.Path(place).read_text().split())
    worker = children_of(server.process.pid)[0]
    return {
        "server kB": memory_of(server.process.pid) + memory_of(worker),
        "descriptors": len(os.listdir("/proc/%d/fd" % worker)),
        "children": len(children_of(worker)),
        "children kB": sum(memory_of(child) for child in children_of(worker)),
        "machine's mounts": len(pathlib.Path("/proc/self/mountinfo").read_text().splitlines()),
        "sandbox's mounts": mounts,
        "files in /tmp": files,
    }


def report(count, seen):
    print("%7d starts: %s" % (count, ", ".join("%s %d" % item for item in seen.items())), flush=True)


def measure(server, workspace, options):
    """Returns the rate, and what there was after the warm-up and at the end."""
    looks = []
    spent = 0.0
    parts = 5
    for _ in range(parts):
        begun = time.monotonic()
        count = int(options.rate * options.seconds / parts)
        for number in range(count):
            due = begun + number / options.rate
            while time.monotonic() < due or len(server.open) > 32:
                server.take(due - time.monotonic())
            server.start(["/bin/true"])
        server.finish()
        spent += time.monotonic() - begun
        looks.append(look(server, workspace))
        report(server.count, looks[-1])
    return options.rate * options.seconds / spent, looks[0], looks[-1]


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--rate", type=float, default=100)
    parser.add_argument("build", type=pathlib.Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="soak-", dir="/var/tmp") as root:
        workspace = os.path.join(root, "workspace")
        os.mkdir(workspace)
        places = {"XDG_STATE_HOME": root + "/state", "XDG_CONFIG_HOME": root + "/c"}
        environment = {**os.environ, **places}
        server = Server(str(options.build.resolve() / "execward"), workspace, environment)
        rate, before, after = measure(server, workspace, options)
        server.end()
    print("%.0f starts a second" % rate)
    grown = [
        "%s: %d, then %d" % (name, before[name], after[name])
        for name in before
        if after[name] > before[name] + (MEMORY_TOLERANCE if name.endswith("kB") else 0)
    ]
    if grown:
        sys.exit("soak/starts: more than before: " + "; ".join(grown))
    if rate < options.rate * 0.95:
        sys.exit("soak/starts: the rate was not reached")


main()

#!/usr/bin/env python3
"""Measures what a sandbox adds to the start of a program, in one run and in turns.

usage: scripts/bench/sandbox.py [--rounds N] BUILD_DIR

Compares, for /bin/true in a small workspace: bare; bubblewrap with exactly the arguments that
execward gives it, without execward-init; process/start without and with a sandbox, from the request
to process/closed, and the first one with a sandbox of a server; execward run. Times are wall clock;
the ratios count, since they come from one run.
The last columns are the ratios of the median and of the first quartile, which other programs on the
machine disturb less, to those of bubblewrap.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time


class Server:
    """A minimal client that starts programs one after the other."""

    def __init__(self, program, directory, environment):
        self.directory = directory
        self.count = 0
        self.process = subprocess.Popen(
            [program, "serve"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=directory,
            env=environment,
        )
        self.send({"id": 0, "method": "initialize", "params": {"clientName": "bench"}})
        self.wait(lambda message: message.get("id") == 0)
        self.send({"method": "initialized"})

    def send(self, message):
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()

    def wait(self, is_it):
        while True:
            message = json.loads(self.process.stdout.readline())
            if "error" in message:
                sys.exit("bench/sandbox: %s" % message["error"])
            if is_it(message):
                return message

    def run(self, sandbox):
        self.count += 1
        name = "p%d" % self.count
        params = {
            "processId": name,
            "argv": ["/bin/true"],
            "cwd": "file://" + self.directory,
            "env": {"PATH": "/usr/bin:/bin"},
            "tty": False,
        }
        if sandbox:
            params["sandbox"] = {"mode": "require", "policy": "workspace-write"}
        self.send({"id": self.count, "method": "process/start", "params": params})
        self.wait(lambda message: message.get("method") == "process/closed")

    def end(self):
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait()


def spawn(argv, file_actions=()):
    pid = os.posix_spawn(argv[0], argv, os.environ, file_actions=file_actions)
    status = os.waitpid(pid, 0)[1]
    if status != 0:
        sys.exit("bench/sandbox: %s failed: status %d" % (argv[0], status))


def arguments_of(build, directory):
    tool = str(build / "tests" / "plan_cli")
    init = str(build / "execward-init")
    return subprocess.run(
        [tool, "/usr/bin/bwrap", init, directory], stdout=subprocess.PIPE, check=True
    ).stdout


def bubblewrap(arguments):
    """bubblewrap reads the arguments up to the end, so each start gets a descriptor of its own."""
    fd = os.memfd_create("arguments")
    os.write(fd, arguments)
    os.lseek(fd, 0, os.SEEK_SET)
    place = 100
    spawn(
        ["/usr/bin/bwrap", "--args", str(place), "--", "/bin/true"],
        [(os.POSIX_SPAWN_DUP2, fd, place)],
    )
    os.close(fd)


def fill(workspace):
    """Creates a repository with all protected paths, so that no placeholders are needed."""
    subprocess.run(["git", "init", "-q", workspace], check=True)
    own = (".git/commondir", ".git/config.worktree", ".git/modules/x")
    for name in (*own, ".agents/x", ".codex/x", ".execward/x"):
        path = pathlib.Path(workspace, name)
        path.parent.mkdir(exist_ok=True)
        path.write_text("./\n")  # differs from the content of a placeholder


def timed(run):
    begun = time.perf_counter()
    run()
    return (time.perf_counter() - begun) * 1000


def first_start(program, directory, environment):
    server = Server(program, directory, environment)
    server.run(False)  # the server is at work
    time_ = timed(lambda: server.run(True))
    server.end()
    return time_


def measure(build, rounds, root):
    workspace = os.path.join(root, "workspace")
    bare_workspace = os.path.join(root, "bare")
    os.mkdir(workspace)
    os.mkdir(bare_workspace)
    fill(workspace)
    environment = {**os.environ, "XDG_STATE_HOME": root + "/state", "XDG_CONFIG_HOME": root + "/c"}
    os.environ.update(environment)
    program = str(build / "execward")
    subprocess.run([program, "doctor"], stdout=subprocess.DEVNULL, check=True)
    arguments = arguments_of(build, workspace)
    server = Server(program, workspace, environment)
    bare_server = Server(program, bare_workspace, environment)
    runs = {
        "bare": lambda: timed(lambda: spawn(["/bin/true"])),
        "bubblewrap, same arguments": lambda: timed(lambda: bubblewrap(arguments)),
        "process/start": lambda: timed(lambda: server.run(False)),
        "process/start, sandbox": lambda: timed(lambda: server.run(True)),
        "the same, with placeholders": lambda: timed(lambda: bare_server.run(True)),
        "the first of a server": lambda: first_start(program, workspace, environment),
        "execward run": lambda: timed(
            lambda: spawn([program, "run", "--directory=" + workspace, "--", "/bin/true"])
        ),
    }
    times = {name: [] for name in runs}
    for number in range(rounds + 3):
        for name, run in runs.items():
            time_ = run()
            if number >= 3:  # the first starts are a warm-up
                times[name].append(time_)
    server.end()
    bare_server.end()
    return times


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("build", type=pathlib.Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="bench-", dir="/var/tmp") as root:
        times = measure(options.build.resolve(), options.rounds, root)
    def figures(name):
        return statistics.median(times[name]), statistics.quantiles(times[name], n=4)[0]

    median_line, quartile_line = figures("bubblewrap, same arguments")
    heads = ("ms", "median", "quartile", "fastest", "ratio", "ratio")
    print("%-30s %9s %9s %9s %9s %9s" % heads)
    for name, list_ in times.items():
        median, quartile = figures(name)
        row = (name, median, quartile, min(list_), median / median_line, quartile / quartile_line)
        print("%-30s %9.2f %9.2f %9.2f %9.2f %9.2f" % row)


main()

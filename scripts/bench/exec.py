#!/usr/bin/env python3
"""What the exec layer costs: exec/command against process/start, taken in turns in one run.

usage: scripts/bench/exec.py [--rounds N] [-- SERVER…]     (default: 400 rounds, build/execward serve)

Each round runs /bin/true once in each way and measures the time from the request to the end event. The last
lines say what an approval costs: from the client's answer to exec/begin, without and with something to remember.
Times are milliseconds: median (10th and 90th percentile). The approvals are kept in a temporary database.
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

ROOT = pathlib.Path(__file__).resolve().parents[2]


class Server:
    def __init__(self, command, home, policy):
        env = dict(os.environ, HOME=home, XDG_CONFIG_HOME=f"{home}/config", XDG_STATE_HOME=f"{home}/state")
        self.home = home
        self.child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env)
        self.number = 0
        self.request("initialize", clientName="bench", capabilities={"approvals": True, "extensions": True},
                     settings={"approvalPolicy": policy, "sandbox": "danger-full-access", "workspaceRoots": [home]})
        self.read_until(lambda message: message.get("id") == self.number)
        self.send({"method": "initialized"})

    def send(self, message):
        self.child.stdin.write(json.dumps(message).encode() + b"\n")
        self.child.stdin.flush()

    def request(self, method, **params):
        self.number += 1
        self.send({"id": self.number, "method": method, "params": params})

    def read_until(self, wanted):
        while True:
            line = self.child.stdout.readline()
            if not line:
                sys.exit("bench/exec: the server ended")
            message = json.loads(line)
            if wanted(message):
                return message

    def close(self):
        self.child.stdin.close()
        self.child.wait()


def start_process(server, name):
    begin = time.perf_counter()
    server.request("process/start", processId=name, argv=["/bin/true"], cwd="/", env={}, tty=False)
    server.read_until(lambda message: message.get("method") == "process/closed")
    return time.perf_counter() - begin


def run_command(server, command):
    begin = time.perf_counter()
    server.request("exec/command", workdir="/", **command)
    answer = server.read_until(lambda message: message.get("id") == server.number)
    took = time.perf_counter() - begin
    server.read_until(lambda message: message.get("method") == "exec/end")
    if answer["result"]["exitCode"] != 0:
        sys.exit(f"bench/exec: {answer}")
    return took


def approve(server, name, answer):
    server.request("exec/command", argv=["/bin/true", name], workdir=server.home, env={"LD_LIBRARY_PATH": name})
    question = server.read_until(lambda message: message.get("method") == "approval/request")
    begin = time.perf_counter()
    server.send({"id": question["id"], "result": answer})
    server.read_until(lambda message: message.get("method") == "exec/begin")
    took = time.perf_counter() - begin
    server.read_until(lambda message: message.get("method") == "exec/end")
    return took


def shown(times):
    times = sorted(1000 * t for t in times)
    return f"{statistics.median(times):7.3f} ({times[len(times) // 10]:.3f} to {times[len(times) * 9 // 10]:.3f})"


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--rounds", type=int, default=400)
    parser.add_argument("server", nargs="*", default=[str(ROOT / "build/execward"), "serve"])
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as home:
        server = Server(options.server, home, "untrusted")
        ways = {
            "process/start /bin/true": lambda i: start_process(server, f"p{i}"),
            "exec/command argv, known to be harmless": lambda i: run_command(server, {"argv": ["/bin/true"]}),
            "exec/command script, known to be harmless": lambda i: run_command(server, {"command": "true"}),
        }
        times = {name: [] for name in ways}
        for i in range(options.rounds):
            for name, run in ways.items():
                times[name].append(run(i))
        for name, taken in times.items():
            print(f"{name:46} {shown(taken)}")
        base, argv = (statistics.median(times[name]) for name in list(ways)[:2])
        print(f"{'the exec layer adds':46} {1000 * (argv - base):7.3f}")
        answers = {"once": {"decision": "approved"}, "for the session": {"decision": "approvedForSession"}}
        for name, answer in answers.items():
            taken = [approve(server, f"{name}{i}", answer) for i in range(options.rounds // 4)]
            print(f"{'an approval, ' + name + ': answer to begin':46} {shown(taken)}")
        server.close()


if __name__ == "__main__":
    main()

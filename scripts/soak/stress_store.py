#!/usr/bin/env python3
"""Kills servers at random while they keep approvals in one database, and looks for lost approvals.

    scripts/soak/stress_store.py [--count N] [--servers N] [--seed N] -- SERVER COMMAND...

Every server asks about command after command; each is approved for the project, and counts as
acknowledged when the call is answered. Keepers and workers get SIGKILL at random moments and are
started again. At the end each acknowledged approval must be listed, once, and the database must be
whole. The last line is 'N passed, N failed', counted in approvals and in checks at the end; the
exit status is 1 on failure.
"""

import argparse
import collections
import contextlib
import json
import os
import random
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time

PATIENCE = 60.0
SETTINGS = {"approvalPolicy": "untrusted", "sandbox": "danger-full-access"}
ANSWER = {"decision": "approvedForSession", "scope": "project"}


class Ended(Exception):
    """The server has ended, as this script expects."""


class Server:
    """One server, and a client that answers every question with yes."""

    def __init__(self, command, surroundings):
        self.child = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0, **surroundings
        )
        self.lines = self.child.stdout
        self.buffer = b""
        self.last_id = 0

    def pids(self):
        """Returns the keeper and, if it exists, the worker."""
        path = "/proc/%d/task/%d/children" % (self.child.pid, self.child.pid)
        try:
            with open(path) as file:
                return [self.child.pid] + [int(pid) for pid in file.read().split()]
        except OSError:
            return [self.child.pid]

    def send(self, message):
        try:
            self.child.stdin.write((json.dumps(message) + "\n").encode())
        except OSError as error:
            raise Ended from error

    def receive(self):
        while b"\n" not in self.buffer:
            data = self.lines.read(65536)
            if not data:
                raise Ended
            self.buffer += data
        line, self.buffer = self.buffer.split(b"\n", 1)
        return json.loads(line)

    def call(self, method, params):
        """Returns the response to a request, and answers the questions that come before it."""
        self.last_id += 1
        self.send({"jsonrpc": "2.0", "id": self.last_id, "method": method, "params": params})
        while True:
            message = self.receive()
            if message.get("method") == "approval/request":
                self.send({"jsonrpc": "2.0", "id": message["id"], "result": ANSWER})
            elif "method" not in message and message.get("id") == self.last_id:
                return message

    def handshake(self):
        params = {
            "clientName": "stress_store",
            "capabilities": {"approvals": True},
            "settings": SETTINGS,
        }
        answer = self.call("initialize", params)
        if "error" in answer:
            raise SystemExit("initialize: %s" % answer["error"])
        self.send({"jsonrpc": "2.0", "method": "initialized"})

    def end(self):
        with contextlib.suppress(OSError):
            self.child.kill()
        self.child.wait()
        while self.lines.read(65536):  # until the worker has ended, too
            pass
        self.child.stdin.close()
        self.lines.close()


class Stress:
    def __init__(self, options, command):
        self.options, self.command = options, command
        self.root = tempfile.mkdtemp(prefix="stress-store-")
        self.project = os.path.join(self.root, "project")
        os.mkdir(self.project)
        self.database = os.path.join(self.root, "state.db")
        environment = {
            "PATH": os.environ.get("PATH", "/usr/bin:/bin"),
            "HOME": self.root,
            "XDG_STATE_HOME": os.path.join(self.root, "state"),
            "XDG_CONFIG_HOME": os.path.join(self.root, "config"),
        }
        self.surroundings = {"cwd": self.project, "env": environment}
        self.servers = {}  # by the number of the thread that uses it
        self.acknowledged = []
        self.failures = []
        self.changed = threading.Condition()
        self.kills = collections.Counter()
        self.is_over = False

    def talk(self, number):
        """Approves one command after the other, while its servers are killed."""
        serial = 0
        while not self.is_over:
            server = Server([*self.command, "--database", self.database], self.surroundings)
            self.servers[number] = server
            try:
                server.handshake()
                while not self.is_over:
                    serial += 1
                    self.approve(server, "f-%d-%d" % (number, serial))
            except Ended:
                pass
            finally:
                server.end()

    def approve(self, server, name):
        params = {"command": "touch " + name, "workdir": self.project}
        answer = server.call("exec/command", params)
        result, error = answer.get("result", {}), answer.get("error", {})
        if error.get("data", {}).get("kind") == "shuttingDown":  # its keeper was killed
            raise Ended
        with self.changed:
            # The command had been approved and started, and was killed with its server.
            if result.get("exitCode") == 0 or result.get("signal") == "SIGKILL":
                self.acknowledged.append(name)
            else:
                self.failures.append("%s: %s" % (name, json.dumps(answer)[:300]))
            self.changed.notify_all()

    def kill_some(self, chance):
        """Repeats until enough approvals were acknowledged: waits for a few more and for a moment,
        then kills.
        """
        while len(self.acknowledged) < self.options.count and not self.failures:
            goal = min(len(self.acknowledged) + chance.randint(1, 30), self.options.count)
            with self.changed:
                if not self.changed.wait_for(
                    lambda: len(self.acknowledged) >= goal or self.failures, PATIENCE
                ):
                    self.failures.append("nothing was acknowledged for %d s" % PATIENCE)
            time.sleep(chance.uniform(0, 0.005))
            server = self.servers.get(chance.randrange(self.options.servers))
            if server is None or server.child.poll() is not None:
                continue
            pids = server.pids()
            victim = chance.randrange(len(pids))
            with contextlib.suppress(OSError):
                os.kill(pids[victim], signal.SIGKILL)
                self.kills["worker" if victim else "keeper"] += 1

    def run(self):
        chance = random.Random(self.options.seed)
        threads = [
            threading.Thread(target=self.talk, args=(number,))
            for number in range(self.options.servers)
        ]
        for thread in threads:
            thread.start()
        try:
            self.kill_some(chance)
        finally:
            self.is_over = True
            for server in list(self.servers.values()):
                with contextlib.suppress(OSError):
                    server.child.kill()
            for thread in threads:
                thread.join()

    def listed(self):
        """Returns how often each file name is in the list of approvals."""
        arguments = ["approvals", "list", "--json", "--database", self.database]
        done = subprocess.run(
            [self.command[0], *arguments], capture_output=True, text=True, **self.surroundings
        )
        if done.returncode != 0:
            self.failures.append("approvals list: " + done.stderr)
            return collections.Counter()
        approvals = json.loads(done.stdout)["approvals"]
        return collections.Counter(
            name for one in approvals for name in re.findall(r"f-\d+-\d+", one["command"])
        )

    def checks(self):
        """Returns what must hold at the end, as pairs of a sentence and whether it holds."""
        listed = self.listed()
        lost = [name for name in self.acknowledged if listed[name] == 0]
        doubled = [name for name, count in listed.items() if count > 1]
        yield "nothing that was acknowledged is lost: %s" % lost[:5], not lost
        yield "nothing is listed twice: %s" % doubled[:5], not doubled
        connection = sqlite3.connect(self.database)
        verdict = connection.execute("pragma integrity_check").fetchone()[0]
        yield "the database is whole: %s" % verdict, verdict == "ok"
        halves = connection.execute(
            "select count(*) from grants where not exists"
            " (select 1 from audit where rule = 'grant ' || grants.id)"
        ).fetchone()[0]
        yield "every approval has its decision in the audit: %d have not" % halves, halves == 0
        connection.close()


def main():
    parser = argparse.ArgumentParser(usage="%(prog)s [options] -- SERVER COMMAND...")
    parser.add_argument("--count", type=int, default=1000, help="approvals (default 1000)")
    parser.add_argument("--servers", type=int, default=4, help="servers at a time (default 4)")
    parser.add_argument("--seed", type=int, default=1, help="seed of what is random (default 1)")
    arguments = sys.argv[1:]
    cut = arguments.index("--") if "--" in arguments else len(arguments)
    options, command = parser.parse_args(arguments[:cut]), arguments[cut + 1 :]
    if not command:
        parser.error("no server command after --")
    command[0] = os.path.abspath(command[0]) if os.path.exists(command[0]) else command[0]

    stress = Stress(options, command)
    began = time.monotonic()
    try:
        stress.run()
        checks = list(stress.checks())
    finally:
        shutil.rmtree(stress.root, ignore_errors=True)
    print(
        "%.1f s, killed %d keepers and %d workers"
        % (time.monotonic() - began, stress.kills["keeper"], stress.kills["worker"])
    )
    failures = stress.failures + [sentence for sentence, holds in checks if not holds]
    for failure in failures:
        print("FAIL", failure)
    passed = len(stress.acknowledged) + sum(holds for _, holds in checks)
    print("%d passed, %d failed" % (passed, len(failures)))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())

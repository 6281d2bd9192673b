#!/usr/bin/env python3
"""Kills servers, sandboxes and confined commands at random moments, and looks for what is left.

    scripts/soak/kills.py [--count N] [--seed N] -- SERVER COMMAND...

Each round starts some commands in the session's sandbox (a tree, a daemon, a flood, a writer, one that makes a
repository) and kills one process: a command or one below it, a process of the sandbox, the worker or the server.
Every start must then be answered and every command be told as ended, the next command must run, and nothing may
live on. In the end no mount and no stand-in may be left. The last line is
'N passed, N failed', counted in rounds and in checks at the end; the exit status is 1 on failure.
"""

import argparse
import os
import random
import shutil
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
    eventually,
    file_uri,
    kill_quietly,
    sweep,
)
from support.sandboxes import PLACEHOLDERS, mode

COMMANDS = {
    "short": "true",
    "tree": "(sleep 1000 & sleep 1000 & wait) & wait",
    "daemon": "setsid sh -c 'exec >/dev/null 2>&1; sleep 1000' & exit 3",
    "flood": "yes",
    "writer": "while :; do echo x > file; rm file; done",
    "repository": "mkdir -p sub; cd sub; rm -rf .git; while :; do git init -q .; rm -rf .git; done",
    "ignores": "trap '' TERM INT HUP; while :; do sleep 1000; done",
}


def tree_below(pid):
    """Returns the processes below this one, the children first."""
    found = children_of(pid)
    for child in list(found):
        found += tree_below(child)
    return found


class Kills:
    def __init__(self, command, directory, seed):
        self.command, self.directory, self.chance = command, directory, random.Random(seed)
        self.mark, self.server, self.started = uuid.uuid4().hex, None, 0
        self.workspace = os.path.join(directory, "workspace")
        os.mkdir(self.workspace)
        self.counts = {}

    def path(self, name):
        return os.path.join(self.directory, name)

    def serve(self):
        if self.server is None:
            env = {"HOME": self.directory, "XDG_STATE_HOME": self.path("state"), "XDG_CONFIG_HOME": self.path("config")}
            self.server = Server(self.command, self.directory, self.mark, env=env)
        return self.server

    def begin(self, script):
        self.started += 1
        name = "p%d" % self.started
        params = self.server.start_params(
            name, ["sh", "-c", script], sandbox=mode(), cwd=file_uri(self.workspace), tty=self.chance.random() < 0.3
        )
        return name, self.server.request("process/start", params)

    def victim(self):
        """Returns what is killed, and its process; None if nothing of that kind runs."""
        worker = self.server.worker()
        kind = self.chance.choices(("command", "sandbox", "worker", "server"), (8, 6, 1, 1))[0]
        if kind == "server":
            return kind, self.server.pid
        if kind == "worker":
            return kind, worker
        near = children_of(worker)
        candidates = near if kind == "sandbox" else [pid for child in near for pid in tree_below(child)]
        return (kind, self.chance.choice(candidates)) if candidates else None

    def round(self):
        server = self.serve()
        names = [self.begin(self.chance.choice(list(COMMANDS.values()))) for _ in range(self.chance.randrange(1, 5))]
        if self.chance.random() < 0.5:
            for _, request in names:
                server.reply(request)
        time.sleep(self.chance.random() ** 3 * 0.05)  # anywhere in a start, or soon after it
        chosen = self.victim()
        if chosen is None:
            return self.finish(names)
        kind, pid = chosen
        self.counts[kind] = self.counts.get(kind, 0) + 1
        server.may_be_cut = server.may_be_cut or kind in ("worker", "server")
        kill_quietly(pid)
        if kind in ("worker", "server"):
            server.exit_status()
            server.verify()
            self.server = None
            eventually(lambda: not self.left(), "the end of everything that the server started")
        else:
            self.finish(names)
        return None

    def left(self):
        return carriers(self.mark, SERVER_MARK) + carriers(self.mark, PROGRAM_MARK)

    def finish(self, names):
        for name, request in names:
            if "result" in self.server.reply(request):
                self.server.call("process/terminate", {"processId": name})
                self.server.wait_closed(name)
        name, request = self.begin("echo works")
        check("result" in self.server.reply(request), "the next command does not start")
        check(b"works" in self.server.wait_closed(name).output(), "the next command does not run")

    def end(self):
        """Returns what is wrong in the end."""
        if self.server is not None:
            check(self.server.end() == 0, "exit status at the end of input")
            self.server.verify()
            self.server = None
        eventually(lambda: not self.left(), "the end of all programs")
        self.serve()  # a new server sweeps what killed ones have left
        name, request = self.begin("true")
        self.server.reply(request)
        self.server.wait_closed(name)
        check(self.server.end() == 0, "exit status of the last server")
        left = [name for name in PLACEHOLDERS if os.path.lexists(os.path.join(self.workspace, name))]
        check(not left, "stand-ins are left: %s" % left)


def mounts():
    with open("/proc/self/mountinfo", encoding="utf-8") as file:
        return sorted(line.split()[4] for line in file)


def main():
    parser = argparse.ArgumentParser(usage="%(prog)s [options] -- SERVER COMMAND...")
    parser.add_argument("--count", type=int, default=1000, help="kills (default 1000)")
    parser.add_argument("--seed", type=int, default=1, help="seed of everything random (default 1)")
    split = sys.argv.index("--") if "--" in sys.argv else len(sys.argv)
    options, command = parser.parse_args(sys.argv[1:split]), sys.argv[split + 1 :]
    if not command:
        parser.error("expected -- SERVER COMMAND...")
    command = [os.path.abspath(command[0]), *command[1:]]
    directory = os.path.realpath(tempfile.mkdtemp(prefix="execward-kills-", dir="/var/tmp"))
    before, passed, failed = mounts(), 0, 0
    kills = Kills(command, directory, options.seed)
    try:
        while sum(kills.counts.values()) < options.count and failed == 0:
            try:
                kills.round()
                passed += 1
            except Failure as failure:
                failed += 1
                print("round %d: %s" % (passed + failed, failure))
        if failed == 0:
            kills.end()
            check(mounts() == before, "mounts are left: %s" % (set(mounts()) - set(before)))
            passed += 1
    except Failure as failure:
        failed += 1
        print(failure)
    finally:
        sweep(kills.mark)
        shutil.rmtree(directory, ignore_errors=True)
    print("kills: %s" % ", ".join("%d of a %s" % (count, kind) for kind, count in sorted(kills.counts.items())))
    print("%d passed, %d failed" % (passed, failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

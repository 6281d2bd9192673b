#!/usr/bin/env python3
"""Measures what a confined start costs in a large workspace, compared with an empty one.

usage: scripts/bench/walk.py [--directories N,...] [--patterns N] [--rounds N] [--cold] BUILD_DIR

For each size it makes a tree of that many directories with a few files each, and starts /bin/true in a
sandbox with denyRead patterns, again and again in one session for each tree, in turn. It prints the first
start, then the median and the fastest of later ones, the medians of starts right after 1 and after 1 000
directories have each got a new directory, and the memory of the process that keeps the walk. --cold drops the
caches of the kernel before each first start, for which it has to be root.
"""

import argparse
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import time


def make_tree(root, directories):
    """Ten directories at the top, ten in each of these, and so on, with three files each."""
    level, made = [root], 0
    while made < directories:
        level = [os.path.join(above, "d%d" % i) for above in level for i in range(10)]
        for directory in level[: directories - made]:
            os.mkdir(directory)
            for name in ("a.c", "b.h", "c.txt"):
                os.mknod(os.path.join(directory, name))
        made += len(level)


class Session:
    def __init__(self, program, directory, patterns):
        self.directory, self.patterns, self.count, self.notes = directory, patterns, 0, []
        self.process = subprocess.Popen(
            [program, "serve"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd="/"
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
                sys.exit("bench/walk: %s" % message["error"])
            if is_it(message):
                return message

    def run(self):
        """Returns the milliseconds from the request to the end of the program."""
        begun = time.perf_counter()
        self.count += 1
        policy = {"type": "workspace-write", "denyRead": self.patterns}
        params = {
            "processId": "p%d" % self.count,
            "argv": ["/bin/true"],
            "cwd": "file://" + self.directory,
            "env": {"PATH": "/usr/bin:/bin"},
            "tty": False,
            "sandbox": {"mode": "require", "policy": policy},
        }
        self.send({"id": self.count, "method": "process/start", "params": params})
        self.wait(lambda message: message.get("method") == "process/closed")
        return (time.perf_counter() - begun) * 1000

    def end(self):
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait()

    def kept_memory(self):
        """Returns the megabytes of the process that keeps the walk; 0: there is none."""
        above = {self.process.pid}
        for pid in sorted(int(name) for name in os.listdir("/proc") if name.isdigit()):
            try:
                status = pathlib.Path("/proc/%d/status" % pid).read_text()
                words = pathlib.Path("/proc/%d/cmdline" % pid).read_bytes().split(b"\0")
            except OSError:
                continue
            if int(re.search(r"PPid:\s+(\d+)", status).group(1)) not in above:
                continue
            above.add(pid)
            if words[1:2] == [b"walk"]:
                return int(re.search(r"VmRSS:\s+(\d+)", status).group(1)) / 1024
        return 0


class Tree:
    """A workspace with a session of its own."""

    def __init__(self, program, root, size, patterns, is_cold):
        self.size = size
        self.workspace = os.path.join(root, "w%d" % size)
        os.mkdir(self.workspace)
        make_tree(self.workspace, size)
        self.directories = [above for above, _, _ in os.walk(self.workspace)]
        self.made = 0
        if is_cold:
            drop_caches()
        self.session = Session(program, self.workspace, patterns)
        self.first = self.session.run()
        self.times = {0: [], 1: [], 1000: []}

    def settle(self):
        """Starts until the walk is kept."""
        for _ in range(5):
            self.session.run()

    def measure(self, changes):
        self.made += 1
        for number in range(changes):
            above = self.directories[number % len(self.directories)]
            os.mkdir(os.path.join(above, "new%d-%d" % (self.made, number)))
        self.times[changes].append(self.session.run())

    def row(self):
        medians = [statistics.median(self.times[changes]) for changes in (0, 1, 1000)]
        memory = self.session.kept_memory()
        return (self.size, self.first, medians[0], min(self.times[0]), *medians[1:], memory)


def drop_caches():
    os.sync()
    pathlib.Path("/proc/sys/vm/drop_caches").write_text("3")


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--directories", default="0,30000,100000")
    parser.add_argument("--patterns", type=int, default=15)
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--cold", action="store_true")
    parser.add_argument("build", type=pathlib.Path)
    options = parser.parse_args()
    program = str(options.build.resolve() / "execward")
    patterns = ["**/*.secret%d" % i for i in range(options.patterns)]
    heads = ("directories", "first, ms", "median, ms", "fastest", "1 new", "1000 new", "kept, MB")
    print(" ".join("%11s" % head for head in heads))
    with tempfile.TemporaryDirectory(prefix="bench-", dir="/var/tmp") as root:
        os.environ.update({"XDG_STATE_HOME": root + "/state", "XDG_CONFIG_HOME": root + "/config"})
        subprocess.run([program, "doctor"], stdout=subprocess.DEVNULL, check=True)
        sizes = [int(text) for text in options.directories.split(",")]
        trees = [Tree(program, root, size, patterns, options.cold) for size in sizes]
        for tree in trees:
            tree.settle()
        for changes, rounds in ((0, options.rounds), (1, options.rounds), (1000, 5)):
            for _ in range(rounds):
                for tree in trees:
                    tree.measure(changes)
        for tree in trees:
            print("%11d " % tree.size + " ".join("%11.1f" % value for value in tree.row()[1:]))
            tree.session.end()


main()

#!/usr/bin/env python3
"""Measures what a confined start costs in a large workspace, compared with an empty one.

usage: scripts/bench/walk.py [--directories N,...] [--patterns N] [--rounds N] [--cold] BUILD_DIR

For each size it makes a tree of that many directories with a few files each, and starts /bin/true in a
sandbox with denyRead patterns, again and again in one session. It prints the first start, and the
median of the later ones. --cold drops the caches of the kernel before
each first start, for which it has to be root.
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
    print("%12s %12s %12s %12s" % ("directories", "first, ms", "median, ms", "fastest, ms"))
    with tempfile.TemporaryDirectory(prefix="bench-", dir="/var/tmp") as root:
        os.environ.update({"XDG_STATE_HOME": root + "/state", "XDG_CONFIG_HOME": root + "/config"})
        subprocess.run([program, "doctor"], stdout=subprocess.DEVNULL, check=True)
        for size in [int(text) for text in options.directories.split(",")]:
            workspace = os.path.join(root, "w%d" % size)
            os.mkdir(workspace)
            make_tree(workspace, size)
            if options.cold:
                drop_caches()
            session = Session(program, workspace, patterns)
            first = session.run()
            for _ in range(5):
                session.run()
            times = [session.run() for _ in range(options.rounds)]
            session.end()
            print(
                "%12d %12.1f %12.1f %12.1f"
                % (size, first, statistics.median(times), min(times))
            )


main()

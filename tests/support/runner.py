"""Runs black-box tests: functions marked with @test.

    python3 tests/blackbox/room/test_x.py [--only TEXT] [--jobs N] [--times] [--list] -- SERVER COMMAND...

Each runs in a process of its own, with its own server and directory. Prints 'PASS name' or
'FAIL name: why' for each, and 'N passed, N failed' as the last line; the exit status is 1 on
failure. EXECWARD_TEST_SLACK=N stretches every limit, for sanitizer builds and busy machines.
"""

import argparse
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
import uuid

from support.client import (
    PATIENCE,
    SERVER_MARK,
    Failure,
    Server,
    carriers,
    command_line,
    equal,
    eventually,
    load_validator,
    sweep,
)

LIMIT = 3 * PATIENCE
TESTS = []


def test(function=None, *, alone=False):
    """Marks a test. A test that measures time, memory or work runs alone, after the others."""
    if function is None:
        return lambda real: test(real, alone=alone)
    TESTS.append((function.__name__, function, alone))
    return function


class Scene:
    """The resources of a test: a directory, and servers that are ended and checked after the test.
    """

    def __init__(self, command, directory, mark):
        self.command, self.directory, self.mark = command, directory, mark
        self.servers = []

    def server(self, *flags, **options):
        server = Server(self.command, self.directory, self.mark, flags, **options)
        self.servers.append(server)
        return server

    def once(self, *arguments, **options):
        """Runs execward with these arguments to its end. Returns output and status."""
        return subprocess.run(
            [self.command[0], *arguments],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            **options,
        )

    def path(self, *names):
        return os.path.join(self.directory, *names)

    def file(self, name, content="", mode=0o644):
        path = self.path(name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as file:
            file.write(content)
        os.chmod(path, mode)
        return path

    def finish(self):
        """Checks after every test that servers end by themselves, no rule was broken, and nothing
        is left.
        """
        for server in self.servers:
            if server.child.poll() is None:
                server.resume_reading()
                equal(server.end(), 0, "exit status at the end of input")
            server.verify()
        try:
            eventually(lambda: not self.leftovers(), "the end of all programs")
        except Failure:
            raise Failure(
                "left behind: %s" % {pid: command_line(pid) for pid in self.leftovers()}
            ) from None

    def leftovers(self):
        return carriers(self.mark) + carriers(self.mark, SERVER_MARK)

    def discard(self):
        for server in self.servers:
            server.discard()


def run_here(function, command, directory, mark):
    """Runs one test. Returns whether it passed, and prints the reason of a failure."""
    scene = Scene(command, directory, mark)
    try:
        function(scene)
        scene.finish()
        return True
    except Failure as failure:
        where = traceback.extract_tb(failure.__traceback__)
        lines = [
            entry.lineno for entry in where if os.path.basename(entry.filename).startswith("test_")
        ]
        print("%s%s" % ("line %d: " % lines[-1] if lines else "", failure))
    except Exception:
        print("the test itself failed: " + traceback.format_exc())
    finally:
        scene.discard()
    return False


class Run:
    """A test in a process of its own, so that it can be given up without harm to others."""

    def __init__(self, name, function, command, root):
        self.name, self.mark, self.began = name, uuid.uuid4().hex, time.monotonic()
        self.directory = os.path.join(root, self.mark[:8])
        os.mkdir(self.directory)
        self.said_path = os.path.join(root, self.mark[:8] + ".out")
        self.pid = os.fork()
        if self.pid == 0:
            self._be_the_test(function, command)

    def _be_the_test(self, function, command):
        status = 1
        try:
            output = os.open(self.said_path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
            nothing = os.open(os.devnull, os.O_RDONLY)
            for old, new in ((nothing, 0), (output, 1), (output, 2)):
                os.dup2(old, new)
            os.close(nothing)
            os.close(output)
            status = 0 if run_here(function, command, self.directory, self.mark) else 1
            sys.stdout.flush()
        finally:
            os._exit(status)

    def seconds(self):
        return time.monotonic() - self.began

    def outcome(self):
        """Returns None while the test runs, then whether it passed and its output."""
        pid, status = os.waitpid(self.pid, os.WNOHANG)
        if pid == 0 and self.seconds() < LIMIT:
            return None
        late = pid == 0
        if late:
            os.kill(self.pid, signal.SIGKILL)
            _, status = os.waitpid(self.pid, 0)
        sweep(self.mark)
        with open(self.said_path) as file:
            said = file.read().strip()
        if late:
            said = "took longer than %d s; %s" % (LIMIT, said)
        return status == 0, said or "the test ended with status %d" % status


def report(run, passed, said, options):
    took = "  (%.1f s)" % run.seconds() if options.times else ""
    print(
        "PASS %s%s" % (run.name, took)
        if passed
        else "FAIL %s: %s%s" % (run.name, said.replace("\n", "\n     "), took),
        flush=True,
    )


def run_some(tests, jobs, options, command, root):
    """Runs tests, up to a number in parallel. Returns how many failed."""
    waiting, running, failed = list(tests), [], 0
    while waiting or running:
        while waiting and len(running) < jobs:
            running.append(Run(*waiting.pop(0), command, root))
        for run in list(running):
            outcome = run.outcome()
            if outcome:
                running.remove(run)
                failed += not outcome[0]
                report(run, *outcome, options)
        time.sleep(0.01)
    return failed


def run_all(options, command):
    chosen = [entry for entry in TESTS if any(text in entry[0] for text in options.only or [""])]
    if options.part:
        chosen = [entry for entry in chosen if entry[2] == (options.part == "alone")]
    if options.list:
        print("\n".join(name for name, _, _ in chosen))
        return 0
    root = tempfile.mkdtemp(prefix="blackbox-")
    load_validator()
    try:
        together = [(name, function) for name, function, alone in chosen if not alone]
        one_by_one = [(name, function) for name, function, alone in chosen if alone]
        failed = run_some(together, options.jobs, options, command, root)
        failed += run_some(one_by_one, 1, options, command, root)
    finally:
        if not options.keep:
            shutil.rmtree(root, ignore_errors=True)
    print("%d passed, %d failed" % (len(chosen) - failed, failed))
    return 1 if failed else 0


def heed_signals():
    """A shell without job control, and nohup, let their background processes ignore some signals. The programs of
    the tests must not inherit that.
    """
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM):
        if signal.getsignal(number) == signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)


def main():
    heed_signals()
    arguments = sys.argv[1:]
    own, command = (
        (arguments[: arguments.index("--")], arguments[arguments.index("--") + 1 :])
        if "--" in arguments
        else (arguments, [])
    )
    parser = argparse.ArgumentParser(usage="%(prog)s [options] -- SERVER COMMAND...")
    parser.add_argument(
        "--only",
        action="append",
        metavar="TEXT",
        help="only tests whose name holds TEXT; repeatable",
    )
    parser.add_argument(
        "--part",
        choices=("together", "alone"),
        help="only the tests that may run beside others, or only those that run alone",
    )
    parser.add_argument("--jobs", type=int, default=4, help="tests at a time (default 4)")
    parser.add_argument("--times", action="store_true", help="print the seconds of each")
    parser.add_argument("--list", action="store_true", help="print the names and stop")
    parser.add_argument("--keep", action="store_true", help="keep the directories")
    options = parser.parse_args(own)
    if not command and not options.list:
        parser.error("no server command after --")
    if command and os.path.exists(command[0]):
        command[0] = os.path.abspath(command[0])
    sys.exit(run_all(options, command))

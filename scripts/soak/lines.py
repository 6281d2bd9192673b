#!/usr/bin/env python3
"""Sends mutated requests to a server and checks that it answers, goes on and ends well.

    scripts/soak/lines.py [--count N] [--round N] [--seed N] -- SERVER COMMAND...

The lines are those of tests/transcripts with bytes, members, values, methods and nesting changed. They may
ask for anything, so the server runs in a sandbox of bubblewrap, where only a private /tmp can be written.
After each round, a new server begins. This must hold:

- the server answers a last request, and ends with status 0 when its input ends;
- each line that it writes is a JSON object, and no request is answered twice;
- it reports no failed check, and a sanitizer finds nothing.

The lines of a round that fails are kept in a new folder for temporary files, and the output names it. The last
line is 'N passed, N failed', counted in rounds; the exit status is 1 on failure.
"""

import argparse
import copy
import json
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
TRANSCRIPTS = ROOT / "tests" / "transcripts"
WORK = "/tmp/work"
PATIENCE = 120  # seconds for the last answer and for the end
BURST = 200  # lines between two looks at how much has been read
COMPLAINTS = ("CHECK", "runtime error", "Sanitizer", "terminate called", "Assertion")
ODD = (
    None,
    True,
    -1,
    0,
    1.5,
    -0.0,
    2**31,
    2**63,
    2**64,
    10**400,
    "",
    "\0",
    "\ud800",
    "é" * 3000,
    "/",
    "..",
    "file:///",
    "$" * 70000,
    [],
    {},
    [[]],
    {"": None},
)


def requests():
    """Returns the requests of all transcripts that neither end the server nor begin its session."""
    found = []
    for path in sorted(TRANSCRIPTS.glob("*.transcript")):
        for line in path.read_text().splitlines():
            if not line.startswith("> {"):
                continue
            try:
                message = json.loads(line[2:].replace("$dir", WORK))
            except ValueError:
                continue
            if message.get("method") not in ("exit", "shutdown", "initialize", "initialized"):
                found.append(message)
    return found


class Mutator:
    def __init__(self, seeds, chance):
        self.seeds, self.chance = seeds, chance
        self.methods = sorted({seed["method"] for seed in seeds if "method" in seed})

    def line(self):
        """Returns a line without its end, and its id if no other line can have it."""
        name = self.chance.randbytes(8).hex()
        message = copy.deepcopy(self.chance.choice(self.seeds))
        if "method" in message and "id" in message:
            message["id"] = name
        for _ in range(self.chance.randrange(4)):
            self.change(message)
        known = name if message.get("id") == name else None
        line = json.dumps(message, ensure_ascii=self.chance.random() < 0.5)
        line = line.encode("utf-8", "surrogatepass")
        if self.chance.random() < 0.3:
            return self.broken(line), None
        return line, known

    def change(self, message):
        holder = message
        while True:  # goes down to a random depth
            inner = [one for one in values(holder) if isinstance(one, (dict, list)) and one]
            if not inner or self.chance.random() < 0.3:
                break
            holder = self.chance.choice(inner)
        if not holder:
            return
        place = self.chance.choice(list(holder) if isinstance(holder, dict) else range(len(holder)))
        kind = self.chance.randrange(7)
        if kind == 0:
            del holder[place]
        elif kind == 1:
            holder[place] = self.chance.choice(ODD)
        elif kind == 2:
            holder[place] = self.part_of(self.chance.choice(self.seeds))
        elif kind == 3 and isinstance(holder, dict):
            holder[self.chance.choice(("", "x", "cwd", "id", "method", str(place) * 2))] = holder[place]
        elif kind == 4:
            message["method"] = self.chance.choice(self.methods)
        elif kind == 5:
            holder[place] = nested(self.chance.choice((2, 60, 2000)))
        elif isinstance(holder[place], (int, float)) and not isinstance(holder[place], bool):
            holder[place] = self.chance.choice((-holder[place], holder[place] * 2**40, 1 - holder[place]))

    def part_of(self, message):
        while values(message) and self.chance.random() < 0.8:
            message = self.chance.choice(values(message))
        return copy.deepcopy(message)

    def broken(self, line):
        at, length = self.chance.randrange(len(line)), self.chance.randrange(1, 9)
        kind = self.chance.randrange(4)
        if kind == 0:
            return line[:at]
        if kind == 1:
            return line[:at] + line[at + length :]
        if kind == 2:
            return line[:at] + self.chance.randbytes(length) + line[at:]
        return line[:at] + line[at : at + length] * 3 + line[at:]


def values(holder):
    if isinstance(holder, dict):
        return list(holder.values())
    return list(holder) if isinstance(holder, list) else []


def nested(depth):
    """Returns lists in one another. Python's own encoder goes no deeper than about 900."""
    value = []
    for _ in range(min(depth, 900)):
        value = [value]
    return value


class Server:
    def __init__(self, command):
        place = ["bwrap", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"]
        place += ["--tmpfs", "/tmp", "--tmpfs", "/var/tmp", "--tmpfs", "/run", "--dir", WORK]
        place += ["--setenv", "HOME", WORK, "--chdir", WORK]
        place += ["--unshare-all", "--die-with-parent", "--new-session", "--"]
        program = shutil.which(command[0]) or sys.exit("no program: " + command[0])
        program = os.path.abspath(program)  # it starts in another directory
        self.child = subprocess.Popen(
            [*place, program, *command[1:]], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        self.answered, self.problems, self.known = set(), [], set()
        self.results = 0
        self.last = threading.Event()
        self.threads = [threading.Thread(target=self.read), threading.Thread(target=self.listen)]
        for thread in self.threads:
            thread.start()

    def send(self, line):
        self.child.stdin.write(line + b"\n")

    def read(self):
        for line in self.child.stdout:
            try:
                message = json.loads(line)
            except ValueError:
                self.problems.append("not JSON: %r" % line[:200])
                continue
            if "method" in message:
                continue
            name = message.get("id")
            self.results += "result" in message
            if name == "last":
                self.last.set()
            if name in self.known and name in self.answered:
                self.problems.append("answered twice: %r" % line[:200])
            if isinstance(name, str):
                self.answered.add(name)

    def listen(self):
        for line in self.child.stderr:
            text = line.decode("utf-8", "replace")
            if any(word in text for word in COMPLAINTS):
                self.problems.append("stderr: " + text.strip()[:500])

    def finish(self):
        """Returns what went wrong."""
        try:
            self.child.stdin.write(b'{"id":"last","method":"soak/last"}\n')
            self.child.stdin.flush()
            if not self.last.wait(PATIENCE):
                self.problems.append("the last request was not answered")
            self.child.stdin.close()
            status = self.child.wait(PATIENCE)
            if status != 0:
                self.problems.append("exit status %d" % status)
        except BrokenPipeError:
            self.problems.append("ended early with status %d" % self.child.wait(PATIENCE))
        except subprocess.TimeoutExpired:
            self.problems.append("it did not end")
            self.child.kill()
        for thread in self.threads:
            thread.join(PATIENCE)
        return self.problems


def play(command, mutator, count):
    """Returns what went wrong with one server, the lines that it got, and how many it answered."""
    server, lines = Server(command), []
    settings = {"workspaceRoots": [WORK], "sandbox": "workspace-write", "approvalPolicy": "on-request"}
    first = {"clientName": "soak", "capabilities": {"approvals": True}, "settings": settings}
    try:
        server.send(json.dumps({"id": "first", "method": "initialize", "params": first}).encode())
        server.send(b'{"method":"initialized"}')
        for number in range(count):
            line, known = mutator.line()
            server.known.add(known)
            lines.append(line)
            server.send(line)
            if number % BURST == 0:
                server.child.stdin.flush()
    except BrokenPipeError:
        pass
    problems = server.finish()
    return problems, lines, (len(server.answered), server.results)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=1_000_000)
    parser.add_argument("--round", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("server", nargs="+")
    options = parser.parse_args()
    print("seed %d" % options.seed, flush=True)
    mutator = Mutator(requests(), random.Random(options.seed))
    rounds, failed = -(-options.count // options.round), 0
    answers = results = 0
    folder = None  # of the rounds that failed
    for number in range(rounds):
        problems, lines, counts = play(options.server, mutator, options.round)
        answers, results = answers + counts[0], results + counts[1]
        if not problems:
            continue
        failed += 1
        folder = folder or pathlib.Path(tempfile.mkdtemp(prefix="execward-lines-"))
        kept = folder / ("lines-%d-%d" % (options.seed, number))
        kept.write_bytes(b"\n".join(lines))
        print("round %d (%s): %s" % (number, kept, "; ".join(problems[:5])), flush=True)
    print("%d lines, %d answers, %d of them results" % (rounds * options.round, answers, results))
    print("%d passed, %d failed" % (rounds - failed, failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""Keeps one server busy for a long time, and checks that nothing grows and nothing is lost.

    scripts/soak/process.py [--minutes N] [--seed N] -- SERVER COMMAND...

At all times there are sessions that echo their input, a flood whose every byte is checked, and short
programs of every kind. Prints a line each minute; the last line is 'N passed, N failed', counted in
programs and in checks at the end.
"""

import argparse
import os
import sys
import time

sys.path.insert(0, os.path.abspath(__file__ + "/../../../tests"))
from support.client import PYTHON, check, encoded, equal
from support.programs import FLOOD, flood_md5
from support.workload import drive, parse, rest

SESSIONS, SHORT_PROGRAMS = 8, 12
FLOOD_MD5 = flood_md5(400, 65536)


def session(job):
    """Types some thousand lines into a terminal or a pipe, and waits for the answer to each."""
    tty, lines = job.chance.random() < 0.5, job.chance.randrange(200, 3000)
    script = 'stty -echo 2>/dev/null; echo go; while read -r line; do echo "$line"; done'
    job.shell(script, tty=tty, pipeStdin=True)
    end, expected = (b"\r\n" if tty else b"\n"), 0
    yield lambda: job.started() and job.process().output() == b"go" + end
    before = job.process().size()
    for number in range(lines):
        word = b"%d-%d" % (number, job.chance.randrange(1 << 30))
        job.ask("process/write", chunk=encoded(word + b"\n"))
        expected += len(word + end)
        yield lambda: job.process().size() >= before + expected
        check(
            job.process().tails["pty" if tty else "stdout"].endswith(word + end),
            "another word than %r" % word,
        )
    job.ask("process/closeStdin")
    yield job.closed
    job.expect([0])
    equal(job.process().size(), before + expected, "bytes of the session")


def flood(job):
    """Prints 26 MB; every byte is checked."""
    job.start([PYTHON, "-S", "-c", FLOOD, "400", "65536"])
    yield job.closed
    job.expect([0])
    equal(
        (job.process().sizes["stdout"], job.process().md5()),
        (400 * 65536, FLOOD_MD5),
        "size and md5 of the flood",
    )


def work(crew, health, minutes):
    began = time.monotonic()
    for minute in range(1, minutes + 1):
        while time.monotonic() < began + 60 * minute - 2:
            kinds = [name.split()[0] for name in crew.open]
            for kind, wanted in ((session, SESSIONS), (flood, 1)):
                for _ in range(wanted - kinds.count(kind.__name__)):
                    crew.launch(kind)
            for _ in range(SESSIONS + 1 + SHORT_PROGRAMS - len(crew.open)):
                crew.launch()
            crew.turn()
        print("minute %3d  %s" % (minute, rest(crew, health)), flush=True)


def main():
    parser = argparse.ArgumentParser(usage="%(prog)s [options] -- SERVER COMMAND...")
    parser.add_argument("--minutes", type=int, default=30, help="how long (default 30)")
    parser.add_argument("--seed", type=int, default=1, help="seed of everything random (default 1)")
    options, command = parse(parser)
    return drive(command, options.seed, lambda crew, health: work(crew, health, options.minutes))


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""Runs many short programs over all slots of one server and accounts for every byte and event.

    scripts/soak/stress.py [--count N] [--slots N] [--seed N] -- SERVER COMMAND...

Programs print, echo, flood, are killed at random, leave daemons or reach their time limit; the client
sometimes stalls. Whenever the server is at rest, its descriptors, memory and zombies are sampled; none
may grow. The last line is 'N passed, N failed', counted in programs and in checks at the end; the
exit status is 1 on failure.
"""

import argparse
import os
import sys
import time

sys.path.insert(0, os.path.abspath(__file__ + "/../../../tests"))
from support.workload import drive, parse, rest


def stall(server, seconds):
    """The client reads nothing for a while."""
    server.stop_reading()
    time.sleep(seconds)
    server.resume_reading()


def work(crew, health, options):
    began, pace, next_rest = time.monotonic(), max(200, options.count // 20), 0
    while crew.launched < options.count:
        if crew.launched >= next_rest:
            print("%6.1f s  %s" % (time.monotonic() - began, rest(crew, health)), flush=True)
            next_rest += pace
        while len(crew.open) < options.slots and crew.launched < options.count:
            crew.launch()
            if crew.chance.random() < 0.002:
                stall(crew.server, crew.chance.uniform(0.02, 0.3))
        crew.turn()
    print("%6.1f s  %s" % (time.monotonic() - began, rest(crew, health)), flush=True)


def main():
    parser = argparse.ArgumentParser(usage="%(prog)s [options] -- SERVER COMMAND...")
    parser.add_argument("--count", type=int, default=20000, help="programs (default 20000)")
    parser.add_argument("--slots", type=int, default=64, help="programs at a time (default 64)")
    parser.add_argument("--seed", type=int, default=1, help="seed of everything random (default 1)")
    options, command = parse(parser)
    return drive(command, options.seed, lambda crew, health: work(crew, health, options))


if __name__ == "__main__":
    sys.exit(main())

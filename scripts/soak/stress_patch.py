#!/usr/bin/env python3
"""Kills `execward patch apply` at random moments and checks that all files are the old or the new ones.

usage: scripts/soak/stress_patch.py [--rounds N] [--seed N] BUILD_DIR

Recoveries are killed, too. The last line is 'N passed, N failed', counted in rounds. The line before it
counts the rounds that ended with the old files, ended with the new ones, found a mixture after the
kill, or left a journal, and the recoveries that were killed. The exit status is 1 on failure.
"""

import argparse
import pathlib
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))
from support.patch_stress import Stress, Wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("build", type=pathlib.Path)
    options = parser.parse_args()
    print("seed %d" % options.seed)
    failed = 0
    with tempfile.TemporaryDirectory(prefix="execward-stress-") as place:
        stress = Stress(str(options.build.resolve() / "execward"), place, options.seed)
        for number in range(options.rounds):
            try:
                stress.round()
            except Wrong as wrong:
                failed += 1
                print("round %d: %s" % (number, wrong))
    print(", ".join("%s %d" % item for item in stress.counts.items()))
    print("%d passed, %d failed" % (options.rounds - failed, failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

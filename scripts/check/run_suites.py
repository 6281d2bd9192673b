#!/usr/bin/env python3
"""Runs the test suites against a build folder and counts their cases.

usage: scripts/check/run_suites.py BUILD_DIR [--fast] [--only NAME | --exactly NAME]
       scripts/check/run_suites.py --installed PROGRAM [--only NAME]
       scripts/check/run_suites.py --list

With --installed, the suites that need no build folder run against that program.
--list prints the suites for `meson test`: the room, "together" or "alone", and the name, with tabs between.

Suites run in parallel. Black-box tests that measure time, memory or work run after all others, one at
a time: a suite with such tests has two parts, and the name of the second ends with "(alone)".

Prints one line per suite. The output of a failed suite follows in full, without passed cases and remarks,
and in short at the end, below the slowest suites. The last line is 'N passed, N failed' over all suites.
A suite that crashes, hangs or prints no count has failed.
"""

import argparse
import concurrent.futures
import dataclasses
import json
import os
import pathlib
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
AT_ONCE = 3  # more than processors: most suites wait for something
SLOWEST = 10  # suites that are listed at the end
MOST_REASONS = 20  # per suite, repeated at the end
TIMEOUT_SECONDS = 600  # of one suite; EXECWARD_TEST_SLACK stretches it
REPLAY_SECONDS = 120  # for each message
SLACK = "EXECWARD_TEST_SLACK"  # the factor by which tests stretch their limits
NODE_MODULES = "EXECWARD_NODE_MODULES"  # where protocol/test_examples finds vscode-jsonrpc
CODEX = "EXECWARD_CODEX"  # the codex program of environment/test_transcripts

COUNT = re.compile(r"^(\d+) passed, (\d+) failed\b")
DOCTEST_BETWEEN = re.compile(r"^={40,}\n", re.MULTILINE)
DOCTEST_COUNT = re.compile(r"^\[doctest\] test cases:.*?(\d+) passed \|\s*(\d+) failed")


@dataclasses.dataclass
class Suite:
    name: str
    command: list
    single: bool = False  # one case that passes by exit status 0, and prints no count
    alone: bool = False  # measures time, memory or work
    fast: bool = False


@dataclasses.dataclass
class Outcome:
    passed: int
    failed: int
    seconds: float
    output: str
    trouble: str = ""  # why the suite failed although no case says so


def python_with_jsonschema():
    """Returns the first interpreter that has jsonschema; that of a version manager often has not.
    """
    for candidate in dict.fromkeys([sys.executable, "python3", "/usr/bin/python3"]):
        trial = [candidate, "-c", "import jsonschema"]
        try:
            if subprocess.run(trial, capture_output=True, check=False).returncode == 0:
                return candidate
        except OSError:
            continue
    sys.exit("run_suites: no python3 here can import jsonschema; scripts/setup installs it")


def suites(build, python):
    execward = str(build / "execward")
    yield from unit_suites(str(build / "tests/unit_tests"))
    yield Suite("schema", [python, str(ROOT / "scripts/check/schema.py")], fast=True)
    yield Suite("compatibility", [python, str(ROOT / "scripts/check/compatibility.py")], fast=True)
    yield Suite("call_numbers", [python, str(ROOT / "scripts/check/call_numbers.py")], fast=True)
    yield Suite("fuzz_corpus", [str(build / "tests/fuzz_corpus")])
    yield Suite("words", [python, str(ROOT / "scripts/check/words.py"),
                          str(build / "tests/words_cli")])
    yield from program_suites(execward, python)


def program_suites(execward, python):
    """Those that need nothing but the program."""
    server = ["--", execward, "serve"]
    yield Suite("tricks", [python, str(ROOT / "scripts/check/tricks.py"), "--server", execward])
    for file in sorted(ROOT.glob("tests/blackbox/*/test_*.py")):
        yield from parts(file, python, server)
    for file in sorted(ROOT.glob("tests/transcripts/mcp/*.transcript")):
        yield Suite(f"mcp/{file.name}", [execward, "replay", "--run", "--trust-recording",
                                         f"--timeout={REPLAY_SECONDS}", str(file),
                                         "--", execward, "mcp"], single=True)
    for file in sorted(ROOT.glob("tests/transcripts/*.transcript")):
        # A sandbox that may write in all of /tmp protects the repositories of other tests.
        is_wide = '"slash_tmp"' in file.read_text(encoding="utf-8")
        yield Suite(file.name, [execward, "replay", "--run", "--trust-recording",
                                f"--timeout={REPLAY_SECONDS}", str(file), *server],
                    single=True, alone=is_wide)


def unit_suites(program):
    """Divides the unit tests by their rooms, so that they run in parallel."""
    for room in sorted(path.name for path in ROOT.glob("tests/unit/*") if path.is_dir()):
        yield Suite(f"unit/{room}", [program, f"--source-file=*/unit/{room}/*"], fast=True)
    yield Suite("unit", [program, "--source-file-exclude=*/unit/*/*"], fast=True)


def parts(file, python, server):
    """Splits a file of black-box tests: the tests that may run in parallel, and the others."""
    name = f"{file.parent.name}/{file.stem.removeprefix('test_')}"
    yield Suite(name, [python, str(file), "--part=together", *server])
    if "alone=True" in file.read_text(encoding="utf-8"):
        yield Suite(f"{name} (alone)", [python, str(file), "--part=alone", *server], alone=True)


def is_sanitized(build):
    if not build:
        return False
    options = json.loads((build / "meson-info/intro-buildoptions.json").read_text())
    return any(o["name"] == "b_sanitize" and o["value"] not in ("none", []) for o in options)


def environment(build, scratch):
    """Returns our environment without settings of execward, and with directories of its own for
    state and configuration.
    """
    env = {name: value for name, value in os.environ.items()
           if not name.startswith("EXECWARD_") or name in (SLACK, NODE_MODULES, CODEX)}
    env["PYTHONDONTWRITEBYTECODE"] = "1"
    env["XDG_CONFIG_HOME"] = f"{scratch}/config"
    env["XDG_STATE_HOME"] = f"{scratch}/state"
    if is_sanitized(build):
        env.setdefault(SLACK, "4")
        env["EXECWARD_TEST_SANITIZED"] = "1"  # for tests that measure memory
        env.setdefault("UBSAN_OPTIONS", "halt_on_error=1:print_stacktrace=1")
    return env


def end(process):
    """Kills a suite that hangs, and its process group, which no other process shares."""
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def run(suite, env):
    started = time.monotonic()
    trouble = ""
    # A file instead of a pipe: a program that a failed suite left behind cannot block it.
    with tempfile.TemporaryFile() as log:
        try:
            process = subprocess.Popen(suite.command, cwd=ROOT, env=env, stdin=subprocess.DEVNULL,
                                       stdout=log, stderr=subprocess.STDOUT,
                                       start_new_session=True)
        except OSError as error:
            return Outcome(0, 1, 0.0, "", str(error))
        try:
            limit = TIMEOUT_SECONDS * float(env.get(SLACK, "1"))
            status = process.wait(limit)
        except subprocess.TimeoutExpired:
            end(process)
            status, trouble = None, f"still running after {limit:.0f} s"
        log.seek(0)
        output = log.read().decode("utf-8", "replace")
    passed, failed, trouble = judge(suite, status, output, trouble)
    return Outcome(passed, failed, time.monotonic() - started, output, trouble)


def judge(suite, status, output, trouble):
    if suite.single:
        good = status == 0
        return int(good), int(not good), trouble or ("" if good else f"exit status {status}")
    count = find_count(output)
    if count is None:
        return 0, 1, trouble or f"no count of cases; exit status {status}"
    passed, failed = count
    if not trouble and status != 0 and failed == 0:
        trouble = f"exit status {status} although no case failed"
    if not trouble and passed + failed == 0:
        trouble = "ran no case"
    return passed, failed + bool(trouble), trouble


def find_count(output):
    for line in reversed(output.splitlines()):
        match = COUNT.match(line) or DOCTEST_COUNT.match(line)
        if match:
            return int(match[1]), int(match[2])
    return None


def outcomes(chosen, env):
    """Yields suites with their outcome: first those that run in parallel, then the others."""
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        running = {pool.submit(run, suite, env): suite for suite in chosen if not suite.alone}
        for future in concurrent.futures.as_completed(running):
            yield running[future], future.result()
    for suite in chosen:
        if suite.alone:
            yield suite, run(suite, env)


def without_remarks(output):
    """Drops the blocks in which doctest only remarks something: they hide the failure."""
    blocks = DOCTEST_BETWEEN.split(output)
    return [row for block in blocks if "MESSAGE:" not in block or "ERROR:" in block
            for row in block.splitlines() if not row.startswith("PASS ")]


def reasons(outcome):
    """Returns the lines that describe the failure, for the end of a long log."""
    rows = [row for row in without_remarks(outcome.output)
            if row.startswith(("FAIL ", "leak: ")) or "TEST CASE:" in row or "ERROR:" in row]
    return [outcome.trouble] * bool(outcome.trouble) + rows[:MOST_REASONS]


def report(suite, outcome):
    mark = "FAIL" if outcome.failed else "ok"
    line = f"{mark:<5}{suite.name:<40}{outcome.seconds:7.1f} s"
    if not suite.single:
        line += f"{outcome.passed:6} passed"
        line += f", {outcome.failed} failed" if outcome.failed else ""
    print(line, f"  {outcome.trouble}" if outcome.trouble else "")
    skipped = [row for row in outcome.output.splitlines() if row.startswith("SKIP ")]
    for row in without_remarks(outcome.output) if outcome.failed else skipped:
        print(f"    | {row}")
    sys.stdout.flush()


def report_slowest(seconds):
    """Prints the slowest suites; `seconds` has one entry per suite."""
    print("the slowest suites:")
    for name in sorted(seconds, key=seconds.get, reverse=True)[:SLOWEST]:
        print(f"    {seconds[name]:7.1f} s  {name}")


def choose(everything, arguments):
    chosen = [s for s in everything if s.fast or not arguments.fast]
    if arguments.only:
        chosen = [s for s in chosen if arguments.only in s.name]
    if arguments.exactly:
        chosen = [s for s in chosen if arguments.exactly == s.name]
    return chosen


def room_of(suite):
    if suite.name.endswith(".transcript"):
        return "transcripts"
    return suite.name.partition("/")[0] if "/" in suite.name else "checks"


def show_list():
    for suite in suites(pathlib.Path("build"), sys.executable):
        print(room_of(suite), "alone" if suite.alone else "together", suite.name, sep="\t")
    return 0


def parse(argv):
    parser = argparse.ArgumentParser(description="Runs the test suites and counts their cases.")
    parser.add_argument("build", metavar="BUILD_DIR", type=pathlib.Path, nargs="?")
    parser.add_argument("--installed", metavar="PROGRAM", help="test this program, not a build")
    parser.add_argument("--list", action="store_true", help="print the names of all suites")
    parser.add_argument("--fast", action="store_true", help="unit tests and schema only")
    parser.add_argument("--only", metavar="NAME", help="suites with NAME in their name")
    parser.add_argument("--exactly", metavar="NAME", help="the suite of this name")
    arguments = parser.parse_args(argv)
    if bool(arguments.build) + bool(arguments.installed) + arguments.list != 1:
        parser.error("it takes a build folder, --installed or --list")
    return arguments


def main():
    arguments = parse(sys.argv[1:])
    if arguments.list:
        return show_list()
    build = arguments.build and arguments.build.resolve()
    if build and not (build / "execward").exists():
        sys.exit(f"run_suites: no {build}/execward; scripts/build makes it")
    python = python_with_jsonschema()
    everything = suites(build, python) if build else program_suites(arguments.installed, python)
    chosen = choose(list(everything), arguments)
    if not chosen:
        sys.exit("run_suites: no such suite")

    passed = failed = 0
    failures = []
    seconds = {}
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="execward-suites-") as scratch:
        for suite, outcome in outcomes(chosen, environment(build, scratch)):
            report(suite, outcome)
            seconds[suite.name] = outcome.seconds
            passed += outcome.passed
            failed += outcome.failed
            if outcome.failed:
                failures += [f"{suite.name}: {row.strip()}" for row in reasons(outcome)]
    if len(seconds) > SLOWEST:
        report_slowest(seconds)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(f"== suites: {time.monotonic() - started:.0f} s; CPU {used.ru_utime:.0f} + {used.ru_stime:.0f} s")
    print(*failures, sep="\n", end="\n" if failures else "")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

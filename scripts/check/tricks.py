#!/usr/bin/env python3
"""Asks a server what it would do with each command of a corpus, and counts the wrong answers.

usage: scripts/check/tricks.py [--server PROGRAM] [--max-false PERCENT] [FILE…]

A FILE holds one JSON object a line: id, argv, expect (run, ask or forbid), class, and optionally rules
(prefix, decision) and also (other answers that pass). Without one it is tests/cases/shell_tricks.jsonl.
No command is run: each is a request policy/explain to `PROGRAM serve`, under the policy untrusted.
An error counts as forbid.

  bypass          expected ask or forbid, answered run
  weak ban        expected forbid, answered ask
  false question  expected run, answered something else

Answers listed in `also` are none of these. The exit status is 0 if there is no bypass, no weak ban, and
no more false questions among the commands that should run than PERCENT (default 3).
"""

import argparse
import collections
import json
import pathlib
import subprocess
import sys
import tempfile
import threading

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
OWN_CORPUS = REPOSITORY / "tests/cases/shell_tricks.jsonl"
ANSWERS = {"allow": "run", "prompt": "ask", "forbidden": "forbid"}
WRONG = ("bypass", "weak ban", "false question")


def entries_of(path):
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file if line.strip()]


def request(number, entry):
    params = {
        "argv": entry["argv"],
        "approvalPolicy": "untrusted",
        "sandbox": "danger-full-access",
        "rules": entry.get("rules", []),
    }
    return {"jsonrpc": "2.0", "id": number, "method": "policy/explain", "params": params}


def environment_of(home):
    """Hides the rules, settings and approvals of the person who runs this."""
    return {
        "HOME": home,
        "PATH": "/usr/bin:/bin",
        "XDG_CONFIG_HOME": home + "/config",
        "XDG_STATE_HOME": home + "/state",
    }


def answers_of(server, entries):
    with tempfile.TemporaryDirectory() as home:
        process = subprocess.Popen(
            [str(pathlib.Path(server).resolve()), "serve"],
            cwd=home,
            env=environment_of(home),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        return all_answers(process, entries)


def all_answers(process, entries):
    """Sends all requests to one server at once. Returns the answers by number."""
    hello = {
        "jsonrpc": "2.0",
        "id": "hello",
        "method": "initialize",
        "params": {"clientName": "tricks"},
    }
    messages = [hello, {"jsonrpc": "2.0", "method": "initialized"}]
    messages += [request(number, entry) for number, entry in enumerate(entries)]

    def write():
        for message in messages:
            process.stdin.write(json.dumps(message).encode() + b"\n")
        process.stdin.flush()

    writer = threading.Thread(target=write, daemon=True)  # the answers are read at the same time
    writer.start()
    answers = {}
    while len(answers) < len(entries):
        line = process.stdout.readline()
        if not line:
            sys.exit(f"the server ended after {len(answers)} of {len(entries)} answers")
        message = json.loads(line)
        if message.get("id") == "hello":
            if "error" in message:
                sys.exit(f"initialize failed: {message['error']}")
        elif "method" not in message and isinstance(message.get("id"), int):
            answers[message["id"]] = message
    writer.join()
    process.stdin.close()
    process.wait(timeout=30)
    return answers


def decision_of(answer):
    return ANSWERS[answer["result"]["decision"]] if "result" in answer else "forbid"


def also_of(entry):
    also = entry.get("also", [])
    return [also] if isinstance(also, str) else also


def judged(entry, decision):
    """Returns "right", "open" (listed in `also`), "stricter", or the kind of mistake."""
    expected = entry["expect"]
    if decision == expected:
        return "right"
    if decision in also_of(entry):
        return "open"
    if expected == "run":
        return "false question"
    if decision == "run":
        return "bypass"
    return "weak ban" if expected == "forbid" else "stricter"


def report(path, entries, answers, is_verbose):
    counts = collections.Counter()
    classes = collections.defaultdict(collections.Counter)
    for number, entry in enumerate(entries):
        decision = decision_of(answers[number])
        result = judged(entry, decision)
        counts[result] += 1
        classes[entry["class"]][result] += 1
        if result in WRONG or (is_verbose and result == "open"):
            reason = answers[number].get("result", {}).get("reason", "an error")
            print(f"{result}: {entry['id']} {json.dumps(entry['argv'])} -> {decision}: {reason}")
    if is_verbose:
        for name, results in classes.items():
            print(f"  {name}: {dict(results)}")
    should_run = sum(entry["expect"] == "run" for entry in entries)
    false_share = 100 * counts["false question"] / max(should_run, 1)
    print(
        f"{path}: {len(entries)} commands, {counts['bypass']} bypasses, {counts['weak ban']} weak bans, "
        f"{counts['false question']} false questions of {should_run} ({false_share:.1f} %), "
        f"{counts['open']} open"
    )
    return counts["bypass"] == 0 and counts["weak ban"] == 0, false_share


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--server", default=str(REPOSITORY / "build" / "execward"), metavar="PROGRAM")
    parser.add_argument("--max-false", type=float, default=3.0)
    parser.add_argument("--verbose", action="store_true")
    parser.add_argument("files", nargs="*", default=[str(OWN_CORPUS)])
    options = parser.parse_args()
    failed = 0
    for path in options.files:
        entries = entries_of(path)
        is_tight, false_share = report(
            path, entries, answers_of(options.server, entries), options.verbose
        )
        failed += not (is_tight and false_share <= options.max_false)
    print(f"{len(options.files) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

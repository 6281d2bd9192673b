#!/usr/bin/env python3
"""Sends random requests of the exec layer to one server, and checks that none is lost or answered twice.

    scripts/soak/exec.py [--minutes N] [--seed N] -- SERVER COMMAND...

At all times some dozen commands of every kind run, wait or have an open question. Their processes get
input, are polled, signalled, read and ended; requests are cancelled; questions are answered once, twice
or not at all; settings change. Every few seconds the client lets everything end. Then this must hold:

- every request was answered exactly once;
- every exec/begin has one exec/end, after all deltas, whose seqs rise;
- an undisturbed command has the expected output and exit code;
- no call waits, and the audit has a row for every start and every exit;
- descriptors, memory and zombies do not grow.

Prints a line at each pause; the last line is 'N passed, N failed', counted in requests and checks.
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
from support.client import Failure, brief, check, encoded, equal, eventually, sweep
from support.exec import Home, exec_server
from support.runner import Scene
from support.workload import Health, final_checks, parse

OPEN_REQUESTS, OPEN_QUESTIONS = 24, 8
SECONDS_BETWEEN_RESTS = 8
SLOWEST_ANSWER = 40  # seconds: longer than every yield time in this script
REST_TIME = 20  # seconds within which everything that was ended must be over
ALLOWED_GROWTH = 4 << 20  # bytes of memory
# The allocator returns freed memory to the system, so memory that grows is in use (mallopt(3)).
FRUGAL = {"MALLOC_MMAP_THRESHOLD_": "65536", "MALLOC_TRIM_THRESHOLD_": "0"}
# The sandbox refuses this address, which no machine has (RFC 5737).
REFUSED = "(exec 3<>/dev/tcp/192.0.2.1/9) 2>/dev/null"
DECISIONS = (
    [{"decision": "approved"}] * 6
    + [{"decision": "approvedForSession", "scope": scope} for scope in ("directory", "project")]
    + [{"decision": "approvedWithPrefixRule"}, {"decision": "denied", "reason": "no"}]
    + [{"decision": "abort"}, {"decision": "nonsense"}]
)
TEXT = "aé€😀"  # characters of one, two, three and four bytes


class Command:
    """A command, and its output if it is not disturbed (None: the output is not checked)."""

    def __init__(self, script, output=None, code=0, **params):
        self.script, self.output, self.code, self.params = script, output, code, params


class ExecHealth(Health):
    """The kept output of 64 processes differs from pause to pause, so memory has a wider bound."""

    def problems(self, allowed_bytes):
        return super().problems(max(allowed_bytes, ALLOWED_GROWTH))


def echoes(chance, number):
    return Command("echo %d" % number, "%d\n" % number)


def makes_a_file(chance, number):
    return Command("touch f%d; echo %d" % (chance.randrange(20), number), "%d\n" % number)


def fails(chance, number):
    code = chance.randrange(1, 70)
    return Command("touch f; exit %d" % code, "", code)


def is_stopped(chance, number):
    return Command("touch f; echo x; %s; exit 77" % REFUSED)


def prints_lines(chance, number):
    count = chance.randrange(1, 20000)
    return Command("seq 1 %d" % count, "".join("%d\n" % n for n in range(1, count + 1)))


def prints_a_lot(chance, number):
    size = chance.choice((1 << 19, 1 << 20, chance.randrange(3 << 20)))
    return Command("head -c %d /dev/zero | tr '\\0' x" % size, "x" * size)


def prints_slowly(chance, number):
    pause = chance.randrange(1, 30) / 1000
    script = "for i in 1 2 3 4 5 6; do printf '%s'; sleep %.3f; done" % (TEXT, pause)
    return Command(script, TEXT * 6)


def leaves_something(chance, number):
    script = "(sleep 0.%d; echo late) & echo early" % chance.randrange(1, 4)
    return Command(("setsid " if chance.random() < 0.3 else "") + script)


def takes_stdin(chance, number):
    text = TEXT * chance.randrange(1, 20000)
    return Command("cat", text, stdin=text)


def ignores_stdin(chance, number):
    return Command("exit 3", "", 3, stdin="x" * chance.randrange(300000))


def asks_on_a_terminal(chance, number):
    return Command('touch f; read x; echo "<$x>"', tty=True)


def runs_out_of_time(chance, number):
    return Command("touch f; sleep 300 & sleep 300", timeoutMs=chance.randrange(1, 200))


def floods(chance, number):
    return Command("yes", timeoutMs=chance.randrange(20, 300))


def stays(chance, number):
    return Command("sleep 300", tty=chance.random() < 0.3)


def does_not_exist(chance, number):
    return Command(["no-such-program"])


KINDS = {
    echoes: 12,
    makes_a_file: 12,
    fails: 6,
    is_stopped: 5,
    prints_lines: 5,
    prints_a_lot: 3,
    prints_slowly: 6,
    leaves_something: 4,
    takes_stdin: 4,
    ignores_stdin: 3,
    asks_on_a_terminal: 4,
    runs_out_of_time: 4,
    floods: 1,
    stays: 2,
    does_not_exist: 1,
}


class Soak:
    """The client: its requests, and the results that they must have."""

    def __init__(self, server, seed):
        self.server, self.chance = server, random.Random(seed)
        self.open = {}  # request id: (method, when it was sent)
        self.commands = {}  # request id: Command
        self.disturbed = set()  # ids of requests and processes that the client interfered with
        self.questions_seen = 0
        self.open_questions = []
        self.launched = self.passed = self.begun = 0
        self.failures = []
        self.kinds = {}

    def fail(self, why):
        self.failures.append(why)
        print("FAIL " + brief(why, 600), flush=True)

    # Requests

    def ask(self, method, **params):
        message_id = self.server.request(method, params)
        self.open[message_id] = (method, time.monotonic())
        self.launched += 1
        return message_id

    def command(self):
        kind = self.chance.choices(list(KINDS), list(KINDS.values()))[0]
        command = kind(self.chance, self.launched)
        params = {**command.params, "onCancel": self.chance.choice(("keep", "terminate"))}
        if self.chance.random() < 0.7:
            params["yieldTimeMs"] = self.chance.randrange(2000)
        if self.chance.random() < 0.1:
            params["quietMs"] = self.chance.choice((0, 5, 50, 1 << 63))
        if self.chance.random() < 0.2:
            params["maxOutputTokens"] = self.chance.choice((0, 1, 100, 10000, 262144))
        if self.chance.random() < 0.2:
            params["format"] = "model"
        message_id = self.ask("exec/command", **self.server.exec_params(command.script, **params))
        self.commands[message_id] = command
        self.kinds[kind.__name__] = self.kinds.get(kind.__name__, 0) + 1

    def some_process(self):
        """Returns the id of a process that was begun, most likely a running one, or an id that
        never existed.
        """
        with self.server.changed:
            programs = list(self.server.programs_by_id.items())
        living = [process_id for process_id, program in programs if not program.end]
        if living and self.chance.random() < 0.8:
            return self.chance.choice(living)
        return self.chance.choice([process_id for process_id, _ in programs] or ["1000000"])

    def write(self):
        process_id = self.some_process()
        params = {"chars": self.chance.choice(("", "", "", "word\n", "\x03"))}
        if params["chars"]:
            self.disturbed.add(process_id)
        params.update(
            self.chance.choice(
                ({"yieldTimeMs": 250}, {"quietMs": 0}, {"quietMs": 20}, {"noTimeout": True})
            )
        )
        self.ask("exec/writeStdin", processId=process_id, **params)

    def disturb(self):
        process_id = self.some_process()
        self.disturbed.add(process_id)
        method, params = self.chance.choice(
            (
                ("exec/terminate", {}),
                ("process/terminate", {"graceMs": 50}),
                ("exec/signal", {"signal": "interrupt"}),
                ("process/signal", {"signal": "terminate", "scope": "tree"}),
                ("exec/resize", {"size": {"rows": 10, "cols": 40}}),
                ("process/write", {"chunk": encoded(b"text\n")}),
                ("process/closeStdin", {}),
            )
        )
        self.ask(method, processId=process_id, **params)

    def look(self):
        method, params = self.chance.choice(
            (
                ("exec/list", {}),
                ("process/list", {}),
                ("approvals/list", {}),
                ("environment/status", {}),
                ("policy/explain", {"command": "touch f; ls"}),
                ("process/read", {"processId": self.some_process()}),
                ("process/read", {"processId": self.some_process(), "waitMs": 300, "maxBytes": 99}),
            )
        )
        self.ask(method, **params)

    def configure(self):
        method, params = self.chance.choice(
            (
                ("session/configure", {"approvalPolicy": "untrusted"}),
                ("session/configure", {"approvalPolicy": "on-request"}),
                ("session/configure", {"approvalTimeoutMs": self.chance.choice((0, 30, 1000))}),
                ("session/configure", {"approvalTimeoutMs": 0}),
                ("approvals/revoke", {"everything": True}),
                ("approvals/grant", {"prefix": ["touch", "f1"], "scope": "session"}),
            )
        )
        self.ask(method, **params)

    def cancel(self):
        if not self.open:
            return
        message_id = self.chance.choice(list(self.open))
        self.disturbed.add(message_id)
        self.server.notify("$/cancelRequest", {"id": message_id})

    def end_all(self):
        with self.server.changed:
            self.disturbed.update(self.server.programs_by_id)
        self.disturbed.update(self.open)
        self.ask("exec/terminateAll", graceMs=self.chance.choice((0, 20)))

    def start(self):
        """Starts a program of the process layer whose name could be that of a command."""
        with self.server.changed:
            numbers = [int(name) for name in self.server.programs_by_id] or [1000]
        name = str(max(numbers) + self.chance.randrange(1, 4))
        self.ask("process/start", **self.server.start_params(name, ["echo", "x"]))

    # Questions

    def answer_some(self, everything=False):
        with self.server.changed:
            self.open_questions += self.server.questions[self.questions_seen :]
            self.questions_seen = len(self.server.questions)
        while self.open_questions:
            is_urgent = everything or len(self.open_questions) > OPEN_QUESTIONS
            if not is_urgent and self.chance.random() < 0.5:
                return
            place = self.chance.randrange(len(self.open_questions))
            question = self.open_questions.pop(place)
            answer = self.chance.choice(DECISIONS)
            if answer["decision"] not in ("approved", "approvedForSession"):
                self.disturbed.update(self.open)
            self.server.answer_raw(question.id, result=answer)
            if self.chance.random() < 0.1:
                self.server.answer_raw(question.id, error={"code": 1, "message": "once more"})

    # Answers

    def take_answers(self):
        now = time.monotonic()
        for message_id in list(self.open):
            method, since = self.open[message_id]
            if not self.server.is_answered(message_id):
                is_bounded = method != "exec/writeStdin" and message_id not in self.commands
                if is_bounded and now - since > SLOWEST_ANSWER:
                    del self.open[message_id]
                    self.fail("no answer to %s %d" % (method, message_id))
                continue
            del self.open[message_id]
            try:
                self.check_answer(method, message_id)
                self.passed += 1
            except Failure as failure:
                self.fail("%s %d: %s" % (method, message_id, failure))

    def check_answer(self, method, message_id):
        message = self.server.reply(message_id)
        command = self.commands.get(message_id)
        if "error" in message:
            kind = message["error"]["data"]["kind"]
            check(kind != "internal", brief(message, 400))
            is_cancel = kind == "cancelled"
            check(not is_cancel or message_id in self.disturbed, "cancelled, but nobody did")
            return
        result = message["result"]
        if method not in ("exec/command", "exec/writeStdin"):
            return
        is_over = result["state"] in ("completed", "failed")
        equal("exitCode" in result, is_over, "an exit code in %s" % brief(result, 400))
        equal("processId" in result, not is_over, "a process in %s" % brief(result, 400))
        is_whole = result["state"] == "completed" and result["omittedBytes"] == 0
        if not command or not is_whole or command.output is None or result["timedOut"]:
            return
        process_id = self.server.program_of_call(str(message_id)).begin["processId"]
        if message_id in self.disturbed or process_id in self.disturbed:
            return
        equal(result["exitCode"], command.code, "exit code of %r" % brief(command.script))
        if method == "exec/command":
            equal(result["output"], command.output, "output of %r" % brief(command.script))

    def check_ends(self):
        for process_id, program in self.server.programs_by_id.items():
            command = self.commands.get(int(program.begin["callId"]))
            names = {process_id, int(program.begin["callId"])}
            end = program.end
            if names & self.disturbed or end["timedOut"] or not command or command.output is None:
                continue
            if end["omittedBytes"] == 0 and end["aggregatedOutput"] != command.output:
                self.fail("exec/end of %r: %s" % (command.script, brief(end["aggregatedOutput"])))
            if program.kept and program.text() != command.output:
                self.fail("deltas of %r: %s" % (command.script, brief(program.text())))

    # The run

    def turn(self):
        if len(self.open) < OPEN_REQUESTS:
            actions = (
                [self.command] * 40
                + [self.write] * 25
                + [self.cancel] * 8
                + [self.look] * 12
                + [self.disturb] * 8
                + [self.configure] * 4
                + [self.start] * 2
                + [self.end_all]
            )
            self.chance.choice(actions)()
        else:
            time.sleep(0.005)
            if self.chance.random() < 0.1:
                self.cancel()
        self.answer_some()
        self.take_answers()

    def is_at_rest(self):
        self.answer_some(everything=True)
        self.take_answers()
        with self.server.changed:
            ended = all(program.end for program in self.server.programs_by_id.values())
        return ended and not self.open

    def rest(self, health):
        """Lets everything end, checks the state and forgets it. Returns a line for the report."""
        self.ask("session/configure", approvalTimeoutMs=0)
        end = time.monotonic() + REST_TIME
        patience = time.monotonic() + 1
        while not self.is_at_rest() and time.monotonic() < end:
            if time.monotonic() > patience:
                self.end_all()
                patience = time.monotonic() + 1
            time.sleep(0.01)
        if not self.is_at_rest():
            unended = [p for p, program in self.server.programs_by_id.items() if not program.end]
            raise Failure("unanswered: %s; without exec/end: %s" % (self.open, unended))
        equal(self.server.call("exec/list")["calls"], [], "calls at rest")
        for _ in range(64):  # makes the table forget large outputs
            self.commands[self.ask("exec/command", command="echo x")] = Command("echo x", "x\n")
        while not self.is_at_rest():
            time.sleep(0.01)
        self.check_ends()
        _, descriptors, resident, zombies = health.sample(self.launched)
        self.forget()
        return "%7d requests  %6d programs  %3d descriptors  %6d KiB  %d zombies  %d failures" % (
            self.launched,
            self.begun,
            descriptors,
            resident // 1024,
            zombies,
            len(self.failures),
        )

    def forget(self):
        server = self.server
        with server.changed:
            self.begun += len(server.programs_by_id)
            for kept in (server.programs_by_id, server.attempts, server.replies, server.events):
                kept.clear()
            for kept in (server.withdrawn, server.warnings, server.questions):
                kept.clear()
            self.questions_seen = 0
        self.commands.clear()
        self.disturbed.clear()


def audit_problem(soak, home):
    """Returns the mistake in the audit after the end of the server, or None."""
    events = [row["event"] for row in home.audit()]
    starts, exits = events.count("start"), events.count("exit")
    most_starts = soak.begun + events.count("failure")  # includes starts that failed
    if "dropped" in events:
        return "rows were dropped"
    if exits != soak.begun or not soak.begun <= starts <= most_starts:
        failures = events.count("failure")
        return "%d starts, %d failures and %d exits of %d programs" % (
            starts,
            failures,
            exits,
            soak.begun,
        )
    return None


def work(soak, health, minutes):
    end = time.monotonic() + 60 * minutes
    while time.monotonic() < end:
        next_rest = min(end, time.monotonic() + SECONDS_BETWEEN_RESTS)
        while time.monotonic() < next_rest:
            soak.turn()
        print(soak.rest(health), flush=True)


def main():
    parser = argparse.ArgumentParser(usage="%(prog)s [options] -- SERVER COMMAND...")
    parser.add_argument("--minutes", type=float, default=5, help="how long (default 5)")
    parser.add_argument("--seed", type=int, default=1, help="seed of everything random (default 1)")
    options, command = parse(parser)
    if os.path.exists(command[0]):
        command[0] = os.path.abspath(command[0])
    directory, mark = tempfile.mkdtemp(prefix="soak-"), uuid.uuid4().hex
    scene = Scene(command, directory, mark)
    checks = []
    try:
        home = Home(scene)
        server = exec_server(
            scene, home=home, policy="untrusted", sandbox="workspace-write", env=FRUGAL
        )
        soak, health = Soak(server, options.seed), ExecHealth(server)
        try:
            work(soak, health, options.minutes)
        except Failure as failure:
            soak.fail(str(failure))
        print("kinds: " + ", ".join("%s %d" % pair for pair in sorted(soak.kinds.items())))
        checks = list(final_checks(server, health))
        checks.append(("the audit knows every start and every exit", audit_problem(soak, home)))
        eventually(lambda: not scene.leftovers(), "the end of all programs", 3)
    finally:
        scene.discard()
        sweep(mark)
        shutil.rmtree(directory, ignore_errors=True)
    for name, why in checks:
        print("PASS " + name if why is None else "FAIL %s: %s" % (name, why))
    failed = len(soak.failures) + sum(why is not None for _, why in checks)
    print("%d passed, %d failed" % (soak.passed + sum(why is None for _, why in checks), failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

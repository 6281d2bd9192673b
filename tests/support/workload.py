"""Short programs of many kinds, many in parallel on one server; every byte and event is checked.

Each kind is a generator: it sends requests through its job and yields conditions; the crew resumes
it when the last one holds.
"""

import os
import queue
import random
import shutil
import sys
import tempfile
import time
import uuid

from support.client import (
    PATIENCE,
    Failure,
    Server,
    brief,
    check,
    decoded,
    encoded,
    equal,
    eventually,
    sweep,
)

PATTERN = b"".join(
    b"%07d-" % number for number in range(1 << 15)
)  # without a newline, so that a terminal changes nothing
DAEMON = "(setsid sleep 300 >/dev/null 2>&1 &) ; "
ALLOWED_GROWTH = 1 << 20  # of memory over a whole run: noise of the allocator
HOLDER = "(setsid sleep 300 &) ; "


class Job:
    """One program and the requests about it."""

    def __init__(self, crew, name):
        self.server, self.name, self.chance, self.pattern_path = (
            crew.server,
            name,
            crew.chance,
            crew.pattern_path,
        )
        self.owners = crew.owners
        self.keys = []

    def process(self):
        return self.server.processes.get(self.name)

    def _request(self, method, params):
        message_id = self.server.request(method, params)
        self.keys.append(message_id)
        self.owners[message_id] = self.name
        return message_id

    def ask(self, method, **params):
        return self._request(method, {"processId": self.name, **params})

    def start(self, argv, **options):
        self.first = self._request(
            "process/start", self.server.start_params(self.name, argv, **options)
        )

    def shell(self, script, *arguments, **options):
        self.start(["sh", "-c", script, "sh", *arguments], **options)

    # Conditions

    def started(self):
        if self.is_answered(self.first) and "error" in self.reply(self.first):
            raise Failure("the start was refused: %s" % brief(self.reply(self.first)))
        return self.process()

    def called_off(self):
        """Returns True if a terminate overtook the start, which then failed."""
        if not self.is_answered(self.first) or "error" not in self.reply(self.first):
            return False
        equal(self.reply(self.first)["error"]["data"]["kind"], "cancelled", "kind of error")
        return True

    def closed_or_called_off(self):
        return self.called_off() or self.closed()

    def exited(self):
        return self.started() and self.process().exited

    def closed(self):
        return self.started() and self.process().closed

    def has_output(self):
        return self.started() and self.process().size() > 0

    def is_answered(self, message_id):
        return self.server.is_answered(message_id)

    def answer(self, message_id):
        return lambda: self.is_answered(message_id)

    # Results

    def reply(self, message_id):
        return self.server.replies["%d" % message_id]

    def result(self, message_id):
        check("result" in self.reply(message_id), "error: %s" % brief(self.reply(message_id)))
        return self.reply(message_id)["result"]

    def expect(self, codes, output=None, stream=None):
        process = self.process()
        check(
            process.exited["exitCode"] in codes,
            "exit code %s, not one of %s" % (process.exited["exitCode"], codes),
        )
        if output is not None:
            got = process.output(stream)
            check(
                got == output,
                "%d bytes of output instead of %d, or other ones" % (len(got), len(output)),
            )

    def expect_part_of(self, output):
        got = self.process().output()
        check(
            output.startswith(got),
            "the output is no beginning of what the program prints: %d bytes" % len(got),
        )


def ends_at_once(job):
    job.start(["true"], tty=job.chance.random() < 0.3)
    yield job.closed
    job.expect([0], b"")


def prints_a_little(job):
    out, err, code = job.chance.randrange(300), job.chance.randrange(300), job.chance.randrange(256)
    at = job.chance.randrange(1000)
    job.shell(
        'printf %s "$1"; printf %s "$2" >&2; exit $3',
        PATTERN[at : at + out].decode(),
        PATTERN[:err].decode(),
        str(code),
    )
    yield job.closed
    job.expect([code], PATTERN[at : at + out], "stdout")
    job.expect([code], PATTERN[:err], "stderr")


def prints_on_a_terminal(job):
    lines, code = job.chance.randrange(1, 20), job.chance.randrange(256)
    job.shell(
        "n=0; while [ $n -lt $1 ]; do echo line$n; n=$((n+1)); done; exit $2",
        str(lines),
        str(code),
        tty=True,
    )
    yield job.closed
    job.expect([code], b"".join(b"line%d\r\n" % n for n in range(lines)))


def prints_a_lot(job):
    size = job.chance.choice((4095, 4096, 4097, 65535, 65536, 65537, job.chance.randrange(200000)))
    job.start(["head", "-c", str(size), job.pattern_path], tty=job.chance.random() < 0.4)
    yield job.closed
    job.expect([0], PATTERN[:size])


def is_killed_while_it_prints(job):
    size = job.chance.randrange(150000, 260000)
    job.start(["head", "-c", str(size), job.pattern_path], tty=job.chance.random() < 0.4)
    if job.chance.random() < 0.5:
        yield job.has_output
    ending = job.ask("process/terminate")
    yield job.closed_or_called_off
    yield job.answer(ending)
    job.result(ending)
    if not job.called_off():
        job.expect([0, 137])
        job.expect_part_of(PATTERN[:size])


def is_ended_by_a_signal(job):
    name, number = job.chance.choice(
        (("interrupt", 2), ("terminate", 15), ("kill", 9), ("hangup", 1), ("quit", 3), ("usr1", 10))
    )
    job.start(["sleep", "300"], tty=job.chance.random() < 0.4)
    if job.chance.random() < 0.5:
        yield job.started
    sending = job.ask(
        "process/signal", signal=name, scope=job.chance.choice(("group", "leader", "tree"))
    )
    yield job.closed
    yield job.answer(sending)
    equal(job.result(sending), {}, "result of the signal")
    job.expect([128 + number], b"")


def is_terminated(job):
    grace = job.chance.choice((None, 0, 2000))
    job.shell("sleep 300 & sleep 300", tty=job.chance.random() < 0.4)
    if job.chance.random() < 0.7:
        yield job.started
    ending = job.ask("process/terminate", graceMs=grace)
    yield job.closed_or_called_off
    yield job.answer(ending)
    equal(job.result(ending), {"running": True}, "result of terminate")
    if not job.called_off():
        job.expect([143, 137] if grace else [137])


def leaves_a_daemon(job):
    holds, code = job.chance.random() < 0.5, job.chance.randrange(256)
    job.shell((HOLDER if holds else DAEMON) + "exit $1", str(code), tty=job.chance.random() < 0.3)
    yield job.exited if holds else job.closed
    ending = job.ask("process/terminate")
    yield job.answer(ending)
    equal(job.result(ending), {"running": False}, "result of terminate")
    yield job.closed
    job.expect([code], b"")


def echoes(job):
    words = [PATTERN[: job.chance.randrange(1, 3000)] for _ in range(job.chance.randrange(1, 8))]
    job.start(["cat"], pipeStdin=True)
    if job.chance.random() < 0.5:
        yield job.started
    writes = [
        job.ask("process/write", chunk=encoded(word), writeId=str(number))
        for number, word in enumerate(words)
    ]
    writes.append(job.ask("process/write", chunk=encoded(words[0]), writeId="0"))
    writes.append(job.ask("process/closeStdin"))
    yield job.closed
    for message_id in writes:
        yield job.answer(message_id)
        equal(job.result(message_id)["status"], "accepted", "status")
    job.expect([0], b"".join(words))


def answers_on_a_terminal(job):
    word = b"word%d" % job.chance.randrange(1 << 30)
    job.shell('read x; echo "<$x>"', tty=True)
    yield job.started
    writing = job.ask("process/write", chunk=encoded(word + b"\n"))
    yield job.closed
    yield job.answer(writing)
    job.expect([0], word + b"\r\n<" + word + b">\r\n")


def is_polled(job):
    job.shell("printf one; sleep 0.0$1; printf two", str(job.chance.randrange(1, 10)))
    after, seen = 0, b""
    while True:
        polling = job.ask("process/read", afterSeq=after, waitMs=60000)
        yield job.answer(polling)
        if "error" in job.reply(polling):  # the table is full: an ended process is soon forgotten
            equal(job.reply(polling)["error"]["data"]["kind"], "prunedProcess", "kind of error")
            check(job.closed(), "it was pruned before it closed")
            check(b"onetwo".startswith(seen), "what the polls saw: %r" % seen)
            break
        answer = job.result(polling)
        seen += b"".join(decoded(chunk["chunk"]) for chunk in answer["chunks"])
        after = answer["nextSeq"] - 1
        if answer["closed"]:
            equal(seen, b"onetwo", "what the polls saw")
            break
    yield job.closed
    job.expect([0], b"onetwo")


def floods_until_it_is_ended(job):
    job.start(["yes"])
    yield job.has_output
    ending = job.ask("process/terminate")
    yield job.closed
    yield job.answer(ending)
    job.expect([137])
    got = job.process().output()
    check(got == (b"y\n" * (len(got) // 2 + 1))[: len(got)], "the flood was changed")


def does_not_exist(job):
    job.start(
        [job.chance.choice(("no-such-program", "/no/such/program"))], tty=job.chance.random() < 0.5
    )
    yield job.answer(job.first)
    equal(
        job.reply(job.first).get("error", {}).get("data", {}).get("kind"),
        "spawnNotFound",
        "kind of error",
    )


def runs_out_of_time(job):
    job.shell("sleep 300", timeoutMs=job.chance.randrange(1, 60), tty=job.chance.random() < 0.3)
    yield job.closed
    job.expect([137], b"")
    equal(job.process().exited.get("timedOut"), True, "timedOut")
    ending = job.ask("process/terminate")  # its answer confirms that the whole tree has ended
    yield job.answer(ending)
    equal(job.result(ending), {"running": False}, "result of terminate")


KINDS = {
    ends_at_once: 25,
    prints_a_little: 25,
    prints_on_a_terminal: 10,
    prints_a_lot: 10,
    is_killed_while_it_prints: 5,
    is_ended_by_a_signal: 6,
    is_terminated: 4,
    leaves_a_daemon: 3,
    echoes: 5,
    answers_on_a_terminal: 3,
    is_polled: 2,
    floods_until_it_is_ended: 0.5,
    does_not_exist: 1,
    runs_out_of_time: 1,
}


class Crew:
    """Runs jobs on a server, up to a number in parallel."""

    def __init__(self, server, events, pattern_path, seed):
        self.server, self.events, self.pattern_path = server, events, pattern_path
        self.chance = random.Random(seed)
        self.open = {}  # name: (job, generator, condition)
        self.owners = {}  # request id: name
        self.passed = self.launched = self.bytes = 0
        self.failures = []
        self.counts = {}

    @staticmethod
    def listener(events):
        """For Server(listener=…): notes the process that each message is about."""

        def listen(message):
            params = message.get("params")
            events.put(
                (params["processId"], None)
                if params and "processId" in params
                else (None, message.get("id"))
            )

        return listen

    def launch(self, kind=None):
        kind = kind or self.chance.choices(list(KINDS), list(KINDS.values()))[0]
        self.launched += 1
        self.counts[kind.__name__] = self.counts.get(kind.__name__, 0) + 1
        name = "%s %d" % (kind.__name__, self.launched)
        job = Job(self, name)
        self.open[name] = [job, self._steps(kind, job), None]
        self._advance(name)

    @staticmethod
    def _steps(kind, job):
        yield from kind(job)
        for message_id in job.keys:
            yield job.answer(message_id)

    def turn(self):
        """Waits for an event and resumes the jobs that it concerns."""
        try:
            name, message_id = self.events.get(timeout=PATIENCE)
        except queue.Empty:
            for name in list(self.open):
                self._close(name, "stuck: %s" % self._state(name))
            return
        name = self.owners.get(message_id) if name is None else name
        if name in self.open:
            self._advance(name)

    def drain(self):
        while self.open:
            self.turn()

    def _advance(self, name):
        _, steps, condition = self.open[name]
        try:
            while condition is None or condition():
                condition = self.open[name][2] = next(steps)
        except StopIteration:
            self._close(name, None)
        except Failure as failure:
            self._close(name, str(failure))

    def _close(self, name, why):
        job, _, _ = self.open.pop(name)
        with self.server.changed:
            process = (
                self.server.processes.pop(name, None)
                if why is None
                else self.server.processes.get(name)
            )
            for message_id in job.keys:
                self.owners.pop(message_id, None)
                self.server.replies.pop("%d" % message_id, None)
        if process:
            self.bytes += process.size()
            if process.problems and why is None:
                why = "; ".join(process.problems)
        if why is None:
            self.passed += 1
        else:
            self.failures.append("%s: %s" % (name, why))
            self.server.request("process/terminate", {"processId": name})
            print("FAIL %s: %s" % (name, why), flush=True)

    def _state(self, name):
        process = self.server.processes.get(name)
        if not process:
            return "no start reply"
        return "seq %d, %d bytes, exited %s, closed %s" % (
            process.seq,
            process.size(),
            bool(process.exited),
            bool(process.closed),
        )


class Health:
    """Samples of the server at rest, and a check that they do not grow."""

    def __init__(self, server):
        self.server, self.samples = server, []

    def sample(self, programs):
        end = time.monotonic() + PATIENCE
        while self.server.zombies() and time.monotonic() < end:
            time.sleep(0.01)
        self.samples.append(
            (
                programs,
                self.server.descriptors(),
                self.server.resident_bytes(),
                len(self.server.zombies()),
            )
        )
        return self.samples[-1]

    def growth(self, index):
        """Returns the fitted growth of a column over the samples, without the first fifth, which is
        the warm-up.
        """
        rows = self.samples[len(self.samples) // 5 :]
        if len(rows) < 3:
            return 0.0
        mean_x = sum(row[0] for row in rows) / len(rows)
        mean_y = sum(row[index] for row in rows) / len(rows)
        spread = sum((row[0] - mean_x) ** 2 for row in rows)
        slope = (
            sum((row[0] - mean_x) * (row[index] - mean_y) for row in rows) / spread
            if spread
            else 0.0
        )
        return slope * (rows[-1][0] - rows[0][0])

    def problems(self, allowed_bytes):
        found = []
        if self.growth(1) > 0.5:
            found.append("descriptors grow: %s" % [row[1] for row in self.samples])
        if any(row[3] for row in self.samples):
            found.append("zombies: %s" % [row[3] for row in self.samples])
        if self.growth(2) > allowed_bytes and not self.server.is_sanitized():
            found.append(
                "memory grows by %d KiB: %s"
                % (self.growth(2) // 1024, [row[2] // 1024 for row in self.samples])
            )
        return found


def rest(crew, health):
    """Lets all jobs end, makes the table forget large outputs, and samples. Returns the sample as
    text.
    """
    crew.drain()
    for _ in range(64):
        crew.launch(ends_at_once)
    crew.drain()
    programs, descriptors, resident, zombies = health.sample(crew.launched)
    return "%7d programs  %8.1f MB of output  %3d descriptors  %6d KiB  %d zombies  %d failures" % (
        programs,
        crew.bytes / 1e6,
        descriptors,
        resident // 1024,
        zombies,
        len(crew.failures),
    )


def final_checks(server, health):
    """Yields the name of each promise about the whole run, and why it was broken, or None."""
    yield "descriptors, memory and zombies do not grow", "; ".join(
        health.problems(ALLOWED_GROWTH)
    ) or None
    for name, action in (
        ("the server ends with status 0", lambda: equal(server.end(), 0, "exit status")),
        ("no rule of the protocol was broken", server.verify),
        (
            "no program is left",
            lambda: eventually(lambda: not server.programs(), "the end of all programs"),
        ),
    ):
        try:
            action()
            yield name, None
        except Failure as failure:
            yield name, str(failure)


def drive(command, seed, work):
    """Starts a server, does the work (crew, health) on it, and reports. Returns the exit status."""
    if os.path.exists(command[0]):
        command[0] = os.path.abspath(command[0])
    directory, mark, events = (
        tempfile.mkdtemp(prefix="workload-"),
        uuid.uuid4().hex,
        queue.SimpleQueue(),
    )
    pattern = os.path.join(directory, "pattern")
    with open(pattern, "wb") as file:
        file.write(PATTERN)
    server = Server(command, directory, mark, listener=Crew.listener(events))
    crew, health = Crew(server, events, pattern, seed), Health(server)
    try:
        work(crew, health)
        print("kinds: " + ", ".join("%s %d" % pair for pair in sorted(crew.counts.items())))
        checks = list(final_checks(server, health))
    finally:
        server.discard()
        sweep(mark)
        shutil.rmtree(directory, ignore_errors=True)
    for name, why in checks:
        print("PASS " + name if why is None else "FAIL %s: %s" % (name, why))
    failed = len(crew.failures) + sum(why is not None for _, why in checks)
    print("%d passed, %d failed" % (crew.passed + sum(why is None for _, why in checks), failed))
    return 1 if failed else 0


def parse(parser):
    """Parses options before --, and the server's command after it."""
    end = sys.argv.index("--") if "--" in sys.argv else len(sys.argv)
    options, command = parser.parse_args(sys.argv[1:end]), sys.argv[end + 1 :]
    if not command:
        parser.error("no server command after --")
    return options, command

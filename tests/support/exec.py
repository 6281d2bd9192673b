"""A client of the exec layer: it runs commands, answers questions, and checks the order of the
events.

For every process: one exec/begin, after an exec/attempt of its call; deltas between it and
exec/end, with rising seqs; at most one exec/end, with the same output as the deltas. Anything else
is a violation, as in client.py.
"""

import contextlib
import json
import os
import shutil
import sqlite3
import subprocess
import tempfile

from support.client import (
    PATIENCE,
    SERVER_MARK,
    Failure,
    Server,
    brief,
    carriers,
    check,
    equal,
    program_of,
)

UNCONFINED = "danger-full-access"
# The sandbox refuses this address, which no machine has (RFC 5737).
NOWHERE = "(exec 3<>/dev/tcp/192.0.2.1/9) 2>/dev/null"
SESSION = "approvedForSession"
PREFIX = "approvedWithPrefixRule"
BAN = "[[rule]]\nprefix = ['touch']\ndecision = 'forbidden'\njustification = 'no touching'\n"
LONGEST_YIELD = 30000  # of exec/command, in milliseconds


class Question:
    """One approval/request of the server."""

    def __init__(self, message):
        self.id, self.params = message["id"], message["params"]

    def __getitem__(self, name):
        return self.params[name]

    def offers(self):
        """Returns the possible answers: {(decision, scope or None)}."""
        return {(choice["decision"], choice.get("scope")) for choice in self["availableDecisions"]}


class Program:
    """The events of one process of exec/command."""

    def __init__(self, begin):
        self.begin, self.end = begin, None
        self.deltas = []  # (seq, stream, text)
        self.interactions = []
        self.input_states = []
        self.kept = True  # the text of all deltas is still kept
        self.size = 0

    def text(self, stream=None):
        return "".join(text for _, of, text in self.deltas if stream in (None, of))

    def add_delta(self, params, violations):
        if self.end:
            violations.append("delta of %s after exec/end" % params["processId"])
        if self.deltas and params["seq"] <= self.deltas[-1][0]:
            violations.append(
                "delta %d of %s after %d" % (params["seq"], params["processId"], self.deltas[-1][0])
            )
        if not params["delta"]:
            violations.append("empty delta of %s" % params["processId"])
        self.size += len(params["delta"])
        self.kept = self.size < 4 << 20
        self.deltas.append(
            (params["seq"], params["stream"], params["delta"] if self.kept else "")
        )

    def add_end(self, params, violations):
        if self.end:
            violations.append("second exec/end of %s" % params["processId"])
        self.end = params
        for member in ("callId", "processId", "argv", "workdir", "mode", "commands"):
            if params[member] != self.begin[member]:
                violations.append("%s of exec/end differs from exec/begin" % member)
        if params["omittedBytes"] == 0 and self.kept and self.text() != params["aggregatedOutput"]:
            violations.append(
                "the deltas of %s are not its output: %s, %s"
                % (params["processId"], brief(self.text()), brief(params["aggregatedOutput"]))
            )


class ExecServer(Server):
    """`answer`: called with each Question, on the reader's thread; what it returns is sent as the
    result. None leaves the question open."""

    def __init__(self, *arguments, answer=None, **options):
        self.answer_function = answer
        self.questions = []
        self.taken_questions = 0
        self.withdrawn = []  # ids of questions, in order
        self.events = []  # (method, params)
        self.patch_events = []  # likewise, of patches
        self.attempts = {}  # number of attempts by call
        self.programs_by_id = {}
        super().__init__(*arguments, **options)

    # Receiving

    def _take_notification(self, message):
        method, params = message["method"], message["params"]
        if "id" in message and method == "approval/request":
            return self._take_question(message)
        if method == "$/cancelRequest":
            return self.withdrawn.append(params["id"])
        if method.startswith("patch/"):
            return self.patch_events.append((method, params))
        if method.startswith("exec/"):
            return self._take_event(method, params)
        return super()._take_notification(message)

    def _take_question(self, message):
        question = Question(message)
        if any(other.id == question.id for other in self.questions):
            self.violations.append("a second question %r" % question.id)
        self.questions.append(question)
        if self.answer_function:
            result = self.answer_function(question)
            if result is not None:
                self.answer_raw(question.id, result=result)

    def _take_event(self, method, params):
        self.events.append((method, params))
        if method == "exec/attempt":
            self.attempts[params["callId"]] = params["n"]
            return
        process_id = params["processId"]
        program = self.programs_by_id.get(process_id)
        if method == "exec/begin":
            if program:
                self.violations.append("second exec/begin of %s" % process_id)
            if not self.attempts.get(params["callId"]):
                self.violations.append("exec/begin of %s without an attempt" % process_id)
            self.programs_by_id[process_id] = Program(params)
        elif not program:
            self.violations.append("%s before the exec/begin of %s" % (method, process_id))
        elif params["callId"] != program.begin["callId"]:
            self.violations.append("%s names another call" % method)
        elif method == "exec/outputDelta":
            program.add_delta(params, self.violations)
        elif method == "exec/terminalInteraction":
            program.interactions.append(params["stdin"])
        elif method == "exec/inputState":
            program.input_states.append(params["inputState"])
        elif method == "exec/end":
            program.add_end(params, self.violations)
        else:
            self.violations.append("unknown event %s" % method)

    # Questions

    def question(self, what="a question"):
        """Waits for the next question that no earlier call has returned."""
        at = self.taken_questions
        self.taken_questions += 1
        self.wait(lambda: len(self.questions) > at, what)
        return self.questions[at]

    def question_about(self, message_id):
        """Waits for the next question. Returns None if this call is answered without one."""
        at = self.taken_questions
        self.wait(
            lambda: len(self.questions) > at or self.is_answered(message_id),
            "a question or an answer to request %s" % message_id,
        )
        return self.question() if len(self.questions) > at else None

    def answer_raw(self, question_id, **members):
        self.send({"jsonrpc": "2.0", "id": question_id, **members})

    def answer(self, question, decision, **members):
        self.answer_raw(question.id, result={"decision": decision, **members})

    def wait_withdrawn(self, question):
        self.wait(lambda: question.id in self.withdrawn, "withdrawal of %s" % question.id)

    # Commands

    @staticmethod
    def exec_params(what, **params):
        return {"command" if isinstance(what, str) else "argv": what, **params}

    def exec_later(self, what, **params):
        """Sends exec/command for a script or an argv. Returns the id of the request. The default
        yield time is long; None leaves it to the server.
        """
        params = {"yieldTimeMs": LONGEST_YIELD, **params}
        if params["yieldTimeMs"] is None:
            del params["yieldTimeMs"]
        return self.request("exec/command", self.exec_params(what, **params))

    def exec(self, what, **params):
        return self.result(self.exec_later(what, **params))

    def exec_refused(self, what, kind=None, code=None, **params):
        return self.error(self.exec_later(what, **params), code, kind)

    def output_of(self, what, **params):
        """Returns the output of a command that must succeed."""
        result = self.exec(what, **params)
        equal((result["state"], result.get("exitCode")), ("completed", 0), brief(result, 500))
        return result["output"]

    def left_running(self, what, shows=None, **params):
        """Starts a command that goes on. Returns its process id. With `shows`, an answer has
        contained this output by then, on a slow machine too.
        """
        wait = {"yieldTimeMs": 250} if shows is None else {"quietMs": 20}
        result = self.exec(what, **{**wait, **params})
        check(result["state"] in ("running", "inputNeeded"), "it ended: %s" % brief(result, 500))
        if shows is not None:
            self.gather(result["processId"], shows, result["output"])
        return result["processId"]

    def stdin_later(self, process_id, chars="", **params):
        return self.request(
            "exec/writeStdin", {"processId": process_id, "chars": chars, **params}
        )

    def stdin(self, process_id, chars="", **params):
        return self.result(self.stdin_later(process_id, chars, **params))

    def gather(self, process_id, text, output=""):
        """Polls until the new output contains the text. Returns the output of all polls."""
        while text not in output:
            result = self.stdin(process_id, quietMs=20)
            output += result["output"]
            if result["state"] == "completed":
                break
        check(text in output, "%r is not in %s" % (text, brief(output)))
        return output

    def last_answer(self, process_id, chars="", **params):
        """Waits for the exit. Returns the last answer."""
        result = self.stdin(process_id, chars, noTimeout=True, **params)
        equal(result["state"], "completed", "state")
        return result

    def program(self, process_id):
        """Waits for the exec/begin of the process."""
        self.wait(lambda: process_id in self.programs_by_id, "exec/begin of %s" % process_id)
        return self.programs_by_id[process_id]

    def program_of_call(self, call_id):
        def find():
            return next(
                (p for p in self.programs_by_id.values() if p.begin["callId"] == call_id), None
            )

        return self.wait(find, "exec/begin of call %s" % call_id)

    def wait_end(self, process_id):
        program = self.program(process_id)
        self.wait(lambda: program.end, "exec/end of %s" % process_id)
        return program

    def wait_end_of_call(self, call_id):
        return self.wait_end(self.program_of_call(call_id).begin["processId"])

    def wait_delta(self, process_id, text):
        program = self.program(process_id)
        self.wait(lambda: text in program.text(), "%r in the deltas of %s" % (text, process_id))
        return program

    def events_of(self, call_id):
        """Returns the names of the call's events, in order, without repeated neighbours."""
        names = []
        with self.changed:
            for method, params in self.events:
                if params["callId"] == call_id and (not names or names[-1] != method):
                    names.append(method)
        return names

    def warning(self, kind):
        """Waits for an execward/warning of this kind. Returns its message."""

        def find():
            return next(
                (p for m, p in self.warnings if m == "execward/warning" and p["kind"] == kind), None
            )

        return self.wait(find, "a warning about %s" % kind)["message"]

    def listed(self, process_id):
        return next(
            (p for p in self.call("exec/list")["processes"] if p["processId"] == process_id), None
        )

    def waiting_calls(self):
        return {call["callId"]: call for call in self.call("exec/list")["calls"]}

    def approvals(self):
        return self.call("approvals/list")["approvals"]

    def programs(self):
        """Returns the living programs of exec/command, which inherit the server's mark."""
        own = program_of(self.pid)
        return [pid for pid in carriers(self.mark, SERVER_MARK) if program_of(pid) != own]


class Home:
    """The home of a person: configuration, rules, database, and a project to work in."""

    def __init__(self, scene, name="home"):
        self.scene, self.path = scene, scene.path(name)
        self.project = os.path.join(self.path, "project")
        self.rules_directory = os.path.join(self.path, "config/execward/rules.d")
        self.database = os.path.join(self.path, "state/execward/execward.db")
        os.makedirs(os.path.join(self.project, ".git"), exist_ok=True)
        os.chmod(self.path, 0o700)
        self.project = os.path.realpath(self.project)

    def environment(self):
        return {
            "HOME": self.path,
            "XDG_CONFIG_HOME": os.path.join(self.path, "config"),
            "XDG_STATE_HOME": os.path.join(self.path, "state"),
            "SHELL": "/bin/bash",
            "PATH": "/usr/local/bin:/usr/bin:/bin",
        }

    def file(self, name, content, mode=0o600):
        path = os.path.join(self.path, name)
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        with open(path, "w") as file:
            file.write(content)
        os.chmod(path, mode)
        return path

    def config(self, text):
        return self.file("config/execward/config.toml", text)

    def rules(self, text, name="own.toml"):
        """Replaces a file of rules in one step, as an editor does."""
        new = self.file("config/execward/rules.d/.new", text)
        path = os.path.join(self.rules_directory, name)
        os.rename(new, path)
        return path

    def cli(self, *arguments, cwd=None):
        """Runs a subcommand of execward as the person would."""
        environment = {k: v for k, v in os.environ.items() if not k.startswith("EXECWARD_")}
        environment.update(self.environment())
        return subprocess.run(
            [self.scene.command[0], *arguments],
            env=environment,
            cwd=cwd or self.project,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
        )

    def good_cli(self, *arguments, **options):
        done = self.cli(*arguments, **options)
        equal(done.returncode, 0, "status of %s; %s" % (arguments, done.stderr))
        return done.stdout

    def audit(self):
        """Returns all rows of the audit, oldest first."""
        return [
            json.loads(line)
            for line in self.good_cli("audit", "export", "--json").splitlines()
        ]

    def sql(self, text, *values):
        connection = sqlite3.connect(self.database, timeout=PATIENCE)
        try:
            with connection:
                return connection.execute(text, values).fetchall()
        finally:
            connection.close()


def exec_server(
    scene,
    *flags,
    home=None,
    policy=None,
    sandbox=UNCONFINED,
    approvals=True,
    extensions=True,
    input_state=False,
    settings=None,
    answer=None,
    env=None,
    initialize=None,
    **options,
):
    """Yields a server in a home of its own (or in a given one), ready for exec/command."""
    home = home or Home(scene)
    changes = {"sandbox": sandbox, "approvalPolicy": policy, **(settings or {})}
    server = ExecServer(
        scene.command,
        scene.directory,
        scene.mark,
        flags,
        env={**home.environment(), **(env or {})},
        cwd=options.pop("cwd", home.project),
        capabilities={
            "approvals": approvals,
            "extensions": extensions,
            "inputState": input_state,
        },
        initialize={
            "settings": {name: value for name, value in changes.items() if value is not None},
            **(initialize or {}),
        },
        answer=answer,
        **options,
    )
    server.home = home
    scene.servers.append(server)
    return server


def always(decision, **members):
    """Returns an answer function that always gives this answer."""
    return lambda question: {"decision": decision, **members}


def decided_by(server, call_id):
    return server.program_of_call(call_id).begin["decidedBy"]


def denied(server, message_id):
    """Checks that the call was denied. Returns the message."""
    return server.error(message_id, kind="denied")["message"]


def is_asked(server, what, **params):
    """Returns True if there is a question about this call, and denies it. Without a question the
    call must run.
    """
    message_id = server.exec_later(what, **params)
    question = server.question_about(message_id)
    if not question:
        ran(server, message_id)
        return False
    server.answer(question, "denied")
    denied(server, message_id)
    return True


def ran(server, message_id):
    """Checks that the call ran to its end with code 0. Returns the output."""
    result = server.result(message_id)
    if (result["state"], result.get("exitCode")) != ("completed", 0):
        raise Failure("it did not run: %s" % brief(result, 500))
    return result["output"]


@contextlib.contextmanager
def elsewhere():
    """Yields a directory outside of every workspace, and not in /tmp, since a sandbox has its own
    /tmp.
    """
    path = os.path.realpath(tempfile.mkdtemp(prefix="execward-test-", dir="/var/tmp"))
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)


# Questions to a person


def untrusting(scene, *flags, **options):
    """Yields a server that asks a question for everything that is not known to be harmless."""
    return exec_server(scene, *flags, policy="untrusted", **options)


def exists(server, name):
    return os.path.exists(os.path.join(server.home.project, name))


def asks(server, what, **params):
    """Checks that the call is a question, and denies it. Returns the question."""
    message_id = server.exec_later(what, **params)
    question = server.question("a question about %s" % brief(what))
    server.answer(question, "denied")
    denied(server, message_id)
    return question


def runs_unasked(server, what, **params):
    """Checks that the call runs without a question. Returns its result."""
    before = len(server.questions)
    result = server.exec(what, **params)
    equal(len(server.questions), before, "questions about %s" % brief(what))
    equal((result["state"], result["exitCode"]), ("completed", 0), brief(result, 400))
    return result


def approve(server, what, decision=SESSION, answer=None, **params):
    """Checks that the call is a question and runs with this answer. Returns the question."""
    message_id = server.exec_later(what, **params)
    question = server.question("a question about %s" % brief(what))
    server.answer(question, decision, **(answer or {}))
    ran(server, message_id)
    return question


def decision(server, what, **params):
    return server.call("policy/explain", server.exec_params(what, **params))["decision"]


def trusted_ban(scene, name="home"):
    """Returns a home with a trusted project that forbids touch."""
    home = Home(scene, name)
    home.file("project/.execward/rules.d/own.toml", BAN)
    home.good_cli("project", "trust", ".")
    return home

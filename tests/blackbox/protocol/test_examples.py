"""The clients in examples/: each plays its scene, and the one in Python keeps its promises.

A client whose interpreter is missing is skipped, with a line that says so. vscode-jsonrpc is looked
for in EXECWARD_NODE_MODULES, a node_modules folder, and in the folder of the example.
"""

import dataclasses
import importlib.util
import logging
import os
import shutil
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.abspath(__file__ + "/../../.."))
from support.client import (
    PATIENCE, PYTHON, REPOSITORY, SERVER_MARK, Failure, check, equal, eventually, within,
)
from support.exec import UNCONFINED, Home
from support.runner import main, test

EXAMPLES = os.path.join(REPOSITORY, "examples")
PLAIN = 'sandbox = "%s"\n' % UNCONFINED  # the scene is about messages, not about confinement

SCENE = """\
connected to execward
1. output as it comes
tick 1
tick 2
tick 3
exit code 0
2. a question
question: rm -rf execward-example
  in %s
  because `rm -rf execward-example` destroys what cannot be brought back
  the caller says: The example is over.
answer: approved
exit code 0
3. a terminal
name? Ada
hello, Ada
exit code 0
the server ended with status 0
"""

# Stands between a client and a server and does what the protocol allows: the answer of exec/command
# comes before its output, for the first call some time before, then in one piece with it. All other
# messages come in two pieces. argv: server command
AWKWARD = """
import json, os, subprocess, sys, threading, time
server = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
first = sys.stdin.buffer.peek(1)[:1]
with_headers = first in b"Cc"
call_ids, held, answers, released = {}, {}, {}, set()

def messages():
    if not with_headers:
        yield from sys.stdin.buffer
        return
    for line in sys.stdin.buffer:
        if line.lower().startswith(b"content-length:"):
            length = int(line.split(b":")[1])
        elif line == b"\\r\\n":
            yield sys.stdin.buffer.read(length)

def forward():
    for text in messages():
        message = json.loads(text)
        if message.get("method") == "exec/command":
            call_ids[json.dumps(message["id"])] = message["params"]["callId"]
        server.stdin.write(text.strip() + b"\\n")
        server.stdin.flush()
    server.stdin.close()

def wrapped(message):
    text = json.dumps(message).encode()
    return b"Content-Length: %d\\r\\n\\r\\n" % len(text) + text if with_headers else text + b"\\n"

def write(data):
    while data:
        data = data[os.write(1, data):]

def say_in_pieces(message):
    data = wrapped(message)
    write(data[:len(data) // 2])
    time.sleep(0.005)
    write(data[len(data) // 2:])

def release(call_id):
    all = [answers[call_id], *held.pop(call_id, ())]
    if not released:
        say_in_pieces(all.pop(0))
        time.sleep(0.1)
    released.add(call_id)
    write(b"".join(map(wrapped, all)))

def is_complete(call_id):
    answer = answers.get(call_id)
    ended = any(event["method"] == "exec/end" for event in held.get(call_id, ()))
    return answer and (ended or "error" in answer or answer["result"]["state"] != "completed")

threading.Thread(target=forward, daemon=True).start()
for line in server.stdout:
    message = json.loads(line)
    is_event = message.get("method") in ("exec/outputDelta", "exec/end")
    call_id = (message["params"]["callId"] if is_event
               else "method" not in message and call_ids.get(json.dumps(message["id"])))
    if not call_id or call_id in released:
        say_in_pieces(message)
        continue
    if is_event:
        held.setdefault(call_id, []).append(message)
    else:
        answers[call_id] = message
    if is_complete(call_id):
        release(call_id)
os._exit(server.wait())  # the other thread may still be reading
"""

# A server whose requests are named for what it does. argv: nothing, or an action after initialize
FAKE = """
import json, os, signal, sys, time
QUESTION = {"display": {"command": "c", "workdir": "/", "reason": "r", "notes": [], "environment": [],
            "hasInvisibleCharacters": True, "hasMixedScripts": False}, "availableDecisions": []}
def say(**message):
    print(json.dumps(message), flush=True)
held, answered = [], []
for line in sys.stdin:
    message = json.loads(line)
    method, number = message.get("method"), message.get("id")
    if method == "initialize":
        if "chatty" in sys.argv:
            print("x" * (1 << 20), file=sys.stderr, flush=True)
        say(id=number, result={"serverInfo": {"name": "fake"}})
        while "stubborn" in sys.argv:
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            time.sleep(60)
    elif method == "two":
        held.append(number)
        for each in reversed(held) if len(held) == 2 else ():
            say(id=each, result=[each])
    elif method == "die":
        print("my last words", file=sys.stderr, flush=True)
        os._exit(7)
    elif method == "babble":
        print("this is no JSON", flush=True)
    elif method == "ask":
        say(id="q", method="approval/request", params=QUESTION)
    elif method == "withdraw":
        say(method="$/cancelRequest", params={"id": "q"})
        say(id=number, result=None)
    elif method is None:
        answered.append(message)
    elif method == "answers":
        say(id=number, result=answered)
    elif method == "demand":
        say(id=7, method="no/such", params={})
        say(id=number, result=None)
    elif method == "$/cancelRequest":
        say(id=message["params"]["id"], error={"code": -32800, "message": "m", "data": {"kind": "cancelled"}})
    elif method == "shutdown":
        say(id=number, result=None)
    elif method == "exit":
        break
"""


def environment_of(scene, home):
    foreign = ("EXECWARD_", "PYTHONUNBUFFERED")  # PYTHONUNBUFFERED would hide that a client does not flush
    kept = {name: value for name, value in os.environ.items() if not name.startswith(foreign)}
    return {**kept, **home.environment(), "PATH": kept["PATH"], SERVER_MARK: scene.mark}


# The scene


class Client:
    def __init__(self, name, *command, server=lambda command: command, folder=None):
        self.name, self.folder, self._command, self._server = name, folder, command, server

    def command(self, scene, server):
        """Returns the command line of the client. A client that needs packages runs beside them."""
        directory = EXAMPLES
        if self.folder:
            directory = scene.path("examples")
            shutil.copytree(os.path.join(EXAMPLES, self.folder), os.path.join(directory, self.folder),
                            ignore=shutil.ignore_patterns("node_modules"))
            os.symlink(node_modules(), os.path.join(directory, "node_modules"))
        return [part.format(directory) for part in self._command] + self._server(server)


def vim_list(command):
    words = ", ".join("'%s'" % word.replace("'", "''") for word in command)
    return ["--cmd", "let g:execward_command = [%s]" % words]


def node_modules():
    named = os.environ.get("EXECWARD_NODE_MODULES")
    own = os.path.join(EXAMPLES, "vscode-jsonrpc", "node_modules")
    found = [path for path in (named, own) if path and os.path.isdir(path + "/vscode-jsonrpc")]
    return os.path.abspath(found[0]) if found else None


VSCODE = ("node", "{}/vscode-jsonrpc/client.mjs")
CLIENTS = [
    Client("python", sys.executable, "{}/python/execward_client.py"),
    Client("node", "node", "{}/node/client.mjs"),
    Client("vscode_jsonrpc", *VSCODE, folder="vscode-jsonrpc"),
    Client("vscode_jsonrpc_with_lines", *VSCODE, "--lines", folder="vscode-jsonrpc"),
    Client("emacs", "emacs", "-Q", "--batch", "-l", "{}/emacs/execward.el"),
    Client("neovim", "nvim", "--headless", "-u", "NONE", "-c", "luafile {}/neovim/execward.lua",
           server=vim_list),
]


def missing(client):
    """Returns what this machine lacks for a client, or None."""
    program = client._command[0]
    if not shutil.which(program):
        return program
    return "vscode-jsonrpc" if client.folder and not node_modules() else None


def run(scene, client, server, config=PLAIN):
    home = Home(scene, "maïs")  # in a question: more bytes than characters
    home.config(config)
    done = subprocess.run(
        client.command(scene, server), env=environment_of(scene, home), cwd=home.project,
        stdin=subprocess.DEVNULL, capture_output=True, encoding="utf-8", timeout=PATIENCE)
    return done, home


def check_scene(done, home):
    equal(done.stdout.replace("\r", "").splitlines(), (SCENE % home.project).splitlines(),
          "what it printed; stderr: " + done.stderr)
    equal(done.returncode, 0, "exit status")
    decisions = [row for row in home.audit() if row["event"] == "decision"]
    equal([row["decision"] for row in decisions], ["approved"], "decisions in the audit")
    check(not os.path.exists(home.project + "/execward-example"), "what was approved was not done")


def plays_the_scene(client):
    return lambda scene: check_scene(*run(scene, client, scene.command))


def copes_with_late_output_and_cut_messages(client):
    def play(scene):
        relay = [PYTHON, scene.file("relay.py", AWKWARD), *scene.command]
        check_scene(*run(scene, client, relay))

    return play


def prints_output_as_it_comes(client):
    """Each tick waits in a `sleep` of the test until the previous one was seen."""

    def play(scene):
        gate = scene.path("gate")
        os.mkfifo(gate)
        scene.file("bin/sleep", "#!/bin/sh\nread -r line < '%s'\n" % gate, 0o755)
        home = Home(scene)
        home.config(PLAIN)
        environment = environment_of(scene, home)
        environment["PATH"] = scene.path("bin") + ":" + environment["PATH"]
        with open(scene.path("printed"), "w") as printed:
            child = subprocess.Popen(client.command(scene, scene.command), env=environment,
                                     cwd=home.project, stdin=subprocess.DEVNULL, stdout=printed)
        opened = os.open(gate, os.O_RDWR)
        for tick in ("tick 1\n", "tick 2\n", "tick 3\n"):
            eventually(lambda: tick in text_of(scene.path("printed")), tick)
            os.write(opened, b"go\n")
        equal(child.wait(PATIENCE), 0, "exit status")
        os.close(opened)

    return play


def text_of(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def fails_when_the_server_dies(client):
    def play(scene):
        done, _ = run(scene, client, ["/bin/sh", "-c", "echo no luck today >&2; exit 3"])
        equal((done.stdout, done.returncode), ("", 1), "output and exit status")
        check("no luck today" in done.stderr, "it does not say why: " + done.stderr)

    return play


def register(client, make):
    name = "%s_%s" % (client.name, make.__name__)
    lack = missing(client)
    if lack:
        print("SKIP %s: no %s on this machine" % (name, lack), flush=True)
        return
    function = make(client)
    function.__name__ = name
    test(function)


for each in CLIENTS:
    register(each, plays_the_scene)
    register(each, prints_output_as_it_comes)
    register(each, copes_with_late_output_and_cut_messages)
    register(each, fails_when_the_server_dies)


@test
def the_python_client_plays_the_scene_in_a_sandbox(scene):
    check_scene(*run(scene, CLIENTS[0], scene.command, config=""))


# The class in Python


def load_client():
    path = os.path.join(EXAMPLES, "python", "execward_client.py")
    spec = importlib.util.spec_from_file_location("execward_client", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look it up
    sys.dont_write_bytecode, before = True, sys.dont_write_bytecode  # write nothing beside the example
    spec.loader.exec_module(module)
    sys.dont_write_bytecode = before
    return module


execward = load_client()
logging.getLogger("execward").addHandler(logging.NullHandler())


def real(scene, **options):
    home = Home(scene)
    home.config(PLAIN)
    return execward.Execward(scene.command, cwd=home.project, env=environment_of(scene, home), **options)


def fake(scene, *modes, **options):
    command = [PYTHON, scene.file("fake.py", FAKE), *modes]
    return execward.Execward(command, env=environment_of(scene, Home(scene)), **options)


def raised(kind, function, *arguments, **options):
    try:
        value = function(*arguments, **options)
    except kind as error:
        return error
    raise Failure("no %s but %r" % (kind.__name__, value))


def threads_end():
    eventually(lambda: threading.active_count() == 1, "the end of all threads of the client")


@test
def answers_may_come_in_any_order(scene):
    with fake(scene) as server:
        arrived = []
        first, second = server.request("two"), None
        first.add_done_callback(lambda reply: arrived.append(reply.number))
        second = server.request("two")
        second.add_done_callback(lambda reply: arrived.append(reply.number))
        equal(server.wait_for(first, PATIENCE), [first.number], "the first answer")
        equal(server.wait_for(second, PATIENCE), [second.number], "the second answer")
        equal(arrived, [second.number, first.number], "the order of the answers")
    threads_end()


@test
def all_that_waits_fails_when_the_server_dies(scene):
    with fake(scene) as server:
        waiting = [server.request("two"), server.request("nothing")]
        command = server.command("x")
        server.notify("die")
        for wait in (*(reply.result for reply in waiting), command.wait):
            gone = raised(execward.ServerGone, wait, PATIENCE)
            equal((gone.status, gone.stderr), (7, "my last words"), "what it says")
            check("status 7" in str(gone) and "last words" in str(gone), gone)
        raised(execward.ServerGone, server.call, "two", PATIENCE)
        raised(execward.ServerGone, server.command("x").wait, PATIENCE)
        equal(server.close(), 7, "status")
    threads_end()


@test
def all_that_waits_fails_when_the_server_babbles(scene):
    with fake(scene) as server:
        reply = server.request("two")
        server.notify("babble")
        check("no message" in str(raised(execward.ServerGone, reply.result, PATIENCE)), "another reason")
    threads_end()


@test
def a_server_that_does_not_start_says_why(scene):
    gone = raised(execward.ServerGone, execward.Execward, ["/bin/sh", "-c", "echo no luck >&2; exit 3"])
    equal((gone.status, gone.stderr), (3, "no luck"), "what it says")
    raised(FileNotFoundError, execward.Execward, [scene.path("nothing")])
    threads_end()


@test
def an_edited_command_is_in_the_answer(_):
    answer = execward.Choice("edited", command="ls").as_answer()
    equal(answer, {"decision": "edited", "command": "ls"}, "answer")


@test
def a_refused_request_is_an_error_with_kind_and_hint(scene):
    with real(scene) as server:
        error = raised(execward.RequestFailed, server.call, "exec/writeStdin", processId="x", chars="y")
        equal((error.code, error.kind, error.method), (-32600, "unknownProcess", "exec/writeStdin"), error)
        error = raised(execward.RequestFailed, server.call, "process/start", processId="a",
                       argv=["/no/such/program"], cwd="/", env={}, tty=False)
        equal((error.code, error.kind), (-32603, "spawnNotFound"), error)
        check(error.hint and error.hint in str(error), "no hint")
        error = raised(execward.RequestFailed, server.call, "exec/command")
        equal(error.kind, "invalidParams", error)


@test
def what_cannot_be_started_has_ended_with_minus_one(scene):
    with real(scene) as server:
        ended = server.command("true", workdir="nowhere").wait(PATIENCE)
        equal((ended.exit_code, ended.details["state"]), (-1, "failed"), "end")


@test
def a_command_is_waited_for_beyond_its_first_answer(scene):
    gate = scene.path("gate")
    os.mkfifo(gate)
    with real(scene) as server:
        pieces = []
        command = server.command("echo one; read -r x < %s; echo two; exit 5" % gate,
                                 on_output=pieces.append, yieldTimeMs=250)
        equal(server.wait_for(command.reply, PATIENCE)["state"], "running", "state")
        raised(TimeoutError, command.wait, 0.01)
        with open(gate, "w") as file:
            file.write("\n")
        ended = command.wait(PATIENCE)
        equal((ended.exit_code, ended.output, "".join(pieces)), (5, "one\ntwo\n", "one\ntwo\n"), "end")
        raised(execward.ExecwardError, server.command("exit 0").type, "x")


@test
def an_approval_callback_that_raises_denies(scene):
    with real(scene, on_approval=lambda question: 1 / 0) as server:
        error = raised(execward.RequestFailed, server.command("rm -rf x").wait, PATIENCE)
        equal(error.kind, "denied", error)


@test
def without_a_choice_or_a_callback_it_is_denied(scene):
    for on_approval in (None, lambda question: None, lambda question: question.choose("surely")):
        with real(scene, on_approval=on_approval) as server:
            error = raised(execward.RequestFailed, server.command("rm -rf x").wait, PATIENCE)
            equal(error.kind, "denied", error)


@test
def a_choice_carries_its_scope_and_reason(scene):
    questions = []

    def once(question):
        questions.append(question.lines())
        choice = question.choose("approvedForSession", "workspace")
        return dataclasses.replace(choice, reason="daily work", expires_in_ms=60000)

    with real(scene, on_approval=once) as server:
        for _ in range(2):
            equal(server.command("rm -rf x").wait(PATIENCE).exit_code, 0, "exit code")
        equal(len(questions), 1, "questions")
        (approval,) = server.call("approvals/list")["approvals"]
        equal((approval["scope"], approval["reason"]), ("workspace", "daily work"), "approval")


@test
def an_approval_callback_may_make_calls(scene):
    def ask(question):
        equal(server.call("exec/list", PATIENCE)["calls"][0]["state"] != "", True, "list")
        return question.choose("approved")

    with real(scene, on_approval=ask) as server:
        equal(server.command("rm -rf x").wait(PATIENCE).exit_code, 0, "exit code")


@test
def a_withdrawn_question_is_told_and_not_answered(scene):
    told = threading.Event()

    def ask(question):
        check("WARNING" in "\n".join(question.lines()), "no warning of invisible characters")
        if question.withdrawn.wait(PATIENCE):
            told.set()

    with fake(scene, on_approval=ask) as server:
        server.notify("ask")
        server.call("withdraw", PATIENCE)
        check(told.wait(PATIENCE), "it was not told")
        server.call("demand", PATIENCE)
        (answer,) = server.call("answers", PATIENCE)
        equal((answer["id"], answer["error"]["code"]), (7, -32601), "the only answer")
    threads_end()


@test
def a_call_that_takes_too_long_is_cancelled(scene):
    with fake(scene) as server:
        reply = server.request("nothing")
        raised(TimeoutError, server.wait_for, reply, 0.01)
        equal(raised(execward.RequestFailed, reply.result, PATIENCE).kind, "cancelled", "kind")


@test
def a_faulty_callback_of_events_stops_nothing(scene):
    seen, faults = [], []

    def on_event(method, params):
        seen.append(method)
        try:
            server.call("exec/list")
        except RuntimeError as fault:
            faults.append(fault)
            raise

    with real(scene, on_event=on_event) as server:
        ended = server.command("echo x", on_output=lambda text: 1 / 0).wait(PATIENCE)
        equal((ended.exit_code, ended.output), (0, "x\n"), "end")
        eventually(lambda: "exec/end" in seen, "exec/end")
        equal(len(faults), len(seen), "calls in callbacks that were refused")


@test
def much_on_stderr_holds_up_nothing(scene):
    with fake(scene, "chatty") as server:
        equal(server.info["serverInfo"]["name"], "fake", "name")
        eventually(lambda: "xxx" in server.stderr_tail(), "the tail of stderr")


@test
def close_is_bounded_when_the_server_neither_reads_nor_ends(scene):
    server = fake(scene, "stubborn")
    began = time.monotonic()
    replies = [server.request("big", text="x" * (1 << 20)) for _ in range(3)]
    equal(server.close(timeout=1), -9, "status")
    check(time.monotonic() - began < within(20), "it took %.1f s" % (time.monotonic() - began))
    for reply in replies:
        raised(execward.ServerGone, reply.result, 0)
    equal(server.close(), -9, "status of a second close")
    threads_end()


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""A small client that shows the main jobs of a server, step by step, to a person who watches.

usage: scripts/try/demo_client.py SERVER COMMAND…

Prints the messages in short form, and ends with status 1 at the first step that does not show what it
should. It waits for messages of the server, never for time to pass. Settings,
rules, approvals and the audit of the server are in a directory of the demo's own.
"""

import base64
import json
import os
import select
import subprocess
import sys
import tempfile
import textwrap
import time

PATIENCE_SECONDS = 20
TEXT_SHOWN = 60
BODY_SHOWN = 240


class Failure(Exception):
    """A step did not show what it should."""


class Look:
    """Colours if the terminal supports them, else plain text."""

    def __init__(self):
        plain = "NO_COLOR" in os.environ or os.environ.get("TERM") in (None, "dumb")
        self.coloured = sys.stdout.isatty() and not plain
        self.started = time.monotonic()

    def paint(self, code, text):
        return f"\x1b[{code}m{text}\x1b[0m" if self.coloured else text

    def wire(self, arrow, text):
        clock = f"{time.monotonic() - self.started:6.3f} s"
        colour = "36" if arrow == "→" else "32"
        print(f"  {self.paint('2', clock)}  {self.paint(colour, arrow)} {text}", flush=True)

    def question(self, request):
        """Returns a question as a person should see it: only texts that are meant to be shown."""
        display = request["display"]
        rows = ["May this run?", "", f"    {display['command']}", "",
                f"in       {display['workdir']}", f"program  {display['program']}",
                f"because  {display['reason']}"]
        width = max(map(len, rows))
        print(f"  ┌{'─' * (width + 2)}┐")
        for row in rows:
            text = self.paint("1", row.ljust(width)) if row.startswith("    ") else row.ljust(width)
            print(f"  │ {text} │")
        print(f"  └{'─' * (width + 2)}┘", flush=True)

    def step(self, number, sentence):
        wrapped = textwrap.fill(f"{number}. {sentence}", 88, subsequent_indent="   ")
        print("\n" + self.paint("1", wrapped), flush=True)


def shortened(value):
    """Returns a message body as a person wants to see it: chunks as text, long text cut."""
    if isinstance(value, dict):
        return {name: decoded(item) if name == "chunk" else shortened(item)
                for name, item in value.items()}
    if isinstance(value, list):
        return [shortened(item) for item in value[:6]] + ["…"] * (len(value) > 6)
    if isinstance(value, str) and len(value) > TEXT_SHOWN:
        return value[:TEXT_SHOWN] + "…"
    return value


def decoded(chunk):
    return base64.b64decode(chunk).decode("utf-8", "replace")


def compact(value):
    text = json.dumps(shortened(value), ensure_ascii=False)
    return text if len(text) <= BODY_SHOWN else text[:BODY_SHOWN] + " …"


class Client:
    def __init__(self, command, environment, look):
        self.command, self.environment, self.look = command, environment, look
        self.server = subprocess.Popen(command, env=environment,
                                       stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.unread = b""
        self.next_id = 1
        self.output = {}  # process → text so far
        self.arrivals = []  # (time, process, text) of every delta
        self.ended = {}  # (process, kind of event) → its params
        self.questions = []  # questions of the server without an answer yet
        self.replies = {}  # id → the answer to that request

    def send(self, method, params=None, request=True):
        message = {"jsonrpc": "2.0"}
        if request:
            message["id"] = self.next_id
            self.next_id += 1
        message["method"] = method
        if params is not None:
            message["params"] = params
        number = f"#{message['id']} " if request else ""
        body = compact(params) if params else ""
        self.look.wire("→", f"{number}{method} {body}")
        self.server.stdin.write(json.dumps(message).encode() + b"\n")
        self.server.stdin.flush()
        return message.get("id")

    def call(self, method, params=None):
        """Sends a request and waits for its result."""
        return self.result_of(self.send(method, params))

    def result_of(self, request):
        message = self.wait(lambda: self.replies.get(request), f"the answer to #{request}")
        if "error" in message:
            raise Failure(f"#{request} failed: {message['error'].get('message')}")
        return message["result"]

    def answer(self, question, result):
        """Answers a request of the server."""
        self.look.wire("→", f"#{question['id']} {compact(result)}")
        message = {"jsonrpc": "2.0", "id": question["id"], "result": result}
        self.server.stdin.write(json.dumps(message).encode() + b"\n")
        self.server.stdin.flush()

    def wait(self, condition, what):
        """Reads messages until the condition holds. Returns the value of the condition."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while True:
            found = condition()
            if found:
                return found
            self.receive(deadline, what)

    def receive(self, deadline, what):
        while b"\n" not in self.unread:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self.server.stdout], [], [], left)[0]:
                raise Failure(f"{what} did not come within {PATIENCE_SECONDS} s")
            piece = os.read(self.server.stdout.fileno(), 1 << 16)
            if not piece:
                raise Failure(f"the server ended instead of sending {what}")
            self.unread += piece
        line, self.unread = self.unread.split(b"\n", 1)
        message = json.loads(line)
        self.take(message)
        return message

    def take(self, message):
        method, params = message.get("method"), message.get("params", {})
        if method is None:
            kind = "result" if "result" in message else "error"
            self.look.wire("←", f"#{message.get('id')} {compact(message.get(kind))}")
            self.replies[message.get("id")] = message
            return
        number = f"#{message['id']} " if "id" in message else ""
        self.look.wire("←", f"{number}{method} {compact(params)}")
        if method == "approval/request":
            self.questions.append(message)
        process = params.get("processId")
        if method == "process/output":
            text = decoded(params["chunk"])
            self.output[process] = self.output.get(process, "") + text
            self.arrivals.append((time.monotonic(), process, text))
        elif method in ("process/exited", "process/closed"):
            self.ended[process, method] = params

    def type(self, process, text):
        chunk = base64.b64encode(text.encode()).decode()
        result = self.call("process/write", {"processId": process, "chunk": chunk})
        if result.get("status") != "accepted":
            raise Failure(f"the input was not accepted: {result}")

    def sees(self, process, text, after=0):
        """Waits until the output of a process holds the text; returns where that text ends."""
        def end():
            found = self.output.get(process, "").find(text, after)
            return found + len(text) if found >= 0 else 0
        return self.wait(end, f"the text {text!r}")

    def event(self, process, method):
        return self.wait(lambda: self.ended.get((process, method)), f"{method} of {process}")


def expect(condition, what):
    if not condition:
        raise Failure(what)


PROMPT = "demo> "


def shake_hands(client, directory):
    """Client and server introduce themselves."""
    result = client.call("initialize", {
        "clientInfo": {"name": "demo", "version": "1"}, "capabilities": {"approvals": True},
        "settings": {"approvalPolicy": "untrusted", "sandbox": "danger-full-access",
                     "workspaceRoots": [directory]}})
    expect(result.get("sessionId"), "initialize gave no session")
    client.send("initialized", request=False)


def start_shell(client, directory):
    """Starts bash in a terminal of 24 rows and 80 columns. Its prompt arrives by itself."""
    client.call("process/start", {
        "processId": "shell", "argv": ["bash", "--norc", "--noprofile", "--noediting", "-i"],
        "cwd": directory, "tty": True, "size": {"rows": 24, "cols": 80},
        "env": {"PATH": os.environ["PATH"], "PS1": PROMPT, "TERM": "xterm", "LC_ALL": "C.UTF-8"}})
    client.sees("shell", PROMPT)


def run_in_shell(client, line):
    """Types a line and waits for the prompt after it; returns what was printed between."""
    begin = len(client.output.get("shell", ""))
    client.type("shell", line + "\n")
    end = client.sees("shell", "\n" + PROMPT, begin)
    return client.output["shell"][begin:end - len(PROMPT)]


def type_command(client, directory):
    """Types a command, as a person would at the keyboard: echo and answer come back."""
    printed = run_in_shell(client, 'echo "café at $(tty), $((6 * 7))"')
    expect("café at /dev/" in printed and ", 42" in printed, "the shell did not answer")


def watch_deltas(client, directory):
    """Runs a slow program. Each line arrives when it is printed, not when the program ends."""
    begin = len(client.arrivals)
    run_in_shell(client, "for n in 1 2 3; do echo tick-$n; sleep 0.4; done")
    arrived = {}
    text = ""
    for at, _, piece in client.arrivals[begin:]:
        text += piece
        for line in ("tick-1", "tick-3"):
            if f"\n{line}" in text:
                arrived.setdefault(line, at)
    expect(len(arrived) == 2, "the lines did not arrive")
    expect(arrived["tick-3"] - arrived["tick-1"] > 0.2, "the lines arrived together")


def resize(client, directory):
    """Makes the terminal bigger; the programs in it notice."""
    expect("24 80" in run_in_shell(client, "stty size"), "the first size is not 24 80")
    client.call("process/resize", {"processId": "shell", "size": {"rows": 40, "cols": 132}})
    expect("40 132" in run_in_shell(client, "stty size"), "the new size is not 40 132")


def interrupt(client, directory):
    """Starts a long sleep and types Ctrl-C (byte 3): the sleep ends, the shell lives on."""
    begin = len(client.output["shell"])
    client.type("shell", "sh -c 'echo sleeping; exec sleep 600'\n")
    client.sees("shell", "\nsleeping", begin)
    (shell,) = client.call("process/list")["processes"]
    expect(len(shell["descendants"]) == 1, "process/list does not show the sleep below the shell")
    begin = len(client.output["shell"])
    client.type("shell", "\x03")
    client.sees("shell", PROMPT, begin)
    expect("status 130" in run_in_shell(client, "echo status $?"), "the sleep was not interrupted")


def leave(client, directory):
    """Leaves the shell with status 3: its end is told with the time and memory that it used."""
    client.type("shell", "exit 3\n")
    exited = client.event("shell", "process/exited")
    expect(exited.get("exitCode") == 3, "the exit status is not 3")
    expect(exited.get("usage", {}).get("peakRssBytes", 0) > 0, "the usage is missing")
    client.event("shell", "process/closed")


def sort_by_pipe(client, directory):
    """Starts sort on pipes, without a terminal. It answers once its input is closed."""
    client.call("process/start", {
        "processId": "sort", "argv": ["sort"], "cwd": directory, "tty": False, "pipeStdin": True,
        "env": {"PATH": os.environ["PATH"], "LC_ALL": "C"}})
    client.type("sort", "pear\napple\nfig\n")
    client.call("process/closeStdin", {"processId": "sort"})
    client.event("sort", "process/closed")
    expect(client.output.get("sort") == "apple\nfig\npear\n", "the lines are not sorted")
    expect(client.event("sort", "process/exited").get("exitCode") == 0, "sort failed")


def look_back(client, directory):
    """Asks what there is: both entries stay readable after their end."""
    listed = client.call("process/list")["processes"]
    states = {entry["processId"]: entry["state"] for entry in listed}
    expect(states == {"shell": "closed", "sort": "closed"}, f"unexpected states {states}")
    chunks = client.call("process/read", {"processId": "sort"})["chunks"]
    text = "".join(decoded(chunk["chunk"]) for chunk in chunks)
    expect(text == "apple\nfig\npear\n", "the output could not be read again")


def ask_a_person(client, directory):
    """Runs a command that is not known to be harmless. The server asks; the demo answers."""
    request = client.send("exec/command", BACKUP)
    question = client.wait(lambda: client.questions and client.questions.pop(), "a question")
    client.look.question(question["params"])
    client.answer(question, {"decision": "approvedForSession", "scope": "workspace"})
    result = client.result_of(request)
    expect(result.get("exitCode") == 0, "the command failed")
    expect(os.path.isdir(f"{directory}/backup"), "the command did nothing")


def run_unasked(client, directory):
    """Runs it again, and ls: one was approved for the session, the other is known to be harmless."""
    for params in (BACKUP, {"command": "ls -l"}):
        result = client.call("exec/command", params)
        expect(result.get("exitCode") == 0 and not client.questions, "it was asked about")


def shut_down(client, directory):
    """Ends in good order: shutdown, exit, and the server is gone with status 0."""
    client.call("shutdown")
    client.send("exit", request=False)
    client.server.stdin.close()
    try:
        status = client.server.wait(PATIENCE_SECONDS)
    except subprocess.TimeoutExpired:
        raise Failure("the server did not end") from None
    expect(status == 0, f"the server ended with status {status}")


def read_audit(client, directory):
    """The audit, also when no server runs any more: what was asked, what decided, what ran."""
    command = [client.command[0], "audit", "tail"]
    print(f"  $ execward {' '.join(command[1:])}", flush=True)
    done = subprocess.run(command, env=client.environment, stdout=subprocess.PIPE, text=True,
                          check=False)
    print(textwrap.indent(done.stdout.replace(directory, "DIR"), "  "), end="", flush=True)
    expect(done.returncode == 0, "the audit could not be read")
    for words in ("question", "approvedForSession by client", "allow by grant"):
        expect(words in done.stdout, f"the audit does not say {words!r}")


BACKUP = {"command": "mkdir -p backup"}
STEPS = [shake_hands, start_shell, type_command, watch_deltas, resize, interrupt, leave,
         sort_by_pipe, look_back, ask_a_person, run_unasked, shut_down, read_audit]


def own_environment(directory):
    """Returns our environment, with other directories for the server's files."""
    environment = {name: value for name, value in os.environ.items()
                   if not name.startswith("EXECWARD_")}
    environment["XDG_CONFIG_HOME"] = f"{directory}/config"
    environment["XDG_STATE_HOME"] = f"{directory}/state"
    return environment


def play(command, look, directory):
    """Plays all steps; raises Failure at the first that does not show what it should."""
    workspace = f"{directory}/work"
    os.mkdir(workspace)
    client = Client(command, own_environment(directory), look)
    try:
        for number, step in enumerate(STEPS, 1):
            look.step(number, step.__doc__)
            step(client, workspace)
    finally:
        # A server that still runs ends when its input ends.
        client.server.stdin.close()
        try:
            client.server.wait(PATIENCE_SECONDS)
        except subprocess.TimeoutExpired:
            client.server.kill()


def main():
    command = sys.argv[1:]
    if not command:
        sys.exit("usage: scripts/try/demo_client.py SERVER COMMAND…")
    look = Look()
    print(f"The server: {' '.join(command)}. → is what the client sends, ← what the server says.")
    try:
        with tempfile.TemporaryDirectory(prefix="execward-demo-") as directory:
            play(command, look, directory)
    except (Failure, OSError, KeyError, ValueError) as problem:
        print(f"\n{look.paint('31', 'The demo failed')}: {problem}", flush=True)
        return 1
    print(f"\n{look.paint('32', 'All steps showed what they should.')}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

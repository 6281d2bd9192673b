"""An environment whose exec-server is played by peer_server.py: its script, and its log.

A script has these members, all optional:

    dialect          "codex" (as Codex's exec-server now), "codex-old" (as its first versions) or
                     "execward"
    cwd, shell       reported in environment/info; the default directory is the test's
    told_cwd         reported instead of a URI of that directory
    play             events in place of a program, for each start: ["stdout", "text"], ["exited", 3],
                     ["closed"], also without an exit as ["closed alone"]; further members of the
                     exit may follow its status
    disorder         a list of: "output before reply", "closed first", "shuffled", "twice",
                     "backwards", "strangers", "no exit code", "bad base64"
    withheld         seqs that only process/read returns
    evicted          process/read returns nothing up to this seq
    sandbox_type     the member of each start reply; None leaves it out
    missing          the guarantees that the sandbox lacks, as execward reports them
    starts_at_once   starts are answered once this number has arrived, the last one first
    ignores_signals  only the end of its input and SIGKILL end it
    fates            actions at certain points, see below

A fate is {"at": POINT, "do": ACTION, "from": N, "to": M}: from the Nth time to the Mth; the defaults are
the first and the last. Points: "begin", a method that it receives, "started" (a start has been answered),
"output" (some has been sent). Actions:

    exit (status, stderr, last: the end of its stdout)     close (its stdout)
    hang (no answer)      hold (no answer until the file `until` exists)      error (error)
    result (result, in place of its own)
    block (it reads no more)      freeze (it neither reads nor writes)      do it silently
    say (text)      long (a line of `mib` mebibytes)
    deafen (close its stdin and do nothing more)
    ask (requests for ever, whose ids have the given size; it reads no more)
"""

import json
import os
import re

from support.client import (
    PYTHON,
    SERVER_MARK,
    brief,
    carriers,
    check,
    command_line,
    equal,
    eventually,
    every_pid,
    kill_quietly,
)
from support.exec import Home, exec_server

# Prints "up" and does nothing until it is ended. It is a single process: when a fake is killed,
# only the children of its programs stay behind.
RESTS = """
import os, time
os.write(1, b"up\\n")
while True:
    time.sleep(60)
"""
SERVER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "peer_server.py")


def toml(value):
    if isinstance(value, dict):
        return "{ %s }" % ", ".join("%s = %s" % (toml(k), toml(v)) for k, v in value.items())
    return json.dumps(value)


def entry(name, program, *arguments, **settings):
    """Returns one of the environments in config.toml."""
    settings = {"id": name, "program": program, "args": list(arguments), **settings}
    lines = ["%s = %s" % (key, toml(value)) for key, value in settings.items()]
    return "\n".join(["[[environments]]", *lines, ""])


class Peer:
    """A fake that can be configured as an environment. The runner checks after the test that the
    fake never received anything that the real server would refuse.
    """

    def __init__(self, scene, name="box", settings=None, relay=(), **script):
        self.name, self.settings, self.mark = name, settings or {}, scene.mark
        self.directory = scene.path("peer-" + name)
        os.makedirs(self.directory)
        self.directory = os.path.realpath(self.directory)
        self.script_path = scene.path(name + ".json")
        self.log_path = scene.path(name + ".log")
        self.command = [*relay, PYTHON, SERVER, self.script_path]
        self.may_refuse = False
        self.tell(**script)
        scene.servers.append(self)

    def tell(self, **script):
        """Changes its script from its next start on."""
        script = {"log": self.log_path, "cwd": self.directory, **script}
        new = self.script_path + ".new"
        with open(new, "w") as file:
            json.dump(script, file)
        os.rename(new, self.script_path)

    def config(self, **settings):
        return entry(self.name, *self.command, **{**self.settings, **settings})

    # Readers of its log

    def log(self):
        if not os.path.exists(self.log_path):
            return []
        with open(self.log_path, "rb") as file:
            return [json.loads(line) for line in file.read().split(b"\n")[:-1]]

    def notes(self, kind):
        return [note[kind] for note in self.log() if kind in note]

    def sent(self, method):
        """Returns the params of the messages that it received, by method."""
        return [m.get("params") for m in self.notes("in") if m.get("method") == method]

    def begun(self):
        """Returns its pids, one for each time that it was started."""
        return self.notes("begun")

    def wait_sent(self, method, count=1):
        eventually(lambda: len(self.sent(method)) >= count, "%s to %s" % (method, self.name))
        return self.sent(method)[count - 1]

    def wait_fate(self):
        eventually(lambda: self.notes("fate"), "the fate of %s" % self.name)

    def program(self, count=1):
        """Waits for a program that it has started. Returns the pid."""
        return eventually(
            lambda: [note["pid"] for note in self.log() if "spawned" in note][count - 1 : count],
            "a program of %s" % self.name,
        )[0]

    def kill(self):
        kill_quietly(self.begun()[-1])

    # The runner calls these on everything in scene.servers

    child = property(lambda self: self)

    def poll(self):
        return 0

    def verify(self):
        if not self.may_refuse:
            equal(self.notes("problem"), [], "what %s was sent and would refuse" % self.name)

    def discard(self):
        for pid in carriers(self.mark, SERVER_MARK):
            if self.script_path in command_line(pid):
                kill_quietly(pid)


class Execward:
    """A second, real server as an environment, in a home of its own."""

    def __init__(self, scene, name="there", relay=(), **settings):
        self.name, self.home = name, Home(scene, "home-" + name)
        self.command = [*relay, *scene.command]
        home = self.home.environment()
        self.settings = {"cwd": self.home.project, "env": home, **settings}

    def config(self, **settings):
        return entry(self.name, *self.command, **{**self.settings, **settings})


def server_with(scene, *environments, config="", **options):
    """Yields a server that knows these environments."""
    home = options.pop("home", None) or Home(scene)
    home.config(config + "\n".join(environment.config() for environment in environments))
    return exec_server(scene, home=home, **options)


def states(server):
    return {entry["id"]: entry["state"] for entry in entries(server)}


def entries(server):
    return server.call("environment/list")["environments"]


def entry_of(server, name):
    return next(found for found in entries(server) if found["id"] == name)


def wait_state(server, name, state):
    return eventually(
        lambda: (found := entry_of(server, name))["state"] == state and found,
        "state %s of %s" % (state, name),
    )


def token(scene, name):
    """Returns a word for command lines that no other process has."""
    return "%s-%s" % (name, scene.mark[:12])


def rests(word):
    """Returns a program that prints "up" and sleeps, with this word in its command line."""
    return [PYTHON, "-S", "-c", RESTS, word]


def running(word):
    """Returns the living processes with this word in their command line."""
    return [pid for pid in every_pid() if word in command_line(pid) and pid != os.getpid()]


def wait_gone(word):
    eventually(lambda: not running(word), "the end of %s" % word)


def failed(result, kind, *words):
    """Checks that the call failed with this kind and with these words in its message. Returns the
    message.
    """
    failure = result.get("failure") or {}
    equal((result["state"], failure.get("kind")), ("failed", kind), "state, kind of %s" % result)
    equal(result["exitCode"], -1, "exit code")
    for word in words:
        check(word in failure["message"], "%r is not in %r" % (word, failure["message"]))
    return failure["message"]


def completed(result, code=0):
    equal(
        (result["state"], result.get("exitCode")), ("completed", code), "state, code of %s" % result
    )
    return result["output"]


LONG = 30000  # yieldTimeMs
ANSWER = 5  # seconds to wait for an answer
LAST = [["exited", 3], ["closed"]]  # events
# Long enough for every answer: a fake has to be started, and to start programs.
QUICK = {"initialize_timeout_ms": 8000}


def fake(scene, dialect="codex", **script):
    """Yields a server, and its environment "box", which follows the script."""
    there = Peer(scene, dialect=dialect, **script)
    return server_with(scene, there), there


def fate(at, do, **members):
    return {"at": at, "do": do, **members}


def later(server, what, call="c", **params):
    """Sends a call for the box with a long yield time. Returns the id of the request."""
    return server.exec_later(
        what, **{"environment": "box", "callId": call, "yieldTimeMs": LONG, **params}
    )


def underway(server, scene, call="c"):
    """Starts a call whose program in the box has begun to print. Returns the ids of request and
    process.
    """
    message_id = later(server, rests(token(scene, call)), call)
    process_id = server.program_of_call(call).begin["processId"]
    server.wait_delta(process_id, "up\n")
    return message_id, process_id


def answered_in_bounds(server, message_id, before):
    """Waits for an answer, and checks that the server takes little more memory than `before`, in
    bytes.
    """
    bound = 4096 if server.is_sanitized() else 224

    def is_answered():
        grown = (server.resident_bytes() - before) >> 20
        check(grown < bound, "memory grew by %d MiB" % grown)
        return server.is_answered(message_id)

    eventually(is_answered, "the answer")


def names_the_box(value):
    """Returns True if "box" occurs as a word: the names of test directories may contain it."""
    return re.search(r"\bbox\b", json.dumps(value))


def played(scene, events, *fates, dialect="codex", **script):
    return fake(scene, dialect, play=events, fates=list(fates), **script)


def works_here(server):
    equal(server.output_of("echo here"), "here\n", "on this machine")


def box(scene, kind, **options):
    """Yields a server, and its environment "box" of this kind."""
    if kind == "real":
        there = Execward(scene, "box")
    else:
        there = Peer(scene, dialect="codex-old" if kind == "old" else kind)
        if kind == "old":  # this kind reports nothing about itself
            there.settings["workspace_roots"] = [there.directory]
    return server_with(scene, there, **options), there


def place(there):
    """Returns the directory in which commands run in the box."""
    return there.directory if isinstance(there, Peer) else there.home.project


def trouble(server, message_id):
    """Checks that the call did not run and failed, as a result or as an error. Returns kind and
    message.
    """
    message = server.reply(message_id)
    if "error" in message:
        return message["error"]["data"]["kind"], message["error"]["message"]
    result = message["result"]
    equal(result["state"], "failed", "state of %s" % brief(result, 400))
    return result["failure"]["kind"], result["failure"]["message"]


def confining(scene, there, **options):
    """Yields a server whose commands run in a sandbox in the box."""
    options.setdefault("sandbox", "workspace-write")
    return server_with(scene, there, policy="on-failure", **options)


def is_ended_and_failed(scene, *words, **script):
    """Checks that a program in the box which runs without what was asked for is ended and its call
    fails. Returns the message.
    """
    there = Peer(scene, **script)
    server = confining(scene, there)
    word = token(scene, "unconfined")
    kind, text = trouble(server, later(server, rests(word)))
    equal(kind, "sandboxUnavailable", "kind")
    for part in words:
        check(part in text, "%r is not in %r" % (part, text))
    there.wait_sent("process/terminate")
    there.program()
    wait_gone(word)
    equal(server.call("exec/list")["calls"], [], "calls")
    return text

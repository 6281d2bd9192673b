"""A network for tests of the network by host, and the means to run commands in it.

Each world has a network of its own, made by unshare(1), in which 203.0.113.0/24 (TEST-NET-3) stands for the
internet: servers of the test are there, a file of hosts names them, and a name server notes each query.
"""

import json
import os
import shutil
import subprocess

from support.client import PROGRAM_MARK, PYTHON, check
from support.runner import test
from support.sandboxes import PATH

PATIENCE = 120  # seconds
FAR = "203.0.113.5"

# Names that lead elsewhere than they should, as the machine's resolver answers.
HOSTS = """
127.0.0.1 localhost
203.0.113.5 good.example sub.good.example xn--bcher-kva.example
203.0.113.6 other.example
127.0.0.1 loop.example
::1 loop6.example
::ffff:127.0.0.1 mapped.example
10.77.0.1 private.example
169.254.169.254 meta.example
203.0.113.5 mixed.example
10.77.0.1 mixed.example
203.0.113.9 own.example
203.0.113.7 tools.example
"""

# Runs in the network of its own. Reads an order, serves, runs the command, writes what happened.
RIG = r"""
import json, os, socket, subprocess, sys, threading
order = json.load(sys.stdin)
for words in (["link", "set", "lo", "up"], ["addr", "add", "203.0.113.9/32", "dev", "lo"],
              ["addr", "add", "10.77.0.1/32", "dev", "lo"],
              ["addr", "add", "169.254.169.254/32", "dev", "lo"],
              ["route", "add", "local", "203.0.113.0/24", "dev", "lo"],
              ["-6", "route", "add", "local", "2001:db8::/64", "dev", "lo"]):
    subprocess.run(["ip", *words], check=True)
for name in ("hosts", "resolv.conf"):
    target = os.path.realpath("/etc/" + name)
    if os.path.exists(target):
        subprocess.run(["mount", "--bind", order[name], target], check=True)
visits, queries = [], []

def serve(connection, kind, place):
    with connection:
        if kind == "reset":
            connection.recv(1)
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
            return
        connection.sendall(b"hello from %s\n" % place.encode())
        while kind == "echo":
            block = connection.recv(1 << 16)
            if not block:
                break
            connection.sendall(block)

def listen(family, place, port, kind):
    server = socket.socket(family)
    server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if family == socket.AF_INET6:
        server.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        server.setsockopt(socket.IPPROTO_IPV6, 78, 1)  # IPV6_FREEBIND
    server.bind((place, port))
    server.listen(256)
    def accept():
        while True:
            connection, _ = server.accept()
            visits.append("%s:%d" % (place, port))
            threading.Thread(target=serve, args=(connection, kind, place), daemon=True).start()
    threading.Thread(target=accept, daemon=True).start()

def note(kind, place, port, to):
    server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    server.bind((place, port))
    def take():
        while True:
            to.append(kind + repr(server.recv(4096)))
    threading.Thread(target=take, daemon=True).start()

for place in ("203.0.113.5", "203.0.113.6", "203.0.113.9", "127.0.0.1", "10.77.0.1", "169.254.169.254"):
    for port, kind in ((443, "echo"), (80, "hello"), (22, "echo"), (81, "reset")):
        listen(socket.AF_INET, place, port, kind)
listen(socket.AF_INET6, "::1", 443, "echo")
listen(socket.AF_INET6, "2001:db8::5", 443, "echo")
note("query ", "203.0.113.53", 53, queries)
note("datagram ", "203.0.113.5", 443, visits)
exec(order["serve"])
try:
    done = subprocess.run(order["words"], cwd=order["directory"], env=order["env"], timeout=order["patience"],
                          stdin=subprocess.DEVNULL, capture_output=True, text=True)
    print(json.dumps({"status": done.returncode, "text": done.stdout, "errors": done.stderr,
                      "visits": visits, "queries": queries}))
except subprocess.TimeoutExpired as late:
    print(json.dumps({"status": -1, "text": str(late.stdout), "errors": str(late.stderr), "visits": visits,
                      "queries": queries}))
sys.stdout.flush()
os._exit(0)
"""

# What every program of these tests begins with.
TOOLS = r"""
import errno, hashlib, os, select, socket, struct, sys, threading, time

def said(host, port=443, family=socket.AF_INET, timeout=30):
    try:
        with socket.socket(family) as client:
            client.settimeout(timeout)
            client.connect((host, port))
            text = b""
            while not text.endswith(b"\n"):
                block = client.recv(100)
                if not block:
                    return "end"
                text += block
            return text.decode().strip()
    except socket.gaierror as error:
        return "no such name"
    except OSError as error:
        return errno.errorcode.get(error.errno, str(error))

def show(*words):
    print(*words, flush=True)
"""


# A client of the server: runs the words after the first argument by process/start or exec/command.
CLIENT = r"""
import json, os, subprocess, sys
server, order = sys.argv[1], json.loads(sys.argv[2])
child = subprocess.Popen([server, "serve"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

def send(message):
    child.stdin.write(json.dumps(message) + "\n")
    child.stdin.flush()

def answer(number):
    for line in child.stdout:
        message = json.loads(line)
        if order.get("events") and message.get("method") == "exec/begin":
            print("dropped", *message["params"]["droppedEnv"])
        if message.get("id") == number and "method" not in message:
            return message

def ask(number, method, params):
    send({"id": number, "method": method, "params": params})
    return answer(number)

ask(1, "initialize", {"clientName": "test", "settings": order.get("settings", {})})
send({"method": "initialized", "params": {}})
if "start" in order:
    started = ask(2, "process/start", order["start"])
    if "error" in started:
        print(json.dumps(started["error"]))
    else:
        after = 0
        while True:
            params = {"processId": "p", "afterSeq": after, "waitMs": 1000}
            read = ask(3, "process/read", params)["result"]
            for chunk in read["chunks"]:
                import base64
                sys.stdout.write(base64.b64decode(chunk["chunk"]).decode())
            after = read["nextSeq"] - 1
            if read["closed"]:
                break
        print(json.dumps(read.get("denials")))
else:
    result = ask(2, "exec/command", order["command"])
    print(json.dumps(result.get("result", result)))
child.stdin.close()
child.wait()
"""


def can_make_networks():
    return os.geteuid() == 0 and all(
        shutil.which(name, path=PATH + ":/usr/sbin:/sbin") for name in ("ip", "unshare", "mount")
    )


class Done:
    def __init__(self, facts):
        self.status, self.text, self.errors = facts["status"], facts["text"], facts["errors"]
        self.visits, self.queries = facts["visits"], facts["queries"]

    def lines(self):
        return self.text.splitlines()


class World:
    def __init__(self, scene):
        self.scene = scene
        self.serve = ""  # runs in the rig before the command; appends to `visits`
        self.environment = {}
        self.directory = scene.path("work")
        for path in (self.directory, scene.path("home")):
            os.makedirs(path, exist_ok=True)
        with open(scene.path("hosts"), "w") as file:
            file.write(HOSTS)
        self.ask("203.0.113.53")

    def ask(self, server):
        """The name server that the machine asks."""
        with open(self.scene.path("resolv.conf"), "w") as file:
            file.write("nameserver %s\noptions timeout:1 attempts:1\n" % server)

    def run(self, words, *allowed, options=()):
        """Runs words in a sandbox with these hosts allowed. Returns what happened."""
        options = ["--network=hosts", *("--allow-host=" + host for host in allowed), *options]
        return self.plain([self.scene.command[0], "run", *options, "--", *words])

    def client(self, **order):
        return self.plain([PYTHON, "-c", CLIENT, self.scene.command[0], json.dumps(order)])

    def plain(self, words):
        """Runs words in the network of the test."""
        order = {
            "words": words,
            "directory": self.directory,
            "hosts": self.scene.path("hosts"),
            "resolv.conf": self.scene.path("resolv.conf"),
            "patience": PATIENCE,
            "serve": self.serve,
            "env": {
                "PATH": PATH + ":/usr/sbin:/sbin",
                "HOME": self.scene.path("home"),
                "XDG_STATE_HOME": os.path.join(os.path.dirname(self.scene.directory), "state"),
                "EXECWARD_DATABASE": self.scene.path("approvals.db"),
                "LC_ALL": "C.UTF-8",
                PROGRAM_MARK: self.scene.mark,
                **self.environment,
            },
        }
        rig = subprocess.run(
            ["unshare", "--net", "--mount", "--", PYTHON, "-c", RIG],
            input=json.dumps(order), capture_output=True, text=True, timeout=PATIENCE + 60,
            env={**os.environ, "PATH": PATH + ":/usr/sbin:/sbin"},
        )
        check(rig.stdout, "the rig: " + rig.stderr)
        return Done(json.loads(rig.stdout))

    def python(self, script, *allowed, options=()):
        return self.run([PYTHON, "-c", TOOLS + script], *allowed, options=options)

    def rules(self, text):
        place = os.path.join(self.scene.path("home"), ".config", "execward", "rules.d")
        os.makedirs(place, exist_ok=True)
        with open(os.path.join(place, "network.toml"), "w") as file:
            file.write(text)


def hosts_test(function):
    if not can_make_networks():
        print("SKIP %s: it needs root, ip, unshare and mount" % function.__name__)
        return function

    def in_world(scene):
        function(World(scene))

    in_world.__name__, in_world.__doc__ = function.__name__, function.__doc__
    return test(in_world)

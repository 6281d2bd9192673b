"""Codex's exec-server as an environment, if this machine has Codex."""

import os
import pathlib
import shutil
import tempfile

from support.peer import entry

VARIABLE = "EXECWARD_CODEX"  # the codex program, or its npm launcher
# Codex sets up no sandbox for a home below the temporary directory.
HOMES = "/var/tmp"


def find_codex():
    """Returns the program itself, or None. The npm launcher costs time, and stands between Codex
    and us.
    """
    named = os.environ.get(VARIABLE) or shutil.which("codex")
    return native(named) if named else None


def native(codex):
    path = pathlib.Path(codex).resolve()
    with open(path, "rb") as file:
        if file.read(4) == b"\x7fELF":
            return str(path)
    for folder in path.parents:
        for found in folder.glob("codex-linux-*/vendor/*/bin/codex"):
            return str(found)
    return str(path)


class Codex:
    """A Codex that can be configured as an environment. Its home is removed after the test."""

    def __init__(self, scene, name="codex", relay=(), **settings):
        self.name, self.home = name, tempfile.mkdtemp(prefix="execward-codex-", dir=HOMES)
        self.command = [*relay, find_codex(), "exec-server", "--listen", "stdio"]
        self.settings = {"env": {"CODEX_HOME": self.home, "HOME": self.home}, **settings}
        scene.servers.append(self)

    def config(self, **settings):
        return entry(self.name, *self.command, **{**self.settings, **settings})

    # The runner calls these on everything in scene.servers

    child = property(lambda self: self)

    def poll(self):
        return 0

    def verify(self):
        pass

    def discard(self):
        shutil.rmtree(self.home, ignore_errors=True)

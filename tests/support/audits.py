"""A person's execward with an audit that a test writes."""

import json
import sqlite3
import subprocess
import time

from support.client import PATIENCE, equal
from support.exec import Home

COLUMNS = ("at", "session", "call", "event", "argv", "directory", "decision", "decided_by", "rule", "detail")


class Desk:
    """The program with a home of its own, as a person runs it."""

    def __init__(self, scene, home=None):
        self.program, self.home = scene.command[0], home or Home(scene)
        self.project = self.home.project
        self.now = int(time.time() * 1000)
        self.calls = 0

    def run(self, *arguments, **options):
        return subprocess.run(
            [self.program, *arguments],
            cwd=self.project,
            env=self.home.environment(),
            **{
                "stdin": subprocess.DEVNULL,
                "capture_output": True,
                "text": True,
                "timeout": PATIENCE,
                **options,
            },
        )

    def good(self, *arguments):
        """Returns the output; the program must succeed."""
        done = self.run(*arguments)
        equal((done.returncode, done.stderr), (0, ""), "status and stderr of %s" % (arguments,))
        return done.stdout

    def user_rules(self, text):
        return self.home.file("config/execward/rules.d/user.toml", text)

    def add_rows(self, rows):
        """Adds rows to the audit: each is a dict of columns; the others get usual values."""
        self.good("approvals", "list")  # makes the database
        usual = {"at": self.now, "session": "s-1", "directory": self.project, "argv": '["true"]'}
        connection = sqlite3.connect(self.home.database)
        with connection:
            connection.executemany(
                "insert into audit (%s) values (%s)"
                % (", ".join(COLUMNS), ", ".join("?" * len(COLUMNS))),
                [[{**usual, **row}.get(name, "") for name in COLUMNS] for row in rows],
            )
        connection.close()

    def command_rows(self, argv, answer=None, code=0, **more):
        """Returns the rows of a command: one that ran unasked, or one with this answer."""
        self.calls += 1
        same = {"call": "c%d" % self.calls, "argv": json.dumps(argv), "at": self.now, **more}
        rows = []
        if answer:
            rows.append({**same, "event": "question", "decided_by": "policy", "detail": "command"})
            rows.append({**same, "event": "decision", "decision": answer, "decided_by": "client"})
        if answer in (None, "approved"):
            start = "process 1, attempt 1, sandbox: linuxSeccomp"
            end = "process 1 after 12 ms, sandbox: linuxSeccomp"
            by = "client" if answer else "safe list"
            rows.append({**same, "event": "start", "decided_by": by, "detail": start})
            rows.append({**same, "event": "exit", "decision": str(code), "detail": end, "argv": ""})
        return rows

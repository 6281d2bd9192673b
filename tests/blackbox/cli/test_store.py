"""execward approvals and execward audit: a person reads the database and changes it."""

import json
import os
import sqlite3
import stat
import subprocess
import sys
import time

sys.path.insert(0, os.path.abspath(__file__ + "/../../.."))
from support.client import PATIENCE, check, equal, within
from support.runner import main, test


class Program:
    """The program with a home of its own, as a person runs it in a terminal."""

    def __init__(self, scene):
        self.scene = scene
        self.program = scene.command[0]
        self.database = scene.path("state", "execward", "execward.db")
        os.makedirs(scene.path("work", ".git"), exist_ok=True)
        self.project = os.path.realpath(scene.path("work"))

    def run(self, *arguments, stdout=subprocess.PIPE):
        return subprocess.run(
            [self.program, *arguments],
            cwd=self.project,
            env={
                "HOME": self.scene.directory,
                "XDG_STATE_HOME": self.scene.path("state"),
                "XDG_CONFIG_HOME": self.scene.path("config"),
                "PATH": os.environ["PATH"],
            },
            stdin=subprocess.DEVNULL,
            stdout=stdout,
            stderr=subprocess.PIPE,
            text=True,
            timeout=PATIENCE,
        )

    def good(self, *arguments):
        """Returns the output; the program must succeed."""
        done = self.run(*arguments)
        equal((done.returncode, done.stderr), (0, ""), "status and stderr of %s" % (arguments,))
        return done.stdout

    def bad(self, *arguments, status=1):
        """Returns the text on stderr; the program must fail."""
        done = self.run(*arguments)
        equal(done.returncode, status, "status of %s (%s)" % (arguments, done.stderr))
        equal(done.stdout, "", "stdout of %s" % (arguments,))
        return done.stderr

    def approvals(self, *flags):
        return json.loads(self.good("approvals", "list", "--json", *flags))["approvals"]

    def grant(self, *words, scope="project", flags=()):
        return json.loads(
            self.good("approvals", "grant", "--json", "--scope", scope, *flags, "--", *words)
        )["id"]

    def audit(self):
        return [json.loads(line) for line in self.good("audit", "export", "--json").splitlines()]

    def sql(self, text, *values):
        with sqlite3.connect(self.database) as connection:
            connection.execute(text, values)
        connection.close()

    def session_grant(self, session, command, project="/elsewhere"):
        """A grant as the server writes it when a person allows a command for a session."""
        now = int(time.time() * 1000)
        self.sql(
            "insert or ignore into sessions values (?, ?, ?, ?)", session, project, now, now
        )
        self.sql(
            "insert into grants (kind, scope, key, directory, session, project, command, origin,"
            " reason, created_at) values ('command', 'session', ?, '', ?, '', ?, 'approval', '', ?)",
            command, session, command, now,
        )


@test
def a_prefix_that_was_granted_is_listed_with_all_there_is_to_know(scene):
    program = Program(scene)
    before = int(time.time() * 1000)
    got = program.grant("mkdir", "-p", "a b", flags=("--reason=builds", "--expires-in=7d"))
    (one,) = program.approvals()
    equal(one["id"], got, "id")
    created = one.pop("createdAtMs")
    check(before <= created <= before + 60_000, "created at %s" % created)
    equal(one.pop("expiresAtMs"), created + 7 * 86_400_000, "expiry")
    equal(
        one,
        {
            "id": "1",
            "kind": "prefix",
            "scope": "project",
            "command": "mkdir -p 'a b'",
            "prefix": ["mkdir", "-p", "a b"],
            "project": program.project,
            "origin": "command line",
            "reason": "builds",
            "uses": 0,
        },
        "approval",
    )


@test
def the_table_has_a_line_for_each(scene):
    program = Program(scene)
    equal(program.good("approvals", "list"), "no approvals\n", "list of nothing")
    program.grant("mkdir")
    program.session_grant("s-1", "touch x")
    head, *lines = program.good("approvals", "list").splitlines()
    for title in ("ID", "SCOPE", "WHERE", "ORIGIN", "CREATED", "LAST USED", "USES", "EXPIRES"):
        check(title in head, "%s is no title of %s" % (title, head))
    equal(len(lines), 2, "lines")
    what = head.index("WHAT")
    equal(sorted(line[what:] for line in lines), ["mkdir …", "touch x"], "last column")
    check("session s-1" in "".join(lines) and program.project in "".join(lines), lines)


@test
def text_in_the_table_cannot_move_the_cursor_or_hide(scene):
    program = Program(scene)
    program.grant("mkdir", flags=("--reason=\x1b[2J\n1  always",))
    program.session_grant("s", "touch \x1b]0;x\x07 \u202e \u200b")
    shown = program.good("approvals", "list") + program.good("audit", "tail")
    equal([c for c in shown if c != "\n" and not c.isprintable()], [], "hidden characters")
    equal(len(program.good("approvals", "list").splitlines()), 3, "lines")


@test
def the_same_grant_twice_is_one(scene):
    program = Program(scene)
    first = program.grant("mkdir")
    equal(program.grant("mkdir", flags=("--reason=again",)), first, "id")
    equal([one["reason"] for one in program.approvals()], ["again"], "reasons")


@test
def what_is_always_allowed_is_a_rule_in_a_file_too(scene):
    program = Program(scene)
    program.grant("git", "log", scope="always")
    (one,) = program.approvals()
    equal((one["scope"], one["prefix"]), ("always", ["git", "log"]), "scope and prefix")
    with open(scene.path("config", "execward", "rules.d", "approved.toml")) as file:
        check('"git"' in file.read(), "the rule is not in approved.toml")

    equal(program.good("approvals", "revoke", one["id"]), "1 revoked\n", "revoke")
    equal(program.approvals(), [], "approvals")
    with open(scene.path("config", "execward", "rules.d", "approved.toml")) as file:
        check('"git"' not in file.read(), "the rule is still in approved.toml")


@test
def a_prefix_that_can_do_anything_is_refused(scene):
    program = Program(scene)
    for words in (["bash"], ["python3", "-c"], ["sudo"]):
        for scope in ("project", "always"):
            said = program.bad("approvals", "grant", "--scope", scope, "--", *words)
            check(words[0] in said, said)
    equal(program.approvals(), [], "approvals")


@test
def approvals_are_revoked_by_id_session_project_and_all(scene):
    program = Program(scene)
    first = program.grant("mkdir")
    program.grant("date")
    program.session_grant("s", "a")
    program.session_grant("t", "b")
    program.session_grant("u", "c", project=program.project)

    equal(program.good("approvals", "revoke", "--session=s"), "1 revoked\n", "a session")
    equal(program.good("approvals", "revoke", first), "1 revoked\n", "an id")
    equal(program.good("approvals", "revoke", "--project=."), "2 revoked\n", "a project")
    equal([one["command"] for one in program.approvals()], ["b"], "what is left")
    equal(program.good("approvals", "revoke", "--all", "--json"), '{"revoked":1}\n', "everything")


@test
def an_id_that_is_not_there_is_an_error_and_the_others_still_count(scene):
    program = Program(scene)
    got = program.grant("mkdir")
    done = program.run("approvals", "revoke", "999", got, "x")
    equal((done.returncode, done.stdout), (1, "1 revoked\n"), "status and stdout")
    check("999" in done.stderr and "'x'" in done.stderr, done.stderr)
    check("hint: execward approvals list shows them" in done.stderr, done.stderr)
    equal(program.approvals(), [], "approvals")


@test
def a_list_can_be_of_a_session_or_a_project(scene):
    program = Program(scene)
    program.grant("mkdir")
    program.session_grant("s", "a")
    program.session_grant("u", "c", project=program.project)
    equal([one["command"] for one in program.approvals("--session=s")], ["a"], "of a session")
    equal(
        sorted(one["command"] for one in program.approvals("--project", ".git/..")),
        ["c", "mkdir"],
        "of a project",
    )


@test
def an_approval_that_has_expired_is_gone(scene):
    program = Program(scene)
    program.grant("mkdir", flags=("--expires-in=1h",))
    program.sql("update grants set expires_at = ?", int(time.time() * 1000))
    equal(program.approvals(), [], "approvals")


@test
def the_audit_tells_of_grants_and_revocations(scene):
    program = Program(scene)
    got = program.grant("mkdir", flags=("--reason=builds",))
    program.good("approvals", "revoke", got)
    grant, revocation = program.audit()
    equal((grant["event"], grant["argv"], grant["detail"]), ("grant", ["mkdir"], "builds"), "grant")
    equal(
        (revocation["event"], revocation["rule"], revocation["decidedBy"]),
        ("revocation", "grant " + got, "command line"),
        "revocation",
    )
    lines = program.good("audit", "export").splitlines()
    equal(len(lines), 2, "lines")
    check(lines[1].startswith(revocation["time"] + " revocation"), lines[1])
    equal(program.good("audit", "tail", "-n", "1").splitlines(), lines[1:], "tail -n 1")


@test
def the_audit_is_followed_until_nobody_reads_it(scene):
    program = Program(scene)
    program.grant("mkdir")
    following = subprocess.Popen(
        [scene.command[0], "audit", "tail", "-f", "-n", "1", "--json"]
        + ["--database", program.database],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
    )
    try:
        equal(json.loads(following.stdout.readline())["argv"], ["mkdir"], "a row from before")
        for word in ("date", "ls"):
            program.grant(word)
            equal(json.loads(following.stdout.readline())["argv"], [word], "a row that came")
        following.stdout.close()
        equal(following.wait(PATIENCE), 0, "status")
    finally:
        following.kill()
        following.wait()


@test
def a_long_audit_is_exported_whole_and_in_order(scene):
    program = Program(scene)
    program.good("approvals", "list")
    with sqlite3.connect(program.database) as connection:
        connection.executemany(
            "insert into audit (at, session, call, event, argv, directory, decision, decided_by,"
            " rule, detail) values (?, '', '', 'start', '[\"x\"]', '', '', '', '', ?)",
            ((int(time.time() * 1000), str(i)) for i in range(2500)),
        )
    connection.close()
    equal([row["detail"] for row in program.audit()], [str(i) for i in range(2500)], "details")
    equal(len(program.good("audit", "tail").splitlines()), 20, "lines of tail")
    with open("/dev/full", "w") as full:
        equal(program.run("audit", "export", stdout=full).returncode, 1, "status on a full disk")


@test
def it_works_while_others_have_the_database_open_and_waits_for_a_writer(scene):
    program = Program(scene)
    program.grant("mkdir")
    other = sqlite3.connect(program.database, isolation_level=None)
    other.execute("select * from grants").fetchall()
    program.grant("date")
    other.execute("begin immediate")
    equal(len(program.approvals()), 2, "approvals while another process writes")
    began = time.monotonic()
    said = program.bad("approvals", "grant", "--scope=project", "--", "ls")
    check("locked" in said, said)
    check(time.monotonic() - began < within(20), "waited %.1f s" % (time.monotonic() - began))
    other.execute("commit")
    other.close()
    program.grant("ls")


@test
def what_is_changed_here_counts_in_a_running_server_at_once(scene):
    program = Program(scene)
    server = scene.server("--database=" + program.database, cwd=program.project)
    got = server.call("approvals/grant", {"prefix": ["mkdir", "x"], "scope": "session"})["id"]
    (one,) = program.approvals()
    equal((one["id"], one["origin"], one["project"]), (got, "client", program.project), "grant")
    program.grant("date")
    equal(len(server.call("approvals/list")["approvals"]), 2, "approvals that the server lists")
    equal(program.good("approvals", "revoke", got), "1 revoked\n", "revoke")
    left = server.call("approvals/list")["approvals"]
    equal([one["command"] for one in left], ["date"], "approvals that the server lists")


@test
def files_are_for_the_user_alone(scene):
    program = Program(scene)
    program.grant("mkdir")
    equal(stat.S_IMODE(os.stat(os.path.dirname(program.database)).st_mode), 0o700, "directory")
    equal(stat.S_IMODE(os.stat(program.database).st_mode), 0o600, "file")


@test
def a_database_that_cannot_be_used_is_told_of_with_the_way_out(scene):
    program = Program(scene)

    def broken(name, content, mode=0o600):
        path = scene.path(name, "x.db")
        os.mkdir(scene.path(name), 0o700)
        with open(path, "wb") as file:
            file.write(content)
        os.chmod(path, mode)
        said = program.bad("approvals", "list", "--database", path)
        check(path in said and "hint: " in said, said)
        return said

    check("not a database" in broken("garbage", b"not a database" * 1000), "garbage")
    check("chmod go-w" in broken("shared", b"", 0o666), "written by others")
    said = program.bad("approvals", "list", "--database", scene.path("shared"))
    check("no regular file" in said, said)

    program.grant("mkdir")
    program.sql("pragma user_version = 99")
    said = program.bad("audit", "tail")
    check("newer execward" in said and "hint: " in said, said)


@test
def another_database_can_be_named(scene):
    program = Program(scene)
    os.mkdir(scene.path("other"), 0o700)
    name = os.path.relpath(scene.path("other", "x.db"), program.project)
    program.good("approvals", "grant", "--scope=project", "--database", name, "--", "mkdir")
    equal(program.approvals(), [], "approvals in the default database")
    equal(len(program.approvals("--database", name)), 1, "approvals in the other")


@test
def what_cannot_be_meant_is_a_usage_error(scene):
    program = Program(scene)
    for arguments in (
        ("approvals",),
        ("approvals", "remove"),
        ("approvals", "list", "x"),
        ("approvals", "list", "--all"),
        ("approvals", "list", "--nonsense"),
        ("approvals", "revoke"),
        ("approvals", "revoke", "1", "--all"),
        ("approvals", "grant", "--scope=project"),
        ("approvals", "grant", "--", "mkdir"),
        ("approvals", "grant", "--scope=session", "--", "mkdir"),
        ("approvals", "grant", "--scope=always", "--project=.", "--", "mkdir"),
        ("approvals", "grant", "--scope=project", "--expires-in=soon", "--", "mkdir"),
        ("approvals", "grant", "--scope=project", "--expires-in=0d", "--", "mkdir"),
        ("audit",),
        ("audit", "erase"),
        ("audit", "tail", "-n", "0"),
        ("audit", "tail", "-n", "x"),
        ("audit", "export", "x"),
    ):
        check(program.bad(*arguments, status=2), "nothing is said about %s" % (arguments,))
    check(not os.path.exists(program.database), "a database was made")


@test
def help_is_there(scene):
    program = Program(scene)
    for arguments in (("approvals",), ("approvals", "grant"), ("audit",), ("audit", "tail")):
        check("Usage: execward " + arguments[0] in program.good(*arguments, "--help"), arguments)


if __name__ == "__main__":
    main()

"""A database that cannot be used: the server warns, asks instead of using approvals, and works on."""

import os
import resource
import sqlite3
import stat
import sys
import threading
import time

sys.path.insert(0, os.path.abspath(__file__ + "/../../.."))
from support.client import Failure, check, equal, eventually, seconds_of, within
from support.exec import (
    PREFIX,
    SESSION,
    Home,
    approve,
    denied,
    is_asked,
    ran,
    trusted_ban,
    untrusting,
)
from support.runner import main, test

ALLOW = "[[rule]]\nprefix = ['touch', 'ruled']\ndecision = 'allow'\n"


def with_approvals(scene, home=None):
    """Returns a home whose database holds approvals for "touch a" (always) and "touch p" (project).
    """
    home = home or Home(scene)
    home.rules(ALLOW)
    server = untrusting(scene, home=home)
    approve(server, "touch a", answer={"scope": "always"})
    approve(server, "touch p", PREFIX, answer={"scope": "project"})
    equal(server.end(), 0, "exit status")
    return home


def locked(home):
    """Locks the database until this connection rolls back."""
    holder = sqlite3.connect(home.database, isolation_level=None)
    holder.execute("pragma locking_mode = exclusive")
    holder.execute("begin exclusive")
    holder.execute("create table held (a)")
    return holder


def works_without_it(server):
    """Checks that the server asks about approved commands, keeps no approval, and warns. Returns
    the warning.
    """
    for _ in range(2):
        approve(server, "touch a", answer={"scope": "always"})
        approve(server, "touch p", PREFIX, answer={"scope": "session"})
    check(not is_asked(server, "ls"), "a harmless command is asked about")
    check(not is_asked(server, "touch ruled"), "a rule does not count")
    for method, params in (
        ("approvals/list", {}),
        ("approvals/revoke", {"everything": True}),
        ("approvals/grant", {"prefix": ["touch", "z"], "scope": "session"}),
    ):
        error = server.refused(method, params, -32603, "storeUnavailable")
        check(error["message"], "no message")
    equal(server.output_of("echo still here"), "still here\n", "output")
    message = server.warning("storeUnavailable")
    check(len(server.warnings) <= 12, "too many warnings: %d" % len(server.warnings))
    return message


def remove_journal(home):
    for end in ("-wal", "-shm"):
        if os.path.exists(home.database + end):
            os.unlink(home.database + end)


@test
def the_database_is_for_its_owner_alone(scene):
    home = with_approvals(scene)
    server = untrusting(scene, home=home)
    check(not is_asked(server, "touch a"), "it was asked about")
    directory = os.path.dirname(home.database)
    equal(stat.S_IMODE(os.stat(directory).st_mode), 0o700, "mode of the directory")
    for name in os.listdir(directory):
        mode = stat.S_IMODE(os.stat(os.path.join(directory, name)).st_mode)
        equal(mode, 0o600, "mode of " + name)
    equal(home.sql("pragma journal_mode"), [("wal",)], "journal mode")
    equal(home.sql("pragma integrity_check"), [("ok",)], "integrity")


@test
def a_file_that_is_no_database_is_left_alone(scene):
    home = with_approvals(scene)
    remove_journal(home)
    garbage = b"something else entirely\n" * 300
    with open(home.database, "wb") as file:
        file.write(garbage)
    message = works_without_it(untrusting(scene, home=home))
    check(home.database in message, "no file in %r" % message)
    with open(home.database, "rb") as file:
        equal(file.read(), garbage, "the file afterwards")


@test
def a_damaged_database_allows_nothing(scene):
    home = with_approvals(scene)
    home.sql("pragma wal_checkpoint(truncate)")
    remove_journal(home)
    size = os.path.getsize(home.database)
    with open(home.database, "r+b") as file:
        file.seek(100)
        file.write(b"\xa5" * (size - 100))
    message = works_without_it(untrusting(scene, home=home))
    check("damaged" in message or "not a database" in message, "message %r" % message)


@test
def a_database_of_another_program_is_left_alone(scene):
    home = Home(scene)
    home.rules(ALLOW)
    os.makedirs(os.path.dirname(home.database), mode=0o700)
    os.chmod(os.path.dirname(home.database), 0o700)
    home.sql("create table theirs (a)")
    home.sql("insert into theirs values (42)")
    os.chmod(home.database, 0o600)
    works_without_it(untrusting(scene, home=home))
    equal(home.sql("select name from sqlite_master"), [("theirs",)], "tables")
    equal(home.sql("select a from theirs"), [(42,)], "rows")


@test
def a_database_of_a_newer_version_is_left_alone(scene):
    home = with_approvals(scene)
    home.sql("pragma user_version = 9999")
    message = works_without_it(untrusting(scene, home=home))
    check("newer" in message, "message %r" % message)
    equal(home.sql("pragma user_version"), [(9999,)], "version")


@test
def a_database_that_others_own_or_can_write_is_refused(scene):
    if os.getuid() != 0:
        return  # only root can change the owner of files
    for number, spoil in enumerate(
        (
            lambda home: os.chown(home.database, 12345, -1),
            lambda home: os.chown(os.path.dirname(home.database), 12345, -1),
            lambda home: os.chmod(home.database, 0o666),
            lambda home: os.chmod(os.path.dirname(home.database), 0o777),
        )
    ):
        home = Home(scene, str(number))
        home.rules(ALLOW)
        server = untrusting(scene, home=home)
        approve(server, "touch a", answer={"scope": "always"})
        equal(server.end(), 0, "exit status")
        spoil(home)
        works_without_it(untrusting(scene, home=home))


@test
def a_symbolic_link_is_no_database(scene):
    home = with_approvals(scene)
    os.rename(home.database, home.database + ".real")
    remove_journal(home)
    os.symlink(home.database + ".real", home.database)
    works_without_it(untrusting(scene, home=home))


@test
def a_place_where_nothing_can_be_made_is_told(scene):
    home = Home(scene)
    home.rules(ALLOW)
    file = scene.file("plain", "x")
    for path in ("/proc/no/where/x.db", file + "/x.db", scene.directory):
        server = untrusting(scene, "--database=" + path, home=home)
        works_without_it(server)


@test
def a_database_in_memory_remembers_as_long_as_its_server(scene):
    home = Home(scene)
    server = untrusting(scene, "--database=:memory:", home=home)
    approve(server, "touch a", answer={"scope": "always"})
    check(not is_asked(server, "touch a"), "it was asked about")
    equal(len(server.approvals()), 1, "approvals")
    check(not os.path.exists(os.path.dirname(home.database)), "a file was made")
    equal(server.warnings, [], "warnings")
    check(is_asked(untrusting(scene, "--database=:memory:", home=home), "touch a"), "not asked")


@test
def another_database_can_be_named(scene):
    home = with_approvals(scene)
    other = os.path.join(home.path, "elsewhere", "own.db")
    server = untrusting(scene, "--database=" + other, home=home)
    check(is_asked(server, "touch a"), "an approval of another database counts")
    approve(server, "touch a", answer={"scope": "always"})
    check(os.path.exists(other), "there is no file")
    by_variable = untrusting(scene, home=home, env={"EXECWARD_DATABASE": other})
    check(not is_asked(by_variable, "touch a"), "it was asked about")


# While a server runs


@test
def who_holds_the_lock_holds_up_a_decision_only_for_a_while(scene):
    home = with_approvals(scene)
    server = untrusting(scene, home=home)
    check(not is_asked(server, "touch a"), "it was asked about")
    holder = sqlite3.connect(home.database, isolation_level=None)
    holder.execute("begin immediate")
    began = time.monotonic()
    approve(server, "touch b", answer={"scope": "directory"})
    check(time.monotonic() - began < within(20), "it took %.1f s" % (time.monotonic() - began))
    check("locked" in server.warning("storeUnavailable"), "the warning does not say why")
    equal(server.output_of("echo on"), "on\n", "output")
    check(is_asked(server, "touch b"), "an approval that was not kept counts")
    check(not is_asked(server, "touch a"), "what was kept before does not count")
    holder.execute("rollback")
    holder.close()
    approve(server, "touch b", answer={"scope": "directory"})
    check(not is_asked(server, "touch b"), "it is not kept after the lock is gone")


@test
def a_database_that_is_locked_from_the_start_is_tried_again(scene):
    home = with_approvals(scene)
    holder = locked(home)
    server = untrusting(scene, home=home)
    check(is_asked(server, "touch a"), "it was not asked about")
    server.warning("storeUnavailable")
    holder.execute("rollback")
    holder.close()
    eventually(lambda: not is_asked(server, "touch a"), "that what was approved counts again")


@test
def a_database_that_is_mended_is_used_again_without_a_restart(scene):
    home = with_approvals(scene)
    os.rename(home.database, home.database + ".away")
    remove_journal(home)
    os.mkdir(home.database)
    server = untrusting(scene, home=home)
    check(is_asked(server, "touch a"), "it was not asked about")
    os.rmdir(home.database)
    os.rename(home.database + ".away", home.database)
    eventually(lambda: not is_asked(server, "touch a"), "that what was approved counts again")
    approve(server, "touch b", answer={"scope": "directory"})
    check(not is_asked(server, "touch b"), "a new approval does not count")


@test
def a_full_disk_means_asking_again(scene):
    home = with_approvals(scene)
    least = max(os.path.getsize(os.path.join(os.path.dirname(home.database), name))
                for name in os.listdir(os.path.dirname(home.database)))

    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (least, resource.RLIM_INFINITY))

    server = untrusting(scene, home=home, prepare=limit)
    # The journal of the database cannot grow beyond the limit; long rows soon reach it.
    filler = "x" * 3000
    for number in range(200):
        approve(server, "touch a-%d #%s" % (number, filler), answer={"scope": "directory"})
        if server.warnings:
            break
    message = server.warning("storeUnavailable")
    check(message, "no message")
    last = "touch a-%d #%s" % (number, filler)
    check(is_asked(server, last), "an approval that was not kept counts")
    equal(server.output_of("echo on"), "on\n", "output")
    equal(server.end(), 0, "exit status")
    equal(home.sql("pragma integrity_check"), [("ok",)], "integrity")
    check(not is_asked(untrusting(scene, home=home), "touch a"), "what was kept before is lost")


def replace(path):
    with open(path + ".new", "wb"):
        pass
    os.chmod(path + ".new", 0o600)
    os.replace(path + ".new", path)


@test
def a_database_that_vanishes_is_told_and_asked(scene):
    for number, vanish in enumerate(
        (
            os.unlink,
            replace,
            lambda path: os.truncate(path, 0),
            lambda path: os.truncate(path, 1),
        )
    ):
        home = with_approvals(scene, Home(scene, "home%d" % number))
        server = untrusting(scene, home=home)
        check(not is_asked(server, "touch a"), "it was asked about")
        vanish(home.database)
        remove_journal(home)
        check(is_asked(server, "touch a"), "it was not asked about")
        check(home.database in server.warning("storeUnavailable"), "the file is not named")
        equal(server.output_of("echo on"), "on\n", "output")
        check(is_asked(untrusting(scene, home=home), "touch a"), "a new server does not ask")


@test
def what_was_changed_by_hand_is_not_trusted_blindly(scene):
    home = with_approvals(scene)
    home.sql("pragma ignore_check_constraints = on")
    columns = [name for _, name, *_ in home.sql("pragma table_info(grants)")]
    check("key" in columns, "columns %s" % columns)
    home.sql("update grants set key = '[]' where kind = 'prefix'")
    home.sql("update grants set key = 'no JSON' where kind = 'command'")
    server = untrusting(scene, home=home)
    for what in ("touch a", "touch p", "make x"):
        check(is_asked(server, what), "%s was not asked about" % what)
    server.call("approvals/list")


@test
def several_servers_share_one_database(scene):
    home = Home(scene)
    servers = [untrusting(scene, home=home) for _ in range(4)]
    failures = []

    def keep(server, what):
        """Approves the command until the approval is kept: another server may be stopped while it
        holds the lock.
        """
        for attempt in range(20):
            time.sleep(0.5 if attempt > 1 else 0)
            message_id = server.exec_later(what)
            question = server.question_about(message_id)
            if question:
                server.answer(question, SESSION, scope="project")
            ran(server, message_id)
            if not question:
                return
        raise Failure("it is not kept: %s" % what)

    def work(number, server):
        try:
            for count in range(10):
                keep(server, "touch %d-%d" % (number, count))
        except Exception as error:  # the main thread reports it
            failures.append(error)

    threads = [threading.Thread(target=work, args=pair) for pair in enumerate(servers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    equal(failures, [], "failures")
    told = [params["message"] for server in servers for _, params in server.warnings]
    check(len(told) <= 60, "too many warnings: %s" % told)
    equal([message for message in told if "locked" not in message], [], "other warnings")
    equal(len(servers[0].approvals()), 40, "approvals")
    for server in servers:
        check(not is_asked(server, "touch 3-9"), "it was asked about")
    equal(home.sql("pragma integrity_check"), [("ok",)], "integrity")


@test
def a_command_line_without_a_database_says_so(scene):
    home = with_approvals(scene)
    remove_journal(home)
    with open(home.database, "wb") as file:
        file.write(b"x" * 5000)
    for arguments in (("approvals", "list"), ("audit", "tail"), ("project", "list")):
        done = home.cli(*arguments)
        equal((done.returncode, done.stdout), (1, ""), "status and stdout of %s" % (arguments,))
        check(home.database in done.stderr, "stderr %r" % done.stderr)


@test
def the_database_holds_no_input_and_no_variables(scene):
    server = untrusting(scene)
    approve(
        server,
        ["bash"],
        answer={"scope": "always"},
        stdin=": hunter2\n",
        env={"MY_SETTING": "swordfish"},
    )
    equal(server.end(), 0, "exit status")
    found = []
    for folder, _, names in os.walk(os.path.join(server.home.path, "state")):
        for name in names:
            if ".db" not in name:
                continue
            with open(os.path.join(folder, name), "rb") as file:
                content = file.read()
            found.append(name)
            check(b"hunter2" not in content and b"swordfish" not in content, "a secret in " + name)
    check(found, "no database was found")


# The database while other connections lock it


@test
def a_lock_that_stays_holds_up_nobody_and_is_told_once(scene):
    home = trusted_ban(scene)
    holder = locked(home)
    server = untrusting(scene, home=home)
    server.answers()
    waits = []
    for _ in range(6):
        message_id = server.exec_later("mkdir -p made")
        waits.append(seconds_of(lambda: server.call("process/list")))
        server.answer(server.question(), SESSION)
        waits.append(seconds_of(lambda: server.call("process/list")))
        ran(server, message_id)
    check(max(waits) < within(9), "process/list took %.1f s" % max(waits))
    check(sum(waits) < within(15), "process/list took %.1f s in all" % sum(waits))
    check("no touching" in denied(server, server.exec_later("touch x")), "no reason")
    server.warning("storeUnavailable")
    told = [p["message"] for _, p in server.warnings if p.get("kind") == "storeUnavailable"]
    about_answers = [message for message in told if message.startswith("the answer to ")]
    equal((len(told) - len(about_answers), len(about_answers)), (1, 6), "warnings")
    ended = seconds_of(lambda: equal(server.end(), 0, "exit status"))
    check(ended < within(9), "the end took %.1f s" % ended)
    holder.execute("rollback")
    holder.close()


@test
def a_limit_of_the_size_of_files_kills_nobody(scene):
    for number, size in enumerate((0, 1, 30_000)):

        def limit(size=size):
            resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))

        home = Home(scene, str(number))
        server = untrusting(scene, home=home, prepare=limit)
        for count in range(20):
            message_id = server.exec_later("mkdir -p made-%d" % count)
            server.answer(server.question(), SESSION)
            ran(server, message_id)
        server.warning("storeUnavailable")
        check(is_asked(server, "mkdir -p made-19"), "what was not kept counts")
        equal(server.output_of("echo on"), "on\n", "output")
        equal(server.end(), 0, "exit status")


if __name__ == "__main__":
    main()

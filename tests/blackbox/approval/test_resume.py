"""resumeSessionId: a session's approvals come back in a new server process, and nothing else."""

import os
import sys

sys.path.insert(0, os.path.abspath(__file__ + "/../../.."))
from support.client import check, equal, eventually, is_alive, kill_quietly
from support.exec import PREFIX, SESSION, Home, approve, asks, exec_server, runs_unasked
from support.runner import main, test


def begin(scene, home, session=None, **options):
    initialize = {"resumeSessionId": session} if session else {}
    return exec_server(scene, home=home, policy="untrusted", initialize=initialize, **options)


def id_of(server):
    return server.initialized["sessionId"]


@test
def approvals_of_a_session_come_back_in_a_new_server(scene):
    home = Home(scene)
    os.makedirs(home.project + "/sub")
    first = begin(scene, home)
    approve(first, "touch a", answer={"scope": "directory"})
    approve(first, "touch b", answer={"scope": "workspace"})
    approve(first, "touch c d", PREFIX, answer={"scope": "session"})
    equal(first.end(), 0, "exit status")

    second = begin(scene, home, id_of(first))
    equal(id_of(second), id_of(first), "session id")
    runs_unasked(second, "touch a")
    runs_unasked(second, "touch b", workdir="sub")
    runs_unasked(second, "touch c d e")
    asks(second, "touch a", workdir="sub")
    asks(second, "touch c")
    equal(len(second.approvals()), 3, "approvals")


@test
def a_session_can_be_resumed_again_and_again(scene):
    home = Home(scene)
    server = begin(scene, home)
    session = id_of(server)
    for number in range(4):
        approve(server, "touch %d" % number, answer={"scope": "directory"})
        equal(server.end(), 0, "exit status")
        server = begin(scene, home, session)
        for earlier in range(number + 1):
            runs_unasked(server, "touch %d" % earlier)


@test
def a_new_session_has_nothing_of_an_old_one(scene):
    home = Home(scene)
    first = begin(scene, home)
    approve(first, "touch a", answer={"scope": "directory"})
    equal(first.end(), 0, "exit status")
    second = begin(scene, home)
    check(id_of(second) != id_of(first), "two sessions have one id")
    asks(second, "touch a")


@test
def an_acknowledged_approval_survives_a_kill(scene):
    home = Home(scene)
    server = begin(scene, home)
    session = id_of(server)
    for number in range(6):
        message_id = server.exec_later("touch %d; exec sleep 600" % number, yieldTimeMs=30000)
        server.answer(server.question(), SESSION, scope="directory")
        server.program_of_call(str(message_id))  # its command has started
        server.may_be_cut = True
        for pid in (server.worker(), server.pid)[:: 1 if number % 2 else -1]:
            kill_quietly(pid)
        server.exit_status()
        server = begin(scene, home, session)
        for earlier in range(number + 1):
            before = len(server.questions)
            process_id = server.left_running("touch %d; exec sleep 600" % earlier)
            equal(len(server.questions), before, "questions")
            server.call("exec/terminate", {"processId": process_id})
    equal(home.sql("pragma integrity_check"), [("ok",)], "the database")
    eventually(lambda: not server.programs(), "the end of all programs")


@test
def an_unanswered_question_does_not_come_back(scene):
    home = Home(scene)
    first = begin(scene, home)
    first.exec_later("touch a")
    first.question()
    first.may_be_cut = True
    for pid in (first.pid, first.worker()):
        kill_quietly(pid)
    first.exit_status()
    second = begin(scene, home, id_of(first))
    second.answers()
    equal((second.questions, second.waiting_calls()), ([], {}), "questions and calls")
    asks(second, "touch a")
    check(not os.path.exists(home.project + "/a"), "it ran")


@test
def programs_do_not_come_back(scene):
    home = Home(scene)
    first = begin(scene, home)
    approve(first, "touch a", answer={"scope": "directory"})
    first.exec_later("sleep 600")
    first.answer(first.question(), "approved")
    first.program("1001")
    equal(first.end(), 0, "exit status")
    second = begin(scene, home, id_of(first))
    equal(second.call("exec/list"), {"processes": [], "calls": []}, "exec/list")
    equal(second.programs(), [], "programs")


@test
def what_expired_or_was_revoked_does_not_come_back(scene):
    home = Home(scene)
    first = begin(scene, home)
    approve(first, "touch short", answer={"scope": "directory", "expiresInMs": 200})
    approve(first, "touch long", answer={"scope": "directory", "expiresInMs": 3600000})
    approve(first, "touch revoked", answer={"scope": "directory"})
    ids = {one["command"]: one["id"] for one in first.approvals()}
    first.call("approvals/revoke", {"id": ids["touch revoked"]})
    eventually(lambda: len(first.approvals()) == 1, "the end of the short one")
    equal(first.end(), 0, "exit status")
    second = begin(scene, home, id_of(first))
    runs_unasked(second, "touch long")
    asks(second, "touch short")
    asks(second, "touch revoked")


@test
def what_is_revoked_on_the_command_line_meanwhile_is_gone(scene):
    home = Home(scene)
    first = begin(scene, home)
    approve(first, "touch a", answer={"scope": "directory"})
    equal(first.end(), 0, "exit status")
    home.good_cli("approvals", "revoke", "--session", id_of(first))
    asks(begin(scene, home, id_of(first)), "touch a")


@test
def two_servers_may_share_a_session(scene):
    home = Home(scene)
    first = begin(scene, home)
    approve(first, "touch a", answer={"scope": "directory"})
    second = begin(scene, home, id_of(first))
    runs_unasked(second, "touch a")
    approve(second, "touch b", answer={"scope": "directory"})
    runs_unasked(first, "touch b")


@test
def an_unknown_session_is_refused(scene):
    home = Home(scene)
    known = begin(scene, home)
    approve(known, "touch a", answer={"scope": "directory"})
    session = id_of(known)
    other_case = session.upper() if session != session.upper() else session.lower()
    unknown = ("no", "", "00000000-0000-4000-8000-000000000000", session[:-1], session + " ",
               other_case, "%", "' or 1=1 --")
    server = exec_server(scene, home=home, handshake=False)
    for wrong in unknown:
        params = {"clientName": "x", "resumeSessionId": wrong}
        error = server.refused("initialize", params, -32600, "unknownSession")
        check(error["data"].get("hint"), "no way out: %s" % error)
    server.refused("initialize", {"clientName": "x", "resumeSessionId": 5}, -32602)
    server.handshake({"approvals": True}, resumeSessionId=session)
    equal(id_of(server), session, "session id after the right one was given")


@test
def a_session_is_known_to_its_own_database_only(scene):
    first = begin(scene, Home(scene))
    approve(first, "touch a", answer={"scope": "directory"})
    for flags, name in (((), "other"), (("--database=:memory:",), "memory")):
        server = exec_server(scene, *flags, home=Home(scene, name), handshake=False)
        params = {"clientName": "x", "resumeSessionId": id_of(first)}
        server.refused("initialize", params, -32600, "unknownSession")


@test
def without_a_database_nothing_can_be_resumed(scene):
    home = Home(scene)
    first = begin(scene, home)
    approve(first, "touch a", answer={"scope": "directory"})
    equal(first.end(), 0, "exit status")
    with open(home.database, "r+b") as file:
        file.write(b"this is no database any more" * 100)
    for end in ("-wal", "-shm"):
        if os.path.exists(home.database + end):
            os.unlink(home.database + end)
    server = exec_server(scene, home=home, handshake=False)
    params = {"clientName": "x", "resumeSessionId": id_of(first)}
    server.refused("initialize", params, kind="storeUnavailable")
    server.handshake({"approvals": True})
    check(id_of(server) != id_of(first), "it took the id over all the same")


@test
def a_session_that_was_not_used_for_long_is_forgotten(scene):
    home = Home(scene)
    first = begin(scene, home)
    approve(first, "touch a", answer={"scope": "directory"})
    equal(first.end(), 0, "exit status")
    days_31 = 31 * 86400 * 1000
    (column,) = [
        name for _, name, *_ in home.sql("pragma table_info(sessions)") if "used" in name
    ]
    home.sql("update sessions set %s = %s - ?" % (column, column), days_31)
    server = exec_server(scene, home=home, handshake=False)
    params = {"clientName": "x", "resumeSessionId": id_of(first)}
    server.refused("initialize", params, -32600, "unknownSession")


@test
def a_worker_that_is_killed_takes_the_server_down_and_nothing_else(scene):
    home = Home(scene)
    first = begin(scene, home)
    approve(first, "touch a", answer={"scope": "directory"})
    worker = first.worker()
    first.may_be_cut = True
    kill_quietly(worker)
    check(first.exit_status() != 0, "exit status 0 after a crash")
    check(not is_alive(worker), "the worker lives")
    runs_unasked(begin(scene, home, id_of(first)), "touch a")


if __name__ == "__main__":
    main()

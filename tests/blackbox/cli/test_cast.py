"""execward cast: a recorded session as a file for a player."""

import os
import sys

sys.path.insert(0, os.path.abspath(__file__ + "/../../.."))
from support.casts import Cast
from support.client import check, equal
from support.exec import exec_server
from support.runner import main, test

PASSWORD = "never shown 7"


def run(scene, *arguments):
    return scene.once("cast", *arguments)


def recorded(scene, *flags):
    """Returns a server that records, and the path of its recording."""
    path = scene.path("session.transcript")
    return scene.server("--record", path, *flags), path


@test
def a_session_on_a_terminal_becomes_a_cast(scene):
    server, path = recorded(scene)
    script = "stty -echo; printf 'Password: '; read x; printf two; exit 3"
    server.start_shell("a", script, tty=True, size={"rows": 7, "cols": 30})
    server.wait_output("a", b"Password: ")
    server.call("process/resize", {"processId": "a", "size": {"rows": 9, "cols": 40}})
    server.write("a", (PASSWORD + "\n").encode())
    server.wait_closed("a")
    told = Cast(server.call("process/cast", {"processId": "a"})["cast"])
    for version, flags in ((3, []), (2, ["--v2"])):
        done = run(scene, *flags, path)
        equal((done.returncode, done.stderr), (0, ""), "status")
        cast = Cast(done.stdout, version)
        equal((cast.size(), cast.header["command"]), ((30, 7), told.header["command"]), "header")
        equal(cast.data(), told.data(), "the output that the server tells")
        equal((cast.codes()[:3], cast.data("r")), ("oro", "40x9"), "events")
        equal(cast.data("x"), "3" if version == 3 else "", "exit status")
        check(PASSWORD not in done.stdout, "what was typed unseen")


@test
def a_command_becomes_a_cast_in_a_file(scene):
    path = scene.path("session.transcript")
    server = exec_server(scene, "--record", path)
    server.exec("echo on a terminal", tty=True)
    target = scene.path("made.cast")
    done = run(scene, "-o", target, path)
    equal((done.returncode, done.stdout, done.stderr), (0, "", ""), "status")
    with open(target, encoding="utf-8") as file:
        cast = Cast(file.read())
    equal((cast.data(), cast.data("x")), ("on a terminal\r\n", "0"), "output")
    equal(cast.header["command"], "echo on a terminal", "command")


@test
def of_several_terminals_one_is_chosen(scene):
    server, path = recorded(scene)
    for name in ("a", "b"):
        server.start_shell(name, "echo from " + name, tty=True)
        server.wait_closed(name)
    server.run_shell("c", "echo from a pipe")
    done = run(scene, path)
    equal(done.returncode, 1, "status")
    check("2 processes" in done.stderr and "--process" in done.stderr, done.stderr)
    equal(Cast(run(scene, "--process=b", path).stdout).data(), "from b\r\n", "output")
    check("'c'" in run(scene, "--process=c", path).stderr, "a process with pipes")


@test
def what_cannot_be_done_is_said(scene):
    written = scene.file("x.transcript", '> {"id":1,"method":"initialize"}\n')
    for arguments, words, status in (
        ([written], "no times", 1),
        ([scene.path("missing")], "cannot read", 1),
        (["-o", "/dev/full", recording_of(scene)], "cannot write", 1),
        ([scene.file("y.transcript", "what?\n")], "y.transcript:1:", 1),
        ([], "TRANSCRIPT", 2),
    ):
        done = run(scene, *arguments)
        equal((done.returncode, done.stdout), (status, ""), "status of %s" % arguments)
        check(words in done.stderr, done.stderr)


def recording_of(scene):
    server, path = recorded(scene)
    server.start_shell("a", "echo x", tty=True)
    server.wait_closed("a")
    return path


if __name__ == "__main__":
    main()

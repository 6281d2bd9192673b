"""initialize, initialized, environment/*: the beginning of a connection."""

import errno
import os
import sys

sys.path.insert(0, os.path.abspath(__file__ + "/../../.."))
from support import machines
from support.client import check, equal, file_uri
from support.runner import main, test

KNOWN = (
    "environment/info environment/status process/start process/read process/write process/list "
    "process/closeStdin process/signal process/terminate process/resize shutdown"
).split()


@test
def the_answer_to_initialize_says_who_and_where(scene):
    server = scene.server()
    answer = server.initialized
    equal(answer["serverInfo"]["name"], "execward", "name")
    check(
        answer["sessionId"] and answer["protocolVersion"] and answer["serverInfo"]["version"],
        "empty members: %s" % answer,
    )
    check(
        all(isinstance(value, bool) for value in answer["capabilities"].values()),
        "capabilities: %s" % answer["capabilities"],
    )
    equal(
        answer["environmentInfo"],
        server.call("environment/info"),
        "environmentInfo and environment/info",
    )


@test
def a_client_may_name_itself_either_way(scene):
    for params in (
        {"clientName": ""},
        {"clientName": "x", "clientInfo": None},
        {"clientInfo": {"name": "x"}},
        {"clientInfo": {"name": "x", "version": "1"}, "clientName": None},
    ):
        server = scene.server(handshake=False)
        check(
            server.call("initialize", {**params, "future": 1})["sessionId"],
            "no session for %s" % params,
        )


@test
def a_server_that_cannot_be_split_in_two_says_so_instead_of_success(scene):
    refused = [(machines.CLONE, None, errno.EAGAIN), (machines.CLONE3, None, errno.ENOSYS)]
    server = scene.server(
        handshake=False,
        prepare=lambda: machines.install_filter(refused),
        env={"ASAN_OPTIONS": "detect_leaks=0"},  # that check needs a process of its own
    )
    error = server.refused("initialize", {"clientName": "x"}, -32603, "internal")
    check("fork: Resource temporarily unavailable" in error["message"], "message %s" % error)
    check("ulimit -u" in error["data"]["hint"], "hint %s" % error)
    server.refused("initialize", {"clientName": "x"}, -32603, "internal")  # it may be tried again
    equal(server.end(), 0, "exit status")


@test
def a_failed_initialize_may_be_tried_again(scene):
    server = scene.server(handshake=False)
    for params in (
        {},
        {"clientName": 5},
        {"clientInfo": {}},
        {"clientName": "x", "processId": 0},
        {"clientName": "x", "processId": "1"},
        {"clientName": "x", "capabilities": {"extensions": 1}},
    ):
        server.refused("initialize", params, -32602, "invalidParams")
    server.refused(
        "initialize",
        {"clientName": "x", "resumeSessionId": "no-such-session"},
        -32600,
        "unknownSession",
    )
    server.handshake()
    server.answers()


@test
def a_second_initialize_is_refused(scene):
    server = scene.server()
    server.refused("initialize", {"clientName": "again"}, -32600, "invalidRequest")
    server.answers()


@test
def before_initialize_nothing_is_served(scene):
    server = scene.server(handshake=False)
    for method in KNOWN:
        server.refused(method, {}, -32600, "notInitialized")
    server.refused("no/such", {}, -32601, "unknownMethod")
    server.handshake()
    server.answers()


@test
def initialized_may_come_early_or_twice(scene):
    server = scene.server(handshake=False)
    server.notify("initialized")
    server.handshake()
    server.notify("initialized", {"anything": 1})
    server.notify("initialized")
    server.answers()


@test
def the_environment_describes_the_server(scene):
    directory = scene.path("a b \u00e9%")
    os.mkdir(directory)
    home = scene.path("home")
    server = scene.server(cwd=directory, env={"HOME": home, "TMPDIR": scene.path("tmp")})

    info = server.call("environment/info")

    equal(info["cwd"], file_uri(directory), "cwd")
    equal(info["userHomeDir"], file_uri(home), "userHomeDir")
    equal(info["tempDir"], file_uri(scene.path("tmp")), "tempDir")
    equal(info["platformOs"], "linux", "platformOs")
    check(os.access(info["shell"]["path"], os.X_OK), "shell: %s" % info["shell"])
    equal(os.path.basename(info["shell"]["path"]), info["shell"]["name"], "name of the shell")


@test
def every_server_has_a_session_of_its_own(scene):
    first, second = scene.server(), scene.server()
    check(
        first.initialized["sessionId"] != second.initialized["sessionId"],
        "the same session id twice",
    )


@test
def a_client_without_capabilities_hears_nothing_of_extensions(scene):
    server = scene.server()
    for number in range(62):
        server.start("p%d" % number, ["sleep", "600"])
    server.answers()
    equal(server.warnings, [], "notifications")


@test
def exit_before_initialize_ends_the_server(scene):
    server = scene.server(handshake=False)
    server.notify("exit")
    equal(server.exit_status(), 1, "exit status")


@test
def end_of_input_before_initialize_ends_the_server(scene):
    server = scene.server(handshake=False)
    equal(server.end(), 0, "exit status")


if __name__ == "__main__":
    main()

"""Sockets of a sandbox: which ones a program reaches, what it is told, and what is reported."""

import contextlib
import os
import shutil
import sys
import tempfile
import threading

sys.path.insert(0, os.path.abspath(__file__ + "/../../.."))
from support.client import check, equal
from support.runner import main
from support.sandboxes import NOWHERE, both_forms, listening, mode, sandbox_test

CONNECT = """
import socket, sys
def connect(address, family=socket.AF_UNIX, kind=socket.SOCK_STREAM):
    client = socket.socket(family, kind)
    client.settimeout(60)
    try:
        client.connect(address)
        return client.recv(9).decode().strip()
    except OSError as error:
        return error.strerror
"""


# Abstract names

# Each of the two programs does what the other one may not do.
ACCOMPLICE = """
import socket, sys, time
while True:
    try:
        meeting = socket.socket(socket.AF_UNIX)
        meeting.connect("meeting")
        break
    except OSError:
        time.sleep(0.01)
stranger = socket.socket(FAMILY)
socket.send_fds(meeting, [b"x"], [stranger.fileno()])
meeting.recv(1)
try:
    stranger.settimeout(1)
    print("got", stranger.recv(5))
except OSError as error:
    print("got nothing")
"""
ATTACKER = """
import socket, sys
door = socket.socket(socket.AF_UNIX)
door.bind("meeting")
door.listen()
meeting = door.accept()[0]
_, fds, _, _ = socket.recv_fds(meeting, 1, 1)
stranger = socket.socket(fileno=fds[0])
try:
    stranger.connect(ADDRESS)
    print("connected")
except OSError as error:
    print(error.strerror)
meeting.sendall(b"x")
"""


def hand_over(site, family, address):
    """Returns what the program without a network was told, with a socket of one that has it."""
    accomplice = site.python(
        ACCOMPLICE.replace("FAMILY", family), sandbox=mode(networkAccess=True)
    )
    ended = site.run_python(ATTACKER.replace("ADDRESS", repr(address)))
    equal(site.ended(accomplice).text, "got nothing\n", "what came through the socket")
    os.unlink(site.inside("meeting"))
    return ended


@sandbox_test
def a_socket_of_another_network_reaches_none_of_its_names(site):
    name = "execward-test-net-%d" % os.getpid()
    with listening(abstract=name) as machine:
        ended = hand_over(site, "socket.AF_UNIX", "\0" + name)
        equal(ended.text, "Permission denied\n", "the error")
        (denial,) = ended.exited["denials"]
        equal((denial["kind"], denial["target"]), ("socket", "@" + name), "denial")
        equal(machine.visits, 0, "visits")


@sandbox_test
def a_socket_of_another_network_reaches_no_port_of_its_loopback(site):
    with listening() as machine:
        ended = hand_over(site, "socket.AF_INET", ("127.0.0.1", machine.port))
        equal(ended.text, "Network is unreachable\n", "the error")
        ended = hand_over(site, "socket.AF_INET", ("127.0.0.1", 9))
        equal(ended.text, "Network is unreachable\n", "the error where nobody listens")
        equal(machine.visits, 0, "visits")


@sandbox_test
def own_abstract_names_are_reached_with_and_without_the_network(site):
    name = "execward-test-own-%d" % os.getpid()
    script = (
        CONNECT
        + """
import os, threading
name = "\\0" + sys.argv[1]
for kind in (socket.SOCK_STREAM, socket.SOCK_SEQPACKET):
    listener = socket.socket(socket.AF_UNIX, kind)
    listener.bind(name)
    listener.listen()
    def serve():
        client = listener.accept()[0]
        client.sendall(b"own")
        client.close()
    threading.Thread(target=serve).start()
    print(connect(name, kind=kind))
    client = os.fork()
    if client == 0:
        os._exit(0 if connect(name, kind=kind) == "own" else 1)
    serve()
    print(os.waitpid(client, 0)[1])
    listener.close()
    print(connect(name, kind=kind))
"""
    )
    for network in (True, False):
        for form, sandbox in both_forms(site.workspace, network=network).items():
            ended = site.run_python(script, name, sandbox=sandbox)
            expected = ["own", "0", "Connection refused"] * 2
            equal(ended.text.splitlines(), expected, "%s, network=%s" % (form, network))
            equal(ended.exited["denials"], [], "denials")


@sandbox_test
def a_name_that_the_machine_has_is_no_own_one(site):
    """A program may take the same name for another type, and the kernel keeps the two apart."""
    name = "execward-test-taken-%d" % os.getpid()
    script = (
        CONNECT
        + """
name = "\\0" + sys.argv[1]
own = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
own.bind(name)
own.listen()
print(connect(name))
print(connect(name + "\\0"))
print(connect(name[:-1]))
"""
    )
    with listening(abstract=name) as machine:
        ended = site.run_python(script, name, sandbox=mode(networkAccess=True))
        equal(ended.text.splitlines(), ["Permission denied"] + ["Connection refused"] * 2, "said")
        (denial,) = ended.exited["denials"]
        equal((denial["kind"], denial["target"]), ("socket", "@" + name), "denial")
        equal(machine.visits, 0, "visits")


@sandbox_test
def a_name_that_changes_hands_meanwhile_stays_out_of_reach(site):
    """The program gives its name up again and again, and the machine takes it when it is free."""
    name = "execward-test-turns-%d" % os.getpid()
    script = (
        CONNECT
        + """
import threading, time
name = "\\0" + sys.argv[1]
end = time.monotonic() + 2
def take_turns():
    while time.monotonic() < end:
        own = socket.socket(socket.AF_UNIX)
        try:
            own.bind(name)
            own.listen(64)
        except OSError:
            pass
        own.close()
thread = threading.Thread(target=take_turns)
thread.start()
while time.monotonic() < end:
    if connect(name) == "hello":
        print("reached")
thread.join()
"""
    )
    is_over = threading.Event()
    visits = []

    def take_turns():
        while not is_over.is_set():
            with contextlib.suppress(OSError), listening(abstract=name) as machine:
                visits.append(machine.visits)

    machine = threading.Thread(target=take_turns)
    machine.start()
    try:
        ended = site.run_python(script, name, sandbox=mode(networkAccess=True))
    finally:
        is_over.set()
        machine.join()
    equal((ended.code, ended.text, sum(visits)), (0, "", 0), "end, output and visits")


# Ports


@sandbox_test
def a_closed_port_refuses_and_nobody_is_told(site):
    script = (
        CONNECT
        + """
for family, address in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1"), (socket.AF_INET, "127.1.2.3")):
    probe = socket.socket(family)
    probe.bind((address, 0))
    port = probe.getsockname()[1]
    probe.close()
    print(connect((address, port), family))
"""
    )
    for form, sandbox in both_forms(site.workspace).items():
        ended = site.run_python(script, sandbox=sandbox)
        equal(ended.text.splitlines(), ["Connection refused"] * 3, form)
        equal(ended.exited["denials"], [], "denials with " + form)


# What is reported


@sandbox_test
def refused_datagrams_are_told(site):
    script = """
import socket
for make in (socket.socket, socket.socketpair):
    for _ in range(2):
        try:
            make(socket.AF_UNIX, socket.SOCK_DGRAM)
        except OSError as error:
            print(error.strerror)
"""
    ended = site.run_python(script)
    equal(ended.text, "Protocol not supported\n" * 4, "errors")
    told = [(d["kind"], d["operation"], d["count"]) for d in ended.exited["denials"]]
    equal(told, [("socket", "socket", 2), ("socket", "socketpair", 2)], "denials")


@sandbox_test
def a_look_up_of_a_name_is_told_as_one(site):
    script = CONNECT + "print(connect((%r, 53), socket.AF_INET, socket.SOCK_DGRAM))" % NOWHERE
    ended = site.run_python(script)
    equal(ended.text, "Network is unreachable\n", "error")
    (denial,) = ended.exited["denials"]
    equal(denial["operation"], "look up", "operation")
    equal(denial["target"], "a name (name server %s:53)" % NOWHERE, "target")


@sandbox_test
def an_agent_that_is_not_there_is_told(site):
    """It cannot be started where its socket cannot be made."""
    away, here = site.beyond("S.gpg-agent"), site.inside("S.gpg-agent")
    script = CONNECT + "for path in sys.argv[1:]: print(connect(path))"
    ended = site.run_python(script, away, here, site.beyond("no-agent"))
    equal(ended.text, "No such file or directory\n" * 3, "errors")
    (denial,) = ended.exited["denials"]
    equal((denial["kind"], denial["target"]), ("socket", away), "denial")
    check(site.outside in denial["allow"], denial)


@sandbox_test
def a_socket_of_the_machine_that_is_hidden_is_told(site):
    place = tempfile.mkdtemp(prefix="execward-test-", dir="/tmp")
    try:
        with listening(place + "/s") as machine:
            script = CONNECT + "for path in sys.argv[1:]: print(connect(path))"
            ended = site.run_python(script, place + "/s", place + "/other")
            equal(ended.text, "No such file or directory\n" * 2, "errors")
            (denial,) = ended.exited["denials"]
            equal((denial["kind"], denial["target"]), ("socket", place + "/s"), "denial")
            equal((denial.get("allow"), machine.visits), (None, 0), "way out, and visits")
    finally:
        shutil.rmtree(place)


if __name__ == "__main__":
    main()

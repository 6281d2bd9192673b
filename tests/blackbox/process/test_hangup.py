"""The connection breaks: a relay between client and server, such as ssh, ends, or one direction closes.

In test_lifetime the whole client ends. Here only a part of the connection does, in the middle of output.
"""

import os
import sys

sys.path.insert(0, os.path.abspath(__file__ + "/../../.."))
from support.client import (
    PYTHON,
    SERVER_MARK,
    carriers,
    check,
    command_line,
    equal,
    eventually,
    kill_quietly,
    wait_at_rest,
)
from support.programs import STUBBORN
from support.runner import main, test

# argv: pipes or sockets, the server's command. Carries bytes both ways, and passes on nothing else.
RELAY = """
import os, socket, subprocess, sys, threading
def two_ends():
    if sys.argv[1] == "pipes":
        (theirs_in, ours_out), (ours_in, theirs_out) = os.pipe(), os.pipe()
        return ours_in, ours_out, theirs_in, theirs_out
    ours, theirs = (end.detach() for end in socket.socketpair())
    return ours, ours, theirs, theirs
ours_in, ours_out, theirs_in, theirs_out = two_ends()
server = subprocess.Popen(sys.argv[2:], stdin=theirs_in, stdout=theirs_out)
for end in {theirs_in, theirs_out}:
    os.close(end)
def carry(source, sink):
    while data := os.read(source, 1 << 16):
        while data:
            data = data[os.write(sink, data):]
threading.Thread(target=carry, args=(ours_in, 1), daemon=True).start()
os.set_blocking(0, True)
carry(0, ours_out)
if ours_in != ours_out:
    os.close(ours_out)
else:
    half = socket.socket(fileno=ours_out)
    half.shutdown(socket.SHUT_WR)
    half.detach()
os._exit(server.wait())
"""
DAEMON = "(setsid sh -c 'trap \"\" HUP INT TERM; sleep 600; :' >/dev/null 2>&1 &) ; "
FLOODED = 1 << 20


def busy(server):
    """Starts programs that ignore signals, in sessions of their own, beside a flood."""
    server.may_be_cut = True
    server.start_python("stubborn", STUBBORN)
    server.wait_output("stubborn", b"up", 2)
    server.start_shell("daemon", DAEMON + "echo up; exec sleep 600", tty=True)
    server.wait_output("daemon", b"up")
    server.start("flood", ["yes"])
    server.wait(lambda: server.process("flood").size() > FLOODED, "output of the flood")
    # The daemon prints nothing, and is invisible during its exec.
    eventually(lambda: len(server.programs()) >= 5, "five programs")


def relayed(scene, kind):
    scene.command = [PYTHON, "-S", "-c", RELAY, kind, *scene.command]
    return scene.server()


def servers_behind(relay):
    return [pid for pid in carriers(relay.mark, SERVER_MARK) if pid != relay.pid]


def wait_for_full_pipes(relay):
    """Waits until the flood is held up, because all pipes on the way are full."""
    flood = next(pid for pid in relay.programs() if command_line(pid) == "yes")
    wait_at_rest(flood, "a flood that has to wait", 0.3)


def expect_nothing_left(relay):
    eventually(
        lambda: not relay.programs() and not servers_behind(relay),
        "the end of the server and of all programs",
    )


def lose_the_relay(scene, kind, is_full):
    relay = relayed(scene, kind)
    busy(relay)
    check(len(servers_behind(relay)) >= 2, "no keeper and worker behind the relay")
    if is_full:
        relay.stop_reading()
        wait_for_full_pipes(relay)  # unread bytes of the relay cause a reset of its socket
    kill_quietly(relay.pid)
    # The kernel closes its descriptors, and the server ends, before the relay itself counts as
    # dead.
    equal(relay.exit_status(), 137, "exit status of the relay")
    expect_nothing_left(relay)


@test
def sigkill_of_a_relay_with_pipes_ends_everything(scene):
    lose_the_relay(scene, "pipes", False)


@test
def sigkill_of_a_relay_with_sockets_ends_everything(scene):
    lose_the_relay(scene, "sockets", False)


@test
def sigkill_of_a_relay_that_is_full_ends_everything(scene):
    lose_the_relay(scene, "pipes", True)


@test
def sigkill_of_a_relay_with_sockets_that_are_full_ends_everything(scene):
    lose_the_relay(scene, "sockets", True)


@test
def half_closed_sockets_end_everything_with_status_0(scene):
    relay = relayed(scene, "sockets")
    busy(relay)
    equal(relay.end(), 0, "exit status, as the relay passes it on")
    expect_nothing_left(relay)


@test
def output_that_nobody_takes_any_more_ends_everything_though_stdin_is_open(scene):
    server = scene.server()
    busy(server)
    server.stop_reading()
    server.child.stdout.close()
    equal(server.exit_status(), 0, "exit status")
    expect_nothing_left(server)
    server.discard()


@test
def an_idle_server_notices_that_nobody_takes_its_output_though_stdin_is_open(scene):
    server = scene.server()
    server.may_be_cut = True
    server.start_python("stubborn", STUBBORN)
    server.wait_output("stubborn", b"up", 2)
    server.stop_reading()
    server.child.stdout.close()
    equal(server.exit_status(), 0, "exit status")
    expect_nothing_left(server)
    server.discard()


if __name__ == "__main__":
    main()

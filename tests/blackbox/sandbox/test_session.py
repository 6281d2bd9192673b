"""What the confined commands of one session share (/tmp and a loopback), and what they do not."""

import os
import signal
import sys

sys.path.insert(0, os.path.abspath(__file__ + "/../../.."))
from support.client import (
    check,
    children_of,
    equal,
    eventually,
    file_uri,
    is_alive,
    stat_of,
)
from support.runner import main
from support.sandboxes import READ_ONLY, connect_to, connect_to_file, keeps_walks, mode, sandbox_test

SERVES_PORT = """
import socket, sys
server = socket.create_server(("127.0.0.1", int(sys.argv[1])))
print(server.getsockname()[1], flush=True)
while True:
    connection, _ = server.accept()
    connection.sendall(b"hello")
    connection.close()
"""

SERVES_FILE = """
import socket, sys
server = socket.socket(socket.AF_UNIX)
server.bind(sys.argv[1])
server.listen()
print("ready", flush=True)
while True:
    connection, _ = server.accept()
    connection.sendall(b"hello")
    connection.close()
"""


# Takes a directory from a command that then ends, and tries what its sandbox had covered or closed.
TAKES_DIRECTORY = """
import os, socket, sys, time
server = socket.socket(socket.AF_UNIX)
server.bind("handed")
server.listen()
print("ready", flush=True)
connection, _ = server.accept()
_, (directory,), _, _ = socket.recv_fds(connection, 1, 1)
connection.recv(1)  # the other command ends
for _ in range(40):
    time.sleep(0.05)  # until its mounts are taken apart
    for path, flags in ((".git/hooks/made", os.O_CREAT | os.O_WRONLY),
                        (".codex/made", os.O_CREAT | os.O_WRONLY), ("secret", os.O_RDONLY)):
        try:
            os.close(os.open(path, flags, dir_fd=directory))
            print("opened", path, flush=True)
        except OSError:
            pass
print("end", flush=True)
"""

HANDS_DIRECTORY = """
import os, socket
connection = socket.socket(socket.AF_UNIX)
connection.connect("handed")
socket.send_fds(connection, [b"x"], [os.open(".", os.O_RDONLY)])
"""


def first_line(site, name):
    """Waits for a whole line of output."""
    return site.server.wait_output(name, b"\n").decode().splitlines()[0]


def other_session(site, run):
    """Calls `run` with another server in place of that of the site."""
    server = site.server
    site.new_server()
    try:
        return run()
    finally:
        site._server = server


# What they share


@sandbox_test
def what_a_command_leaves_in_tmp_the_next_one_finds(site):
    for policy in (mode(), mode(READ_ONLY), mode(networkAccess=True)):
        made = site.works("f=$(mktemp); echo kept > $f; echo $f", policy).strip()
        check(made.startswith("/tmp/"), "mktemp made " + made)
        equal(site.works(["cat", made], policy), "kept\n", "what the next command reads")
        another = site.fails(["cat", made], mode(denyRead=["/root"]))
        check("No such file" in another, "another policy has it: " + another)
        check(not os.path.lexists(made), "%s is in the machine's /tmp" % made)
        other = other_session(site, lambda made=made, p=policy: site.fails(["cat", made], p))
        check("No such file" in other, "another session has it: " + other)


@sandbox_test
def commands_that_start_together_share_it_too(site):
    names = [site.start("echo %d > /tmp/made-%d" % (number, number)) for number in range(8)]
    for name in names:
        equal(site.ended(name).code, 0, "end of " + name)
    text = site.works("cat /tmp/made-*")
    equal(text.split(), [str(number) for number in range(8)], "what all of them made")


@sandbox_test
def a_server_that_one_command_started_is_reached_by_the_next(site):
    name = site.python(SERVES_PORT, "0")
    port = int(first_line(site, name))
    equal(site.run_python(connect_to(port)).text, "hello\n", "what the next command got")
    other = other_session(site, lambda: site.run_python(connect_to(port)))
    check(other.code != 0, "another session reached it: " + other.text)
    open_network = site.run_python(connect_to(port), sandbox=mode(networkAccess=True))
    check(open_network.code != 0, "the machine's network reached it: " + open_network.text)
    site.server.terminate(name)
    site.server.wait_closed(name)
    check(site.run_python(connect_to(port)).code != 0, "it answers after its end")


@sandbox_test
def a_socket_file_in_tmp_is_reached_by_the_next_command(site):
    name = site.python(SERVES_FILE, "/tmp/service")
    equal(first_line(site, name), "ready", "the server")
    equal(site.run_python(connect_to_file("/tmp/service")).text, "hello\n", "the answer")


@sandbox_test
def every_port_of_the_loopback_can_be_listened_on(site):
    name = site.python(SERVES_PORT, "80")
    equal(first_line(site, name), "80", "the port")


# What they do not share


@sandbox_test
def a_command_neither_sees_nor_ends_another_one(site):
    name = site.start("echo ready; exec sleep 600")
    equal(first_line(site, name), "ready", "the other command")
    text = site.works("cat /proc/[0-9]*/cmdline | tr '\\0' ' '; ls -d /proc/[0-9]*; kill -9 -1; echo")
    check("sleep 600" not in text, "it is seen: " + text)
    pid = site.server.entry(name)["pid"]
    check("No such process" in site.fails("kill -9 %d" % pid), "its pid outside is a pid inside")
    equal(site.server.process(name).exited, None, "the end of the other command")


@sandbox_test
def shared_memory_and_ipc_are_those_of_one_command(site):
    name = site.start("echo x > /dev/shm/mine; ipcmk -Q >/dev/null; echo ready; exec sleep 600")
    equal(first_line(site, name), "ready", "the other command")
    text = site.works("ls /dev/shm; tail -n +2 /proc/sysvipc/msg; ls /dev/pts")
    check("mine" not in text, "its memory is there: " + text)
    equal(text.split(), ["ptmx"], "what is there")


@sandbox_test
def each_command_has_the_mounts_of_its_own_plan(site):
    secret = site.file("secret", "hidden\n")
    name = site.start("echo ready; read line; cat secret", pipeStdin=True)
    equal(first_line(site, name), "ready", "the first command")
    denied = mode("workspace-write", denyRead=[secret])
    check("hidden" not in site.fails(["cat", secret], denied), "the secret was read")
    equal(site.works(["cat", secret]), "hidden\n", "without that setting")
    site.server.write(name, b"\n")
    check(site.ended(name).text.endswith("hidden\n"), "the first command lost sight of it")


@sandbox_test
def a_directory_of_a_command_that_has_ended_shows_no_more_than_before(site):
    site.repository()
    os.mkdir(site.inside(".codex"))
    sandbox = mode(denyRead=[site.file("secret", "hidden")])
    name = site.python(TAKES_DIRECTORY, sandbox=sandbox)
    equal(first_line(site, name), "ready", "the command that listens")
    ended = site.run_python(HANDS_DIRECTORY, sandbox=sandbox)
    equal(ended.code, 0, "end of the one that hands over: " + ended.text)
    equal(site.ended(name).text.splitlines(), ["ready", "end"], "what could be opened")


@sandbox_test
def a_command_cannot_take_the_workspace_below_tmp_away(site):
    top = "/" + "/".join(site.workspace.split("/")[1:3])
    if not top.startswith("/tmp/"):
        return  # the workspace is elsewhere, so nothing is mounted below /tmp
    name = site.start("echo ready; read line; cat %s" % site.file("kept", "kept"), pipeStdin=True)
    equal(first_line(site, name), "ready", "the first command")
    text = site.works("mv %s /tmp/moved; rm -rf %s; ls -d /tmp/*" % (top, top))
    check(top in text.splitlines(), text)  # the two streams may come in any order
    site.file("kept", "kept")
    site.server.write(name, b"\n")
    equal(site.ended(name).text, "ready\nkept", "what the first command sees")


def waiting_processes(site):
    """Returns the children that wait for the next start: they have made no session yet."""
    worker = site.server.worker()
    own = stat_of(worker)[3:4]
    waiting = [pid for pid in children_of(worker) if is_alive(pid) and stat_of(pid)[3:4] == own]
    return [pid for pid in waiting if not keeps_walks(pid)]


@sandbox_test
def a_start_needs_no_process_that_waits_for_it(site):
    site.works("true")
    for number in range(5):
        for pid in waiting_processes(site):
            os.kill(pid, signal.SIGKILL)
        equal(site.works("echo %d" % number), "%d\n" % number, "output")


@sandbox_test
def what_waits_for_a_start_is_closed_to_other_processes(site):
    site.works("true")
    (waiting,) = waiting_processes(site)
    equal(os.stat("/proc/%d/environ" % waiting).st_uid, 0, "the owner of its memory and descriptors")


@sandbox_test
def nothing_is_left_running_for_a_session(site):
    site.works("true")
    own = site.server.own_pids()

    def below():
        found = [child for pid in own for child in children_of(pid) if child not in own]
        return [pid for pid in found if not keeps_walks(pid)]

    check(len(below()) <= 1, "more than the process that waits for the next start: %s" % below())
    eventually(lambda: not below(), "its end")


if __name__ == "__main__":
    main()

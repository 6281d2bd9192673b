"""Confined commands on a machine that lacks some part that a sandbox needs.

With require, the command is refused with the missing part, and nothing runs. With best-effort, the
command runs, and the missing guarantees are reported. Each case is tested through `execward run` and
through process/start.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.abspath(__file__ + "/../../.."))
from support import machines
from support.client import PATH, PATIENCE, PYTHON, check, equal
from support.runner import main, test

OF_MOUNTS = {"fsMetadata", "protectedPaths", "privateTmp", "procHidden", "endsTogether"}
EVERYTHING = OF_MOUNTS | {
    "fsWrite",
    "signals",
    "netOff",
    "socketFiles",
    "namedPipes",
    "systemCalls",
}
NOT_RUN = 125
COMMAND = ["/bin/sh", "-c", "echo it ran > made"]


def environment(scene):
    for name in ("home", "project"):
        os.makedirs(scene.path(name), exist_ok=True)
    return {
        "PATH": PATH,
        "HOME": scene.path("home"),
        "XDG_STATE_HOME": scene.path("state"),
        "XDG_CONFIG_HOME": scene.path("config"),
    }


def cli(scene, *arguments, lack=None, command=None):
    env = environment(scene)
    return subprocess.run(
        [command or scene.command[0], *arguments],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        cwd=scene.path("project"),
        preexec_fn=lack,
        env=env,
    )


def doctor(scene, **options):
    return json.loads(cli(scene, "doctor", "--json", **options).stdout)


def has_run(scene):
    """Returns True if COMMAND has run since the last call."""
    made = scene.path("project/made")
    if not os.path.exists(made):
        return False
    os.unlink(made)
    return True


def is_usable(scene, *, needs_root):
    """Returns True if this machine has everything, so that a test can take something away from it.
    """
    if needs_root and os.geteuid() != 0:
        print("needs root to change what is mounted: skipped")
        return False
    rung = doctor(scene)["rung"]
    if rung != "full":
        print("this machine is on rung %s: skipped" % rung)
    return rung == "full"


def require_through_run(scene, lack, missing, says, *flags, command=None):
    done = cli(scene, "run", *flags, "--", *COMMAND, lack=lack, command=command)
    check(not has_run(scene), "the command has run")
    equal((done.returncode, done.stdout), (NOT_RUN, ""), "status and stdout; %s" % done.stderr)
    for text in missing | {says}:
        check(text in done.stderr, "%r is not in %r" % (text, done.stderr))


def best_effort_through_run(scene, lack, missing, *flags, command=None):
    done = cli(scene, "run", "--best-effort", *flags, "--", *COMMAND, lack=lack, command=command)
    check(has_run(scene), "the command has not run: %s" % done.stderr)
    equal(done.returncode, 0, "exit status")
    for name in missing:
        check(name in done.stderr, "%r is not in %r" % (name, done.stderr))


def sandbox(enforcement, network):
    policy = {"type": "workspace-write", "networkAccess": network}
    return {"mode": "auto", "policy": policy, "enforcement": enforcement}


def through_process_start(scene, lack, missing, says, network=False, command=None):
    """Tests both kinds of enforcement, one after the other."""
    env = environment(scene)
    if command:
        scene.command = [command, *scene.command[1:]]
    server = scene.server(env=env, prepare=lack)
    cwd = "file://" + scene.path("project")

    def params(process_id, enforcement):
        return server.start_params(
            process_id, COMMAND, cwd=cwd, sandbox=sandbox(enforcement, network)
        )

    error = server.refused("process/start", params("a", "require"), kind="sandboxUnavailable")
    check(not has_run(scene), "the command has run")
    for text in missing | {says}:
        check(text in error["message"], "%r is not in %r" % (text, error["message"]))
    result = server.call("process/start", params("b", "best-effort"))
    equal(server.wait_closed("b").exited["exitCode"], 0, "exit code")
    check(has_run(scene), "the command has not run")
    check(missing <= set(result["missing"]), "missing: %s" % result["missing"])
    return result["missing"]


def all_ways(scene, lack, missing, says, network=False, command=None):
    flags = ["--network"] if network else []
    require_through_run(scene, lack, missing, says, *flags, command=command)
    best_effort_through_run(scene, lack, missing, *flags, command=command)
    return through_process_start(scene, lack, missing, says, network=network, command=command)


@test
def bubblewrap_is_missing(scene):
    if not is_usable(scene, needs_root=True):
        return
    lack = machines.without_bubblewrap(scene.file("empty"))
    all_ways(scene, lack, OF_MOUNTS, "bubblewrap")
    found = doctor(scene, lack=lack)
    equal((found["rung"], found["bubblewrap"]), ("landlock", None), "rung and bubblewrap")


@test
def the_newer_mount_interface_is_missing(scene):
    if not is_usable(scene, needs_root=False):
        return
    lack = machines.without_new_mounts
    script = "echo in > made; echo out > /var/tmp/execward-test-out; echo tmp > /tmp/mark; cat /tmp/mark"
    done = cli(scene, "run", "--", "/bin/sh", "-c", script, lack=lack)
    equal((done.returncode, done.stdout), (0, "tmp\n"), "end: " + done.stderr)
    check("Read-only file system" in done.stderr, "it can be written outside: " + done.stderr)
    equal(doctor(scene, lack=lack)["rung"], "full", "rung")
    server = scene.server(env=environment(scene), prepare=lack)
    for name, count in (("a", "0"), ("b", "0")):
        script = "ls /tmp | grep -c mark; echo > /tmp/mark"
        options = {"cwd": "file://" + scene.path("project"), "sandbox": sandbox("require", False)}
        _, text = server.run_shell(name, script, **options)
        equal(text.decode().strip(), count, "files that a command finds in /tmp")


@test
def bubblewrap_belongs_to_somebody_else(scene):
    if not is_usable(scene, needs_root=True):
        return
    path = scene.path("bwrap")
    shutil.copy("/usr/bin/bwrap", path)
    os.chown(path, 1000, 1000)
    lack = machines.without_bubblewrap(path)
    all_ways(scene, lack, OF_MOUNTS, "belongs to user 1000")


@test
def user_namespaces_are_refused(scene):
    if is_usable(scene, needs_root=False):
        all_ways(scene, machines.without_user_namespaces, OF_MOUNTS, "user namespaces")


@test
def a_machine_that_was_good_until_now_is_not_believed_to_be(scene):
    # In is_usable() execward remembered that the machine has everything.
    if is_usable(scene, needs_root=False):
        require_through_run(scene, machines.without_user_namespaces, OF_MOUNTS, "user namespaces")


@test
def landlock_is_refused(scene):
    """Mounts keep all guarantees of a policy except that for named pipes."""
    if not is_usable(scene, needs_root=False):
        return
    lack = machines.without_landlock
    for network in (False, True):
        missing = all_ways(scene, lack, {"namedPipes"}, "landlock", network=network)
        equal(missing, ["namedPipes"], "missing, with network: %s" % network)
    found = doctor(scene, lack=lack)
    equal((found["rung"], found["landlock"]), ("mounts", 0), "rung and ABI")
    equal(found["isSufficient"], False, "isSufficient")
    lost = [one["name"] for one in found["guarantees"] if not one["networkOff"]]
    equal(lost, ["namedPipes"], "lost with the network off")
    lost = [one["name"] for one in found["guarantees"] if one["networkOn"] is False]
    equal(lost, ["abstractSockets", "namedPipes"], "lost with the network on")
    for one in found["policies"]:
        equal((one["runs"], one["missing"]), (False, ["namedPipes"]), one["policy"])
    equal([one["mechanism"] for one in found["troubles"]], ["landlock"], "troubles")


@test
def named_pipes_are_closed_by_landlock(scene):
    """A program outside that reads commands from a named pipe gets none, with the network off and
    on.
    """
    if not is_usable(scene, needs_root=False):
        return
    # Not in /tmp, since a sandbox has its own.
    with tempfile.TemporaryDirectory(prefix="execward-test-", dir="/var/tmp") as outside:
        pipe = os.path.join(outside, "pipe")
        os.mkfifo(pipe)
        reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            for flags in ([], ["--network"]):
                done = cli(scene, "run", *flags, "--", "/bin/sh", "-c", "echo out > '%s'" % pipe)
                check("Permission denied" in done.stderr, done.stderr)
                equal(os.read(reader, 100), b"", "what came out of the sandbox")
        finally:
            os.close(reader)


@test
def network_namespaces_are_refused(scene):
    """Then a filter of system calls keeps the network off, and no guarantee is lost."""
    if not is_usable(scene, needs_root=False):
        return
    lack = machines.without_network_namespaces
    done = cli(scene, "run", "--", *COMMAND, lack=lack)
    equal((done.returncode, has_run(scene)), (0, True), "status and run; %s" % done.stderr)
    found = doctor(scene, lack=lack)
    equal(found["isSufficient"], True, "isSufficient")
    equal([one["mechanism"] for one in found["troubles"]], ["network namespace"], "troubles")
    net_off = next(one for one in found["guarantees"] if one["name"] == "netOff")
    equal(net_off["meansOff"], "seccomp", "what keeps the network off")
    script = "import socket; socket.create_connection(('127.0.0.1', 9))"
    done = cli(scene, "run", "--", PYTHON, "-c", script, lack=lack)
    check(any(word in done.stderr for word in ("unreachable", "permitted", "denied")), done.stderr)


@test
def neither_landlock_nor_user_namespaces_are_there(scene):
    if is_usable(scene, needs_root=False):
        missing = OF_MOUNTS | {"fsWrite", "signals", "namedPipes"}
        all_ways(scene, machines.without_both, missing, "landlock")


@test
def proc_is_masked(scene):
    if not is_usable(scene, needs_root=True):
        return
    all_ways(scene, machines.with_masked_proc, {"procHidden"}, "/proc")
    found = doctor(scene, lack=machines.with_masked_proc)
    equal(found["rung"], "mounts", "rung")
    missing = [one["name"] for one in found["guarantees"] if not one["networkOff"]]
    equal(missing, ["procHidden"], "missing guarantees")


@test
def execward_init_is_missing(scene):
    if not is_usable(scene, needs_root=False):
        return
    # Outside of its build directory execward uses the installed one.
    copy = scene.path("execward")
    shutil.copy(scene.command[0], copy)
    found = doctor(scene, command=copy)
    if found["init"]:
        print("%s is installed: skipped" % found["init"])
        return
    all_ways(scene, None, EVERYTHING, "execward-init is missing", command=copy)


def with_init_replaced(scene, replacement, missing, says):
    place = doctor(scene)["init"]
    if not place:
        return
    lack = machines.with_other_file(place, replacement)
    all_ways(scene, lack, missing, says)


@test
def execward_init_is_another_program(scene):
    if is_usable(scene, needs_root=True):
        other = scene.path("other")
        shutil.copy("/bin/true", other)
        with_init_replaced(scene, other, EVERYTHING, "sandbox")


@test
def execward_init_is_a_script(scene):
    if is_usable(scene, needs_root=True):
        other = scene.file("other", '#!/bin/sh\necho it ran > "%s"\n' % scene.path("x"), 0o755)
        with_init_replaced(scene, other, EVERYTHING, "sandbox")


@test
def execward_init_can_be_written_by_others(scene):
    if not is_usable(scene, needs_root=True):
        return
    for mode in (0o775, 0o757):
        other = scene.path("other")
        shutil.copy(doctor(scene)["init"], other)
        os.chmod(other, mode)
        with_init_replaced(scene, other, EVERYTHING, "writable by others")


if __name__ == "__main__":
    main()

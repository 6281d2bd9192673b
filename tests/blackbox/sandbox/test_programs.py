"""process/start with a sandbox: the rights of a program, and everything else as without a sandbox."""

import contextlib
import fcntl
import hashlib
import json
import os
import re
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.abspath(__file__ + "/../../.."))
from support.client import (
    PATIENCE,
    PYTHON,
    check,
    children_of,
    command_line,
    equal,
    eventually,
    file_uri,
    is_alive,
    kill_quietly,
    program_of,
    stat_of,
    within,
)
from support import machines
from support.files import make_deep
from support.programs import (
    ESCAPEES,
    ESCAPEE_COUNT,
    FAMILY,
    FAMILY_NAMES,
    SAYS_ITS_SIZE,
    SAYS_SIGNALS,
    SIGNAL_NAMES,
    SURROUNDINGS,
)
from support.runner import main
from support.sandboxes import (
    NOWHERE,
    PLACEHOLDERS,
    READ_ONLY,
    READS_ALL,
    SANDBOXED,
    WRITES_WORKSPACE,
    at,
    both_forms,
    connect_to,
    connect_to_file,
    listening,
    matching,
    mode,
    permissions,
    sandbox_test,
    special,
)

SANDBOX_PROGRAMS = ("bwrap", "execward-init")
UNKNOWN_PLACE = {
    "path": {"type": "special", "value": {"kind": "unknown", "path": ":x"}},
    "access": "read",
}


def core_limits():
    """Returns the limits with which the kernel makes no core on this machine (core(5))."""
    with open("/proc/sys/kernel/core_pattern") as file:
        return [1, 1] if file.read(1) in "|@" else [0, 0]


def tries(name, command):
    """Returns a line of a script that prints whether a command works."""
    return "if (%s) >/dev/null 2>&1; then echo %s yes; else echo %s no; fi\n" % (
        command,
        name,
        name,
    )


def outcomes(text):
    return dict(line.split() for line in text.splitlines() if line.count(" ") == 1)


# Rights in a sandbox


@sandbox_test
def both_forms_confine_alike_in_pipes_and_in_a_terminal(site):
    site.file("present", "old\n")
    site.file(site.beyond("present"), "old\n")
    with listening() as machine:
        script = (
            tries("write", "echo new > present")
            + tries("make", "mkdir -p a/b && echo x > a/b/c && mv a z && rm -r z")
            + tries("write-outside", "echo new > %s" % site.beyond("present"))
            + tries("make-outside", "echo new > %s" % site.beyond("new"))
            + tries("chmod-outside", "chmod 777 %s" % site.beyond("present"))
            + tries("remove-outside", "rm %s" % site.beyond("present"))
            + tries("read-outside", "grep old %s" % site.beyond("present"))
            + tries("network", "bash -c 'exec 3<>/dev/tcp/127.0.0.1/%d'" % machine.port)
            + tries("hosts", "test $(ls /proc | grep -c '^[0-9]') -gt 20")
            + tries("devices", "echo x > /dev/null && head -c 9 /dev/urandom")
        )
        for form, sandbox in both_forms(site.workspace).items():
            for tty in (False, True):
                case = "%s, tty=%s" % (form, tty)
                ended = site.run(script, sandbox, tty=tty)
                equal(ended.started["sandboxType"], SANDBOXED, "sandboxType with " + case)
                equal(ended.started["missing"], [], "missing with " + case)
                expected = {
                    "write": "yes",
                    "make": "yes",
                    "write-outside": "no",
                    "make-outside": "no",
                    "chmod-outside": "no",
                    "remove-outside": "no",
                    "read-outside": "yes",
                    "network": "no",
                    "hosts": "no",
                    "devices": "yes",
                }
                equal(outcomes(ended.text), expected, case)
        equal(machine.visits, 0, "visits at the machine's port")


@sandbox_test
def read_only_lets_nothing_of_the_machine_change(site):
    script = tries("inside", "echo x > made") + tries("outside", "echo x > " + site.beyond("made"))
    for name, sandbox in {
        "mode": mode(READ_ONLY),
        "permissions": permissions([READS_ALL], roots=[site.workspace]),
    }.items():
        ended = site.run(script, sandbox)
        equal(outcomes(ended.text), {"inside": "no", "outside": "no"}, name)
    equal(os.listdir(site.workspace) + os.listdir(site.outside), [], "files made")


@sandbox_test
def a_workspace_of_another_user_is_told_to_root(site):
    if os.geteuid() != 0:
        return  # others have the same rights outside
    os.chown(site.workspace, 1000, 1000)
    ended = site.run("touch made")
    check(ended.code != 0, "root without capabilities wrote there")
    notes = " ".join(ended.started.get("notes", ()))
    check("belongs to user 1000" in notes, "notes: " + notes)
    os.chmod(site.workspace, 0o777)
    ended = site.run("touch made")
    equal(ended.code, 0, "end in a directory that all may write")
    check("belongs" not in " ".join(ended.started.get("notes", ())), "notes: %s" % ended.started)


@sandbox_test
def the_tmp_of_a_session_is_its_own_and_goes_with_it(site):
    script = (
        "stat -c %a /tmp; echo $TMPDIR; ls /tmp; f=$(mktemp); echo $f; "
        "echo x > /tmp/execward-test-mark; ls /tmp | grep -c mark"
    )
    for policy in ("workspace-write", READ_ONLY):
        for _ in range(2):
            site.new_server()
            text = site.works(script, mode(policy), env={"TMPDIR": site.outside})
            permission, place, *names, made, count = text.splitlines()
            equal((permission, place, count), ("1777", "/tmp", "1"), "%s: %s" % (policy, text))
            top = site.workspace.split("/")[2] if site.workspace.startswith("/tmp/") else None
            equal([name for name in names if name != top], [], "what was in /tmp")
            check(made.startswith("/tmp/"), "mktemp made " + made)
    check(not os.path.exists("/tmp/execward-test-mark"), "it is in the machine's /tmp")


# A sandbox that may write in /tmp protects the repositories of all tests.
@sandbox_test(alone=True)
def a_shared_tmp_is_the_machines(site):
    os.mkdir(site.beyond("t"))
    for options, expected in (
        ({"sharedTmp": True}, {"tmp": "yes", "tmpdir": "yes"}),
        ({"sharedTmp": True, "excludeSlashTmp": True}, {"tmp": "no", "tmpdir": "yes"}),
        ({"sharedTmp": True, "excludeTmpdirEnvVar": True}, {"tmp": "yes", "tmpdir": "no"}),
    ):
        mark = "/tmp/execward-test-%s" % os.path.basename(site.outside)
        text = site.works(
            tries("tmp", "echo x > " + mark) + tries("tmpdir", "echo x > $TMPDIR/f"),
            mode(**options),
            env={"TMPDIR": site.beyond("t")},
        )
        equal(outcomes(text), expected, str(options))
        equal(os.path.exists(mark), expected["tmp"] == "yes", "a file in the machine's /tmp")
        for path in (mark, site.beyond("t", "f")):
            if os.path.exists(path):
                os.unlink(path)
        # A sandbox of another test may have /tmp at the same time.
        eventually(lambda: not site.litter("/tmp"), "a /tmp in which nothing was left")


@sandbox_test
def further_roots_can_be_written(site):
    os.makedirs(site.beyond("more"))
    os.makedirs(site.beyond("less"))
    script = tries("more", "echo x > %s/f" % site.beyond("more")) + tries(
        "less", "echo x > %s/f" % site.beyond("less")
    )
    for sandbox in (
        mode(writableRoots=[site.beyond("more")]),
        permissions(
            [READS_ALL, WRITES_WORKSPACE, at(site.beyond("more"), "write")], roots=[site.workspace]
        ),
    ):
        equal(outcomes(site.works(script, sandbox)), {"more": "yes", "less": "no"}, str(sandbox))
        equal(site.litter(site.beyond("more")), [], "litter in the further root")


@sandbox_test
def a_directory_of_devices_stands_for_those_below_it(site):
    places = [place for place in ("/dev/net", "/dev/dri", "/dev/input") if os.path.isdir(place)]
    for place in places[:1]:
        devices = [
            os.path.join(directory, name)
            for directory, _, names in os.walk(place)
            for name in names
            if stat.S_ISCHR(os.lstat(os.path.join(directory, name)).st_mode)
        ]
        ended = site.run(
            ["ls", *devices, "/dev/null"], mode(writableRoots=[place]), cwd=file_uri(site.workspace)
        )
        equal(ended.code, 0, ended.text)
        equal(ended.started.get("notes"), None, "notes")
        site.fails(["ls", *devices], mode())
    if os.geteuid() == 0:
        place = tempfile.mkdtemp(prefix="execward-test-", dir="/dev")
        try:
            os.mkdir(place + "/deep")
            os.mknod(place + "/deep/null", stat.S_IFCHR | 0o666, os.makedev(1, 3))
            site.works("echo x > %s/deep/null" % place, mode(writableRoots=[place]))
        finally:
            shutil.rmtree(place)


@sandbox_test
def what_cannot_be_granted_of_dev_is_told(site):
    for place in ("/dev", "/dev/pts", "/proc/sys"):
        started = site.started("true", mode(writableRoots=[place]))
        (note,) = started["notes"]
        check(note.startswith("'%s' is not writable" % place), note)


@sandbox_test
def what_is_denied_cannot_be_read(site):
    site.file("secret/deep/key", "hush\n")
    site.file("secret.txt", "hush\n")
    site.file("a/.env", "hush\n")
    site.file("a/b/.env", "hush\n")
    site.file("a/plain", "open\n")
    site.file(site.beyond("key"), "hush\n")
    denied = [site.inside("secret"), site.inside("secret.txt"), site.beyond("key")]
    script = (
        "for f in secret/deep/key secret.txt a/.env a/b/.env %s; do cat $f && echo LEAK; "
        "echo x > $f; rm -rf $f; mv $f moved; done 2>/dev/null; ls secret 2>/dev/null; "
        "cat a/plain; cat /proc/self/root%s 2>/dev/null; true"
    ) % (site.beyond("key"), site.inside("secret.txt"))
    for sandbox in (
        mode(denyRead=[*denied, site.inside("**/.env")]),
        permissions(
            [READS_ALL, WRITES_WORKSPACE, matching(site.inside("**/.env"), "deny")]
            + [at(path, "deny") for path in denied],
            roots=[site.workspace],
        ),
        permissions(
            [READS_ALL, WRITES_WORKSPACE, matching("**/.env", "deny")]
            + [at(path, "none") for path in denied],
            roots=[site.workspace],
        ),
    ):
        equal(site.works(script, sandbox), "open\n", "what was read with " + json.dumps(sandbox))
        for path in ("secret/deep/key", "secret.txt", "a/.env", "a/b/.env", site.beyond("key")):
            with open(site.inside(path)) as file:
                equal(file.read(), "hush\n", path)


@sandbox_test
def what_is_missing_and_may_not_be_written_cannot_be_made(site):
    for access in ("deny", "read"):
        for more, expected in (({}, "no"), ({"missing_path_behavior": "skip"}, "yes")):
            sandbox = permissions(
                [READS_ALL, WRITES_WORKSPACE, at(site.inside("later"), access, **more)],
                roots=[site.workspace],
            )
            script = tries("make", "echo x > later/f || mkdir later && echo x > later/f")
            script += tries("other", "echo x > other")
            text = site.works(script, sandbox)
            equal(outcomes(text), {"make": expected, "other": "yes"}, "%s %s" % (access, more))
            if expected == "yes":
                os.unlink(site.inside("later", "f"))
                os.rmdir(site.inside("later"))
            check(not os.path.lexists(site.inside("later")), "a placeholder was left")


@sandbox_test
def the_longest_entry_counts(site):
    site.file("closed/open/f", "f\n")
    site.file("closed/g", "g\n")
    site.file("still/changes/f", "f\n")
    entries = [
        READS_ALL,
        WRITES_WORKSPACE,
        at(site.inside("closed"), "deny"),
        at(site.inside("closed/open"), "write"),
        at(site.inside("still"), "read"),
        at(site.inside("still/changes"), "write"),
    ]
    text = site.works(
        tries("read-closed", "cat closed/g")
        + tries("list-closed", "ls closed")
        + tries("make-in-closed", "echo x > closed/new")
        + tries("read-open", "cat closed/open/f")
        + tries("write-open", "echo x > closed/open/f")
        + tries("read-still", "ls still")
        + tries("write-still", "echo x > still/new")
        + tries("write-changes", "echo x > still/changes/new")
        + tries("move-closed", "mv closed elsewhere")
        + tries("move-still", "mv still elsewhere"),
        permissions(entries, roots=[site.workspace]),
    )
    allowed = {"read-open", "write-open", "read-still", "write-changes"}
    equal({name for name, word in outcomes(text).items() if word == "yes"}, allowed, "allowed")


@sandbox_test
def minimal_shows_what_programs_need_and_no_more(site):
    site.file(site.beyond("f"), "f\n")
    site.file("f", "f\n")
    text = site.works(
        tries("workspace", "cat f && echo x > g")
        + tries("python", PYTHON + " -c 'import json, ssl'")
        + tries("outside", "cat " + site.beyond("f"))
        + tries("root-home", "ls /root")
        + tries("usr", "ls /usr/bin && cat /etc/passwd && echo x > /dev/null && ls /proc/self"),
        permissions([special("minimal", "read"), WRITES_WORKSPACE], roots=[site.workspace]),
    )
    expected = {
        "workspace": "yes",
        "python": "yes",
        "outside": "no",
        "root-home": "no",
        "usr": "yes",
    }
    equal(outcomes(text), expected, "minimal")


# A sandbox that may write in /tmp protects the repositories of all tests.
@sandbox_test(alone=True)
def special_places_are_those_of_the_request(site):
    for path in ("one", "two", "two/part"):
        os.makedirs(site.beyond(path))
    os.makedirs(site.beyond("tmpdir"))
    script = (
        tries("one", "echo x > %s/f" % site.beyond("one"))
        + tries("two", "echo x > %s/f" % site.beyond("two"))
        + tries("part", "echo x > %s/f" % site.beyond("two/part"))
        + tries("cwd", "echo x > f")
        + tries("tmpdir", "echo x > $TMPDIR/f")
        + tries("tmp", "echo x > /tmp/execward-test-f && rm /tmp/execward-test-f")
    )
    roots = [site.beyond("one"), site.beyond("two")]
    for entries, allowed in (
        ([special("project_roots", "write")], {"one", "two", "part"}),
        ([special("current_working_directory", "write")], {"one", "two", "part"}),
        ([special("project_roots", "write", "part")], {"part"}),
        (
            [special("project_roots", "write"), special("project_roots", "read", "part")],
            {"one", "two"},
        ),
        ([special("tmpdir", "write")], {"tmpdir"}),
        ([special("slash_tmp", "write")], {"tmp"} | ({"cwd"} if is_in_tmp(site) else set())),
        ([UNKNOWN_PLACE], set()),
    ):
        entries = [READS_ALL, *entries]
        text = site.works(
            script,
            permissions(entries, roots=roots, cwd=site.workspace),
            env={"TMPDIR": site.beyond("tmpdir")},
        )
        got = {name for name, word in outcomes(text).items() if word == "yes"}
        equal(got, allowed, str(entries[1:]))


def is_in_tmp(site):
    return os.path.realpath(site.workspace).startswith("/tmp/")


@sandbox_test
def what_nobody_can_keep_is_refused(site):
    def refused(code, kind, sandbox):
        params = site.server.start_params(
            "p", ["touch", "ran"], cwd=file_uri(site.workspace), sandbox=sandbox
        )
        error = site.server.refused("process/start", params, code, kind)
        check(not os.path.exists(site.inside("ran")), "it ran")
        return error

    denied = {**UNKNOWN_PLACE, "access": "deny"}
    refused(-32603, "sandboxUnavailable", permissions([READS_ALL, denied]))
    refused(
        -32603,
        "sandboxUnavailable",
        permissions([READS_ALL, WRITES_WORKSPACE], roots=[site.inside("not-there")]),
    )
    refused(-32603, "spawnFailed", permissions([READS_ALL, at(site.workspace, "deny")]))
    refused(-32602, "invalidParams", permissions([READS_ALL, matching("a[", "deny")]))
    refused(-32602, "invalidParams", permissions([READS_ALL] * 4097))
    site.works("true", permissions([READS_ALL] * 4096))


# A sandbox that may write everywhere protects the repositories of all tests.
@sandbox_test(alone=True)
def who_asks_for_no_sandbox_gets_none(site):
    for number, sandbox in enumerate(
        (
            {"permissions": {"type": "disabled"}},
            {"permissions": {"type": "external", "network": "restricted"}},
            {"mode": "disabled"},
            {"mode": "forbid", "policy": "read-only"},
            {"mode": "auto", "policy": "danger-full-access"},
            {"mode": "auto", "policy": "external-sandbox"},
            permissions([special("root", "write")], "enabled"),
        )
    ):
        ended = site.run(
            "echo x > %s; readlink /proc/self/ns/pid" % site.beyond("f%d" % number), sandbox
        )
        equal(ended.started["sandboxType"], "none", json.dumps(sandbox))
        equal(ended.text.strip(), os.readlink("/proc/self/ns/pid"), "its namespace")
        check(os.path.exists(site.beyond("f%d" % number)), "it could not write")
        check("denials" not in ended.exited, "denials without a sandbox")


@sandbox_test
def all_files_with_the_network_off_is_a_sandbox_too(site):
    for sandbox in (
        {"mode": "require", "policy": "danger-full-access", "networkPolicy": "restricted"},
        {
            "permissions": {
                "type": "managed",
                "file_system": {"type": "unrestricted"},
                "network": "restricted",
            }
        },
    ):
        with listening() as machine:
            ended = site.run(
                tries("write", "echo x > " + site.beyond("f"))
                + tries("network", "bash -c 'exec 3<>/dev/tcp/127.0.0.1/%d'" % machine.port),
                sandbox,
            )
            equal(outcomes(ended.text), {"write": "yes", "network": "no"}, json.dumps(sandbox))
            equal(ended.started["sandboxType"], SANDBOXED, "sandboxType")
            equal(machine.visits, 0, "visits")
        os.unlink(site.beyond("f"))


@sandbox_test
def an_open_network_is_the_machines_and_a_closed_one_is_its_own(site):
    with listening() as machine:
        for form, sandbox in both_forms(site.workspace, network=True).items():
            ended = site.run([PYTHON, "-c", connect_to(machine.port)], sandbox)
            equal((ended.code, ended.text), (0, "hello\n\n"), form)
            equal(ended.exited["denials"], [], "denials with " + form)
        equal(machine.visits, 3, "visits")
        for form, sandbox in both_forms(site.workspace).items():
            ended = site.run([PYTHON, "-c", connect_to(machine.port)], sandbox)
            check(ended.code != 0 and "unreachable" in ended.text, ended.text[-300:])
        equal(machine.visits, 3, "visits after the network was closed")


@sandbox_test
def its_own_loopback_works(site):
    script = """
import socket, threading
for family, address in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")):
    listener = socket.create_server((address, 0), family=family)
    port = listener.getsockname()[1]
    def serve():
        connection, _ = listener.accept()
        connection.sendall(b"served")
        connection.close()
    threading.Thread(target=serve).start()
    client = socket.create_connection((address, port), 10)
    print(client.recv(6).decode())
    talker, hearer = (socket.socket(family, socket.SOCK_DGRAM) for _ in "ab")
    hearer.bind((address, 0))
    talker.sendto(b"datagram", hearer.getsockname()[:2])
    print(hearer.recv(8).decode())
probe = socket.socket()
try:
    probe.connect(("127.0.0.1", port))
except OSError as error:
    print(error.strerror)
"""
    ended = site.run([PYTHON, "-c", script])
    equal(ended.code, 0, ended.text)
    equal(ended.text.split("\n")[:4], ["served", "datagram"] * 2, "output")


@sandbox_test
def a_program_that_polls_for_its_own_server_gets_there(site):
    script = """
import os, socket, time
probe = socket.socket()
probe.bind(("127.0.0.1", 0))
port = probe.getsockname()[1]
probe.close()
refused, told = os.pipe()
if os.fork() == 0:
    os.read(refused, 1)
    listener = socket.create_server(("127.0.0.1", port))
    listener.accept()[0].sendall(b"late")
    os._exit(0)
errors = set()
while True:
    try:
        print(socket.create_connection(("127.0.0.1", port), 10).recv(4).decode(), errors)
        break
    except OSError as error:
        errors.add(error.strerror)
        os.write(told, b"x")
        time.sleep(0.02)
"""
    ended = site.run_python(script)
    equal(ended.text, "late {'Connection refused'}\n", "output")
    equal(ended.exited["denials"], [], "denials")


# Reports of denials


@sandbox_test
def a_refused_connection_is_told_with_all_that_is_known(site):
    script = """
import os, socket, sys, time
for _ in range(3):
    try:
        socket.create_connection(("127.0.0.1", int(sys.argv[1])), 5)
    except OSError as error:
        print(error.strerror)
print("tried", flush=True)
time.sleep(float(sys.argv[2]))
sys.exit(int(sys.argv[3]))
"""
    with listening() as machine:
        for form, sandbox in both_forms(site.workspace).items():
            for code in (1, 0):
                name = site.start(
                    [PYTHON, "-c", script, str(machine.port), "1", str(code)], sandbox
                )
                site.server.wait_output(name, b"tried")
                pid = site.server.entry(name)["pid"]
                exited = site.ended(name).exited
                (denial,) = exited["denials"]
                check(denial["rule"] and denial["allow"], "no rule or way to allow it")
                expected = {
                    "rule": denial["rule"],
                    "allow": denial["allow"],
                    "kind": "network",
                    "operation": "connect",
                    "target": "127.0.0.1:%d" % machine.port,
                    "pid": pid,
                    "program": os.path.realpath(PYTHON),
                    "count": 3,
                }
                equal(denial, expected, "denial with " + form)
                equal(exited["denialCount"], 3, "denialCount")
                equal(exited["sandboxDenied"], code != 0, "sandboxDenied with exit %d" % code)
                read = site.server.read(name)
                for member in ("denials", "denialCount", "sandboxDenied"):
                    equal(read[member], exited[member], member + " of process/read")


@sandbox_test
def a_refused_socket_file_is_told(site):
    with listening(site.beyond("s")) as machine:
        ended = site.run([PYTHON, "-c", connect_to_file(site.beyond("s"))])
        check(ended.code != 0 and "Permission denied" in ended.text, ended.text[-300:])
        (denial,) = ended.exited["denials"]
        equal((denial["kind"], denial["target"]), ("socket", site.beyond("s")), "denial")
        check(ended.exited["sandboxDenied"], "sandboxDenied is false")
        equal(machine.visits, 0, "visits")


@sandbox_test
def a_socket_file_in_a_writable_root_is_open(site):
    with listening(site.inside("s")) as machine:
        text = site.works([PYTHON, "-c", connect_to_file(site.inside("s"))])
        equal((text, machine.visits), ("hello\n\n", 1), "what it was told, and visits")


@sandbox_test
def refused_changes_of_files_are_told_on_request(site):
    path = site.beyond("made")
    script = "echo x > %s; mkdir %s; echo x > allowed; exit 3" % (path, path + "-d")
    for form, sandbox in both_forms(site.workspace).items():
        exited = site.run(script, sandbox).exited
        equal((exited["denials"], exited["denialCount"]), ([], 0), "unasked, with " + form)
        check(exited["sandboxDenied"] and exited["sandboxHint"], "no hint: %s" % exited)
        exited = site.run(script, {**sandbox, "reportWrites": True}).exited
        told = {(d["kind"], d["operation"], d["target"]) for d in exited["denials"]}
        expected = {("file", "open", path), ("file", "mkdir", path + "-d")}
        equal(told, expected, "denials with " + form)
        check(all(denial.get("rule") for denial in exited["denials"]), "no rule")


@sandbox_test
def what_would_allow_a_change_is_no_home_directory(site):
    home = site.outside
    os.mkdir(site.beyond(".cache"))
    site.new_server(env={"HOME": home})
    script = (
        "mkdir -p %s %s; mkdir %s %s /execward-test; echo x > %s; echo x > %s; echo x > %s; exit 0"
        % (home, site.workspace, *map(site.beyond, (".npm", ".cache/go-build", ".gitconfig")), site.beyond(".cache/x/y/z"), "/execward-test")
    )
    exited = site.run(script, {**mode(), "reportWrites": True}).exited
    told = {(d["operation"], d["target"]): d.get("allow") for d in exited["denials"]}
    way = 'writableRoots = ["%s"] (--writable %s)'
    npm, build, cache = map(site.beyond, (".npm", ".cache/go-build", ".cache/x"))
    equal(
        told,
        {
            ("mkdir", npm): way % (npm, npm) + ", once it exists",
            ("mkdir", build): way % (build, build) + ", once it exists",
            ("mkdir", "/execward-test"): None,
            ("open", site.beyond(".gitconfig")): None,
            ("open", site.beyond(".cache/x/y/z")): way % (cache, cache),
            ("open", "/execward-test"): None,
        },
        "denials, and what would allow them",
    )


@sandbox_test
def a_hint_is_of_failures_only(site):
    for script, hint, denied in (
        ("echo Permission denied; exit 1", "permission denied", True),
        ("echo Permission denied; exit 0", None, False),
        ("exit 1", None, False),
        ("echo all is well; exit 1", None, False),
        ("kill -SYS $$", "exit 159", True),
    ):
        for tty in (False, True):
            exited = site.run(script, tty=tty).exited
            equal(exited.get("sandboxHint"), hint, "hint of '%s'" % script)
            equal(exited["sandboxDenied"], denied, "sandboxDenied of '%s'" % script)


@sandbox_test
def denials_are_bounded_and_counted(site):
    script = (
        """
import socket
for _ in range(2):
    for port in range(1, 101):
        probe = socket.socket()
        try:
            probe.connect(("%s", port))
        except OSError:
            pass
        probe.close()
raise SystemExit(1)
"""
        % NOWHERE
    )
    exited = site.run_python(script).exited
    equal(len(exited["denials"]), 64, "denials")
    equal(exited["denialCount"], 200, "denialCount")
    equal([d["count"] for d in exited["denials"]], [2] * 64, "counts")


# Ends of a process, and its usage


@sandbox_test
def an_end_is_told_exactly(site):
    cases = [
        ("exit %d" % code, code, None) for code in (0, 1, 77, 125, 126, 127, 130, 137, 143, 255)
    ]
    cases += [
        ("kill -%s $$" % name, 128 + getattr(signal, "SIG" + name), "SIG" + name)
        for name in ("TERM", "KILL", "SEGV", "ABRT", "HUP", "USR1", "PIPE", "ALRM", "INT", "XCPU")
    ]
    for tty in (False, True):
        for script, code, name in cases:
            ended = site.run(script, tty=tty)
            case = "'%s', tty=%s" % (script, tty)
            equal((ended.code, ended.signal), (code, name), "code and signal of " + case)
            read = site.server.read(ended.exited["processId"])
            equal((read["exitCode"], read.get("signal")), (code, name), "read of " + case)


@sandbox_test
def a_program_that_cannot_be_started_is_an_error(site):
    site.file("not-executable", "x")
    site.file("no-interpreter", "#!/no/such/thing\n", 0o755)
    kinds = {
        "/no/such/program": "spawnNotFound",
        "no-such-program": "spawnNotFound",
        site.inside("not-executable"): "spawnFailed",
    }
    for tty in (False, True):
        for program, kind in kinds.items():
            unconfined = site.server.start_params("p", [program], tty=tty)
            confined = {**unconfined, "sandbox": mode(), "cwd": file_uri(site.workspace)}
            expected = site.server.error(site.server.request("process/start", unconfined))
            equal(expected["data"]["kind"], kind, "kind without a sandbox")
            error = site.server.refused("process/start", confined, expected["code"])
            equal(error["data"]["kind"], kind, "kind with one: %s" % error)
    equal(site.litter(), [], "litter")
    equal(site.server.call("process/list")["processes"], [], "processes")


@sandbox_test
def a_program_begins_as_without_a_sandbox(site):
    for tty in (False, True):
        begun = []
        for sandbox in ({"mode": "disabled"}, mode()):
            text = site.works([PYTHON, "-S", "-c", SURROUNDINGS], sandbox, tty=tty)
            begun.append(json.loads(text))
        plain, confined = begun
        equal(confined["limits"].pop("RLIMIT_CORE"), core_limits(), "limit of core files")
        plain["limits"].pop("RLIMIT_CORE")
        for limits in (plain["limits"], confined["limits"]):
            limits.pop("RLIMIT_RTTIME")  # the server's mark, which differs for each process
        for member in ("blocked", "ignored", "umask", "directory", "limits"):
            equal(confined[member], plain[member], "%s, tty=%s" % (member, tty))
        equal(set(confined["descriptors"]), set(plain["descriptors"]), "descriptors")
        pid = confined["pid"]
        equal((confined["group"], confined["session"]), (pid, pid), "group and session")
        equal(confined["foreground"], pid if tty else None, "foreground group")


@sandbox_test
def arguments_and_environment_arrive_whole(site):
    argv = ["sh", "-c", 'echo $# "$1" "${50000}"; env | grep -c ^V', "sh", "a b'\"\\\u00e4"]
    argv += ["x" * 10] * 49998 + ["last\nline"]
    text = site.works(argv, env={"V%d" % n: "y" * 1000 for n in range(1000)})
    equal(text, "50000 a b'\"\\\u00e4 last\nline\n1000\n", "output")
    ended = site.run(["sh", "-c", "echo $0; env"], arg0="other", env={"EMPTY": ""})
    check("EMPTY=\n" in ended.text and "TMPDIR" not in ended.text, ended.text)


@sandbox_test
def a_script_without_an_interpreter_line_is_run_by_a_shell(site):
    site.file("script", "echo ran by $0\n", 0o755)
    equal(site.works([site.inside("script")]), "ran by %s\n" % site.inside("script"), "output")


@sandbox_test
def what_a_program_used_is_counted(site):
    script = """
import os, time
data = b"x" * (100 << 20)
if os.fork() == 0:
    while time.process_time() < 0.4: pass
    os._exit(0)
os.wait()
"""
    usage = site.run_python(script).exited["usage"]
    check(usage["userMs"] + usage["systemMs"] >= 400, "too little time: %s" % usage)
    check(usage["peakRssBytes"] >= 100 << 20, "too little memory: %s" % usage)
    check(usage["wallMs"] >= 300, "too short: %s" % usage)


@sandbox_test
def a_timeout_ends_it(site):
    for tty in (False, True):
        ended = site.run("(setsid sleep 600 &); sleep 600", timeoutMs=400, tty=tty)
        equal((ended.signal, ended.exited["timedOut"]), ("SIGKILL", True), "signal and timedOut")
        ended = site.run(
            "trap 'echo cleaned > clean; exit 5' TERM; while :; do sleep 0.05; done",
            timeoutMs=int(within(3000)),
            graceMs=60000,
            tty=tty,
        )
        equal((ended.code, ended.exited["timedOut"]), (5, True), "code and timedOut")
        os.unlink(site.inside("clean"))
    eventually(lambda: not site.server.programs(), "the end of all programs")


# Signals


@sandbox_test
def every_signal_reaches_the_program_by_name(site):
    server = site.server
    for tty in (False, True):
        name = site.python(SAYS_SIGNALS, tty=tty)
        server.wait_output(name, b"ready")
        for wire, posix in SIGNAL_NAMES.items():
            equal(server.signal(name, wire), {}, "result")
            server.wait_output(name, b"got SIG" + posix.encode())
        server.signal(name, "stop")
        pid = server.entry(name)["pid"]
        eventually(lambda pid=pid: stat_of(pid)[0] == "T", "a stopped program")
        server.signal(name, "continue")
        server.wait_output(name, b"got SIGCONT", 2)
        check(not server.process(name).exited, "the program ended")
        server.signal(name, "kill")
        equal(server.wait_closed(name).exited["signal"], "SIGKILL", "signal that ended it")


@sandbox_test
def a_scope_chooses_who_is_reached(site):
    server = site.server
    for scope, names in {
        None: {b"leader", b"member"},
        "group": {b"leader", b"member"},
        "leader": {b"leader"},
        "tree": {b"leader", b"member", b"daemon", b"group"},
    }.items():
        process = site.python(FAMILY)
        for name in FAMILY_NAMES:
            server.wait_output(process, name + b" ready")
        server.signal(process, "usr1", **({"scope": scope} if scope else {}))
        for name in names:
            server.wait_output(process, name + b" got 10")
        server.signal(process, "terminate", scope="tree")
        for name in FAMILY_NAMES:
            server.wait_output(process, name + b" got 15")
        lines = server.output(process).splitlines()
        reached = {line.split()[0] for line in lines if line.endswith(b"got 10")}
        equal(reached, names, "reached by scope %s" % scope)
        check(not server.process(process).exited, "the sandbox ended")
        server.terminate(process)
        server.wait_closed(process)


@sandbox_test
def an_interrupt_typed_on_the_terminal_reaches_the_foreground_only(site):
    server = site.server
    script = (
        "trap 'echo shell heard' INT; (trap '' INT; exec sleep 600) & "
        "echo ready; sleep 600; echo code $?; read line; echo got $line; kill $!; exit 6"
    )
    name = site.start(["bash", "-c", script], tty=True)
    server.wait_output(name, b"ready")
    eventually(lambda: len(server.entry(name)["descendants"]) == 2, "both children")
    server.write(name, b"\x03")
    server.wait_output(name, b"code 130")
    server.write(name, b"more\n")
    server.wait_output(name, b"got more")
    ended = site.ended(name)
    equal((ended.code, ended.signal), (6, None), "code and signal")
    name = site.start(["sleep", "600"], tty=True)
    eventually(lambda: "sleep 600" == command_line(server.entry(name)["pid"]), "sleep")
    server.write(name, b"\x03")
    ended = site.ended(name)
    equal((ended.code, ended.signal), (130, "SIGINT"), "code and signal")


@sandbox_test
def terminate_with_grace_lets_it_clean_up_and_then_insists(site):
    server = site.server
    for tty in (False, True):
        name = site.start(
            "trap 'sleep 0.3; echo x > cleaned; echo asked; exit 5' TERM; echo ready; "
            "while :; do sleep 0.05; done",
            tty=tty,
        )
        server.wait_output(name, b"ready")
        equal(server.terminate(name, graceMs=60000), {"running": True}, "result")
        ended = site.ended(name)
        equal((ended.code, ended.signal), (5, None), "code and signal")
        check("asked" in ended.text and os.path.exists(site.inside("cleaned")), ended.text)
        os.unlink(site.inside("cleaned"))

        name = site.python(FAMILY, tty=tty)
        for member in FAMILY_NAMES:
            server.wait_output(name, member + b" ready")
        equal(server.terminate(name, graceMs=int(within(3000))), {"running": True}, "result")
        ended = site.ended(name)
        check("leader got 15" in ended.text and "member got 15" in ended.text, ended.text)
        equal((ended.code, ended.signal), (137, "SIGKILL"), "code and signal")
    eventually(lambda: not server.programs(), "the end of all programs")


@sandbox_test
def a_signal_right_after_the_start_ends_the_command_alone(site):
    # The processes that made the sandbox may still be there.
    ends = set()
    for _ in range(80):
        name = site.start("trap 'exit 5' TERM; while :; do sleep 0.01; done")
        site.server.signal(name, "SIGTERM", scope="tree")
        site.server.terminate(name, graceMs=60000)
        ended = site.ended(name)
        ends.add((ended.code, ended.signal))
    check(ends <= {(5, None), (143, "SIGTERM")}, "codes and signals: %s" % ends)


@sandbox_test
def the_look_at_what_is_left_counts_neither_as_the_command_nor_as_its_time(site):
    server = site.server
    limit = int(within(3000))  # ms
    name = site.start("echo ready; read x; exit 7", pipeStdin=True, timeoutMs=limit)
    server.wait_output(name, b"ready")
    leader = server.entry(name)["pid"]
    looker = int(stat_of(int(stat_of(leader)[1]))[1])  # the parent of the first process
    os.kill(looker, signal.SIGSTOP)  # as if it took long
    try:
        server.write(name, b"\n")
        eventually(lambda: not is_alive(leader), "the end of the command")
        later = site.start("exec sleep 600", timeoutMs=limit)
        check(site.ended(later).exited["timedOut"], "the limit of a command that began later")
        signalled = {"processId": name, "signal": "SIGTERM", "scope": "tree"}
        server.error(server.request("process/signal", signalled), -32602, "notRunning")
    finally:
        os.kill(looker, signal.SIGCONT)
    ended = site.ended(name)
    equal((ended.code, ended.signal, ended.exited.get("timedOut", False)), (7, None, False), "its end")


@sandbox_test
def terminate_ends_the_whole_tree(site):
    server = site.server
    for tty in (False, True):
        name = site.python(ESCAPEES, tty=tty)
        server.wait_output(name, b"up", ESCAPEE_COUNT)
        # The intermediate processes that started daemons may not have ended yet.
        eventually(lambda: len(server.programs()) == ESCAPEE_COUNT, "these programs and no others")
        equal(server.terminate(name), {"running": True}, "result")
        eventually(lambda: not server.programs(), "the end of the tree")
        ended = site.ended(name)
        equal((ended.code, ended.signal), (137, "SIGKILL"), "code and signal")
        name = site.python(ESCAPEES, tty=tty)
        server.wait_output(name, b"up", ESCAPEE_COUNT)
        server.signal(name, "kill", scope="leader")
        ended = site.ended(name)
        equal((ended.code, ended.signal), (137, "SIGKILL"), "code and signal of a kill")
        eventually(lambda: not server.programs(), "the end of the tree")


@sandbox_test
def a_terminate_in_the_middle_of_a_start_is_one_end(site):
    server = site.server
    server.answers()
    for number in range(24):
        name = "p%d" % number
        params = server.start_params(
            name,
            ["sh", "-c", "(setsid sleep 600 &); exec sleep 600"],
            tty=bool(number % 2),
            sandbox=mode(),
            cwd=file_uri(site.workspace),
        )
        between = [("environment/status", {})] * (number * 97 % 1500)
        terminate = ("process/terminate", {"processId": name})
        started, *_, ended = server.request_at_once(
            [("process/start", params), *between, terminate]
        )
        server.reply(ended)
        if "error" in server.reply(started):
            server.error(started, -32800, "cancelled")
        else:
            equal(site.ended(name).signal, "SIGKILL", "signal")
        # After each start: the next one would remove what this one has left.
        eventually(lambda: site.litter() == [], "an empty workspace")
    eventually(lambda: not server.programs(), "the end of all programs")


def started_by(worker):
    """Returns the children that carry a launch out. Another one, which has made no session yet, waits
    for the next launch."""
    own = stat_of(worker)[3:4]
    return [pid for pid in children_of(worker) if stat_of(pid)[3:4] not in ([], own)]


def halted_start(worker):
    """Stops a start whose first process has made the second one, and returns the two; or None."""
    for first in children_of(worker):
        with contextlib.suppress(OSError):  # it has ended
            os.kill(first, signal.SIGSTOP)
            second = children_of(first)
            if second:
                return first, second[0]
            os.kill(first, signal.SIGCONT)
    return None


def halt_a_start(site, begin=None):
    """Starts programs until one start can be stopped. Returns its two processes and the request.
    `begin` sends a request that starts a program."""

    def start():
        params = site.server.start_params(
            site.new_name(), ["true"], sandbox=mode(), cwd=file_uri(site.workspace)
        )
        return site.server.request("process/start", params)

    worker = site.server.worker()
    end = time.monotonic() + within(30)
    while time.monotonic() < end:
        request = (begin or start)()
        halted = None
        while halted is None and not site.server.is_answered(request):
            halted = halted_start(worker)
        if halted:
            return (*halted, request)
        eventually(lambda: not started_by(worker), "the end of the program")
    raise AssertionError("no start was slow enough")


def both_kinds_of_servers(site):
    """Yields after the start of a server that shares namespaces, and of one that cannot."""
    for prepare in (None, machines.without_new_mounts):
        state = site.scene.path("state" if prepare is None else "other-state")
        site.new_server(prepare=prepare, env={"XDG_STATE_HOME": state})
        site.works("true")
        yield


@sandbox_test
def a_start_whose_first_process_is_killed_is_answered(site):
    for _ in both_kinds_of_servers(site):
        failed = False
        for _ in range(200):
            first, second, request = halt_a_start(site)
            kill_quietly(first)
            reply = site.server.reply(request)
            eventually(lambda second=second: not is_alive(second), "the end of the second process")
            if "error" in reply:
                check("was not run" in site.server.error(request)["message"], reply)
                failed = True
                break
        check(failed, "every start was further than it seemed")
        site.works("true")
        eventually(lambda: site.litter() == [], "an empty workspace")


@sandbox_test
def starts_that_wait_for_one_that_is_killed_are_answered(site):
    def start():
        params = site.server.start_params(
            site.new_name(), ["true"], sandbox=mode(), cwd=file_uri(site.workspace)
        )
        return site.server.request("process/start", params)

    site.works("true")  # it is known what the machine can enforce
    failed = 0
    for _ in range(60):
        site.new_server()  # the first start makes the namespaces, and the others wait for it
        worker = site.server.worker()
        requests = [start() for _ in range(3)]
        while not site.server.is_answered(requests[0]) and not site.server.ended:
            for pid in children_of(worker):
                kill_quietly(pid)
        replies = [site.server.reply(request) for request in requests]
        failed += any("error" in reply for reply in replies)
        # Without a trial that was not killed, the machine counts as one without a sandbox for a while.
        eventually(lambda: "result" in site.server.reply(start()), "a start that works")
        if failed == 10:
            return
    raise AssertionError("hardly any start was killed: %d" % failed)


@sandbox_test
def a_run_whose_first_process_is_killed_says_so(site):
    command = [site.scene.command[0], "run", "--sandbox", "workspace-write", "--", "true"]
    env = {**os.environ, "XDG_STATE_HOME": site.scene.path("state"), "XDG_CONFIG_HOME": site.scene.path("config")}
    options = {"cwd": site.workspace, "env": env, "stdin": subprocess.DEVNULL, "stderr": subprocess.PIPE, "text": True}
    equal(subprocess.run(command, timeout=PATIENCE, **options).returncode, 0, "a run that nobody disturbs")
    for _ in range(200):
        with subprocess.Popen(command, **options) as run:
            halted = None
            while halted is None and run.poll() is None:
                halted = halted_start(run.pid)
            if halted:
                kill_quietly(halted[0])
            errors = run.communicate(timeout=PATIENCE)[1]
        if halted:
            eventually(lambda halted=halted: not is_alive(halted[1]), "the end of the second process")
        # Killed with the program already running, it is told as the program's end.
        if run.returncode not in (0, 128 + signal.SIGKILL):
            equal(run.returncode, 125, "exit status: " + errors)
            check("was not run" in errors, errors)
            return
    raise AssertionError("every start was further than it seemed")


def end_a_start(site, begin):
    """Kills the first process of starts until a start has failed by it. Returns the error."""
    for _ in range(200):
        first, second, request = halt_a_start(site, begin)
        kill_quietly(first)  # the start may have gone on
        reply = site.server.reply(request)
        eventually(lambda second=second: not is_alive(second), "the end of the second process")
        if "error" in reply:
            return site.server.error(request)
    raise AssertionError("every start was further than it seemed")


@sandbox_test
def a_request_of_any_kind_whose_first_process_is_killed_is_answered(site):
    site.file("f", "old\n")
    patch = "*** Begin Patch\n*** Add File: new\n+new\n*** End Patch\n"
    settings = {
        "sandbox": "workspace-write", "workspaceRoots": [site.workspace], "approvalPolicy": "never"
    }
    requests = (
        ("fs/readFile", {"path": file_uri(site.inside("f")), "sandbox": mode()}),
        ("patch/apply", {"patch": patch}),
        ("exec/command", {"command": "true", "yieldTimeMs": 250}),
    )
    for _ in both_kinds_of_servers(site):
        site.server.call("session/configure", settings)
        for method, params in requests:

            def begin(method=method, params=params):
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(site.inside("new"))
                return site.server.request(method, params)

            error = end_a_start(site, begin)
            check(error["message"], "no reason: %s" % error)
            site.server.result(begin())  # the next one is not held up


@sandbox_test
def a_start_ends_with_the_server(site):
    for _ in both_kinds_of_servers(site):
        server = site.server
        first, second, _ = halt_a_start(site)
        server.may_be_cut = True
        for pid in (server.pid, server.worker()):
            kill_quietly(pid)
        equal(server.exit_status(), 128 + signal.SIGKILL, "exit status")
        kill_quietly(first, signal.SIGCONT)
        eventually(lambda second=second: not is_alive(second), "the end of the second process")
        eventually(lambda first=first: not is_alive(first), "the end of the first process")


@sandbox_test
def a_start_can_be_cancelled_while_the_machine_is_being_tried(site):
    server = site.server  # a new server, with a state directory of its own: it runs the trial first
    params = {"sandbox": mode(), "cwd": file_uri(site.workspace)}
    starts = [
        server.request("process/start", server.start_params("p%d" % n, ["sleep", "600"], **params))
        for n in range(3)
    ]
    server.notify("$/cancelRequest", {"id": starts[0]})
    ending = server.request("process/terminate", {"processId": "p1"})
    server.error(starts[0], -32800, "cancelled")
    server.reply(ending)
    if "error" in server.reply(starts[1]):
        server.error(starts[1], -32800, "cancelled")
    equal(server.result(starts[2])["sandboxType"], SANDBOXED, "sandboxType of the third")
    server.terminate("p2")
    server.wait_closed("p2")
    eventually(lambda: not server.programs(), "the end of all programs")
    eventually(lambda: site.litter() == [], "an empty workspace")


@sandbox_test
def a_daemon_ends_with_the_command(site):
    server = site.server
    for tty in (False, True):
        ended = site.run(
            "setsid sh -c 'trap \"\" HUP TERM; echo up > up; sleep 600' </dev/null >/dev/null 2>&1 & "
            "while ! test -e up; do sleep 0.02; done; rm up; exit 4",
            tty=tty,
        )
        equal((ended.code, ended.signal), (4, None), "code and signal")
        eventually(lambda: not server.programs(), "the end of the daemon")
        entry = server.entry(ended.exited["processId"])
        equal((entry["state"], entry["descendants"]), ("closed", []), "state and descendants")


# Lists


@sandbox_test
def the_list_has_the_program_and_its_descendants_alone(site):
    server = site.server
    for tty in (False, True):
        name = site.start("sleep 601 & (setsid sleep 602 &) ; echo up; wait", tty=tty)
        server.wait_output(name, b"up")

        def seen(name=name):
            entry = server.entry(name)
            lines = {command_line(pid) for pid in entry["descendants"]}
            return entry if lines == {"sleep 601", "sleep 602"} else None

        entry = eventually(seen, "both descendants")
        equal(command_line(entry["pid"]).split()[0], "sh", "the program")
        equal(entry["argv"][0], "sh", "argv")
        for pid in (entry["pid"], *entry["descendants"]):
            check(os.path.basename(program_of(pid)) not in SANDBOX_PROGRAMS, command_line(pid))
        ended_pid = entry["pid"]
        server.terminate(name)
        server.wait_closed(name)
        equal(server.entry(name)["pid"], ended_pid, "pid after the end")


# Input and the terminal


@sandbox_test
def what_is_written_arrives(site):
    server, data = site.server, bytes(range(256)) * 1024
    name = site.start(["md5sum"], pipeStdin=True)
    for start in range(0, len(data), 1 << 16):
        server.write(name, data[start : start + (1 << 16)])
    equal(server.call("process/closeStdin", {"processId": name}), {"status": "accepted"}, "close")
    equal(site.ended(name).text.split()[0], hashlib.md5(data).hexdigest(), "digest")
    name = site.start(["cat"], pipeStdin=True)
    server.write(name, b"last", closeStdin=True)
    equal(site.ended(name).text, "last", "output")
    equal(site.works(["cat"]), "", "output of one without stdin")


@sandbox_test
def a_big_output_arrives_whole(site):
    for tty in (False, True):
        text = site.works("seq 1 200000", tty=tty)
        equal(text, "".join("%d\n" % n for n in range(1, 200001)), "output, tty=%s" % tty)


@sandbox_test
def the_terminal_is_its_own(site):
    text = site.works(
        [
            "bash",
            "-c",
            "echo said > /dev/tty; test -t 0 && test -t 1 && echo terminal; "
            "ps -o stat= -p $$ | grep -o +; stty size; "
            "python3 -c 'import os; print(os.tcgetpgrp(0) == os.getpgrp(), os.getsid(0) == os.getpid())'",
        ],
        tty=True,
        size={"rows": 33, "cols": 99},
        env={"PATH": "/usr/bin:/bin"},
    )
    equal(text.split("\n")[:5], ["said", "terminal", "+", "33 99", "True True"], "output")
    check(site.fails("echo x > /dev/tty", tty=False), "a /dev/tty without a terminal")


@sandbox_test
def a_resize_is_seen(site):
    server = site.server
    name = site.python(SAYS_ITS_SIZE, tty=True)
    server.wait_output(name, b"ready")
    for rows, cols in ((50, 132), (1, 1), (24, 80)):
        size = {"rows": rows, "cols": cols}
        equal(server.call("process/resize", {"processId": name, "size": size}), {}, "result")
        server.wait_output(name, b"%d %d\r\n" % (rows, cols))


@sandbox_test
def jobs_can_be_stopped_and_continued(site):
    server = site.server
    name = site.start(["bash", "--norc", "-i"], tty=True, env={"PS1": "> "})
    server.wait_output(name, b"> ")
    check(b"job control" not in server.output(name), server.output(name))
    server.write(name, b"cat\n")
    eventually(
        lambda: any(command_line(pid) == "cat" for pid in server.entry(name)["descendants"]), "cat"
    )
    server.write(name, b"one\n")
    server.wait_output(name, b"one", 2)
    server.write(name, b"\x1a")
    server.wait_output(name, b"Stopped")
    server.write(name, b"fg\n")
    server.wait_output(name, b"cat", 3)  # the echo, the line about the stop, and the output of fg
    server.write(name, b"two\n")
    server.wait_output(name, b"two", 2)
    server.write(name, b"\x04")
    server.write(name, b"sleep 600 & kill %1; wait; echo d''one; exit 9\n")
    server.wait_output(name, b"done")
    equal(site.ended(name).code, 9, "exit code")


# Limits


@sandbox_test
def limits_hold_and_those_that_were_hit_are_named(site):
    for limits, script, name, expected in (
        ({"cpuSeconds": 1}, "while :; do :; done", None, ["cpuSeconds"]),
        (
            {"fileSizeBytes": 4096},
            "exec head -c 9999 /dev/zero > big",
            "SIGXFSZ",
            ["fileSizeBytes"],
        ),
    ):
        ended = site.run(script, limits=limits)
        check(ended.signal == name or name is None and ended.signal, "signal %s" % ended.signal)
        equal(ended.exited.get("limitHits"), expected, "limitHits of %s" % limits)
    equal(os.path.getsize(site.inside("big")), 4096, "size of the file")
    ended = site.run("exit 3", limits={"cpuSeconds": 5, "fileSizeBytes": 1 << 20})
    check("limitHits" not in ended.exited, "limitHits without one")


@sandbox_test
def limits_are_those_of_the_program_alone(site):
    text = site.works(
        "ulimit -Hn; ulimit -Sn; ulimit -Hu; ulimit -v; ulimit -Hc; ulimit -t; ulimit -f",
        limits={
            "openFiles": 64,
            "processes": 500,
            "addressSpaceBytes": 1 << 30,
            "cpuSeconds": 77,
            "fileSizeBytes": 1 << 20,
            "coreBytes": 1 << 20,
        },
    )
    if "Illegal" not in text:
        equal(text.split(), ["64", "64", "500", str(1 << 20), "0", "77", "2048"], "limits")
    text = site.works(
        [
            PYTHON,
            "-c",
            "try:\n  x = b'x' * (600 << 20)\n  print('fits')\nexcept MemoryError:\n  print('no')",
        ],
        limits={"addressSpaceBytes": 400 << 20},
    )
    equal(text, "no\n", "600 MiB in 400")
    text = site.works(
        [
            PYTHON,
            "-c",
            "import os\nn = 0\ntry:\n  while True: n = os.open('/', 0)\nexcept OSError: print(n)",
        ],
        limits={"openFiles": 20},
    )
    equal(text, "19\n", "the last descriptor")


@sandbox_test
def no_core_is_dumped(site):
    """A limit of 0 does not hold where core_pattern names a program, and 1 does."""
    site.works("ulimit -c | grep -x 0; ulimit -Hc | grep -x 0")
    text = site.works(
        [
            PYTHON,
            "-c",
            "from resource import *; setrlimit(RLIMIT_CORE, (0, 0)); print(getrlimit(RLIMIT_CORE));"
            "prlimit(0, RLIMIT_CORE, (0, 0)); print(getrlimit(RLIMIT_CORE))",
        ]
    )
    equal(text, "(%d, %d)\n" % tuple(core_limits()) * 2, "the limit after attempts to change it")
    ended = site.run("ulimit -c 0; kill -SEGV $$")
    equal(ended.signal, "SIGSEGV", "signal")
    equal([name for name in os.listdir(site.workspace) if "core" in name], [], "core files")


# Many, and the end of the server


@sandbox_test(alone=True)
def forty_at_once_keep_apart(site):
    server = site.server
    names = [
        site.start(
            "echo $$ %d > f%d; sleep 0.2; cat f%d; read x; exit %d" % (n, n, n, n), pipeStdin=True
        )
        for n in range(40)
    ]
    for name in names:
        server.wait_output(name, b"\n")
    for name in names:
        server.write(name, b"go\n")
    for number, name in enumerate(names):
        ended = site.ended(name)
        equal((ended.code, ended.text.split()[1]), (number, str(number)), "code and output")
    equal(site.litter(), [], "litter")
    eventually(lambda: not server.programs(), "the end of all programs")


def everything_of(site):
    """Returns all processes of the site's programs, including those of the sandbox itself."""
    found = set()
    for pid in list(site.server.programs()):
        while pid > 1 and pid not in site.server.own_pids() and is_alive(pid):
            found.add(pid)
            pid = int(stat_of(pid)[1])
    return found


@sandbox_test
def nothing_outlives_the_server(site):
    commondir = site.repository("r") + "/.git/commondir"
    for victim in ("keeper", "worker", "group", "input", "keeper of a stopped worker"):
        server = site.new_server(prepare=os.setsid)
        site.start(["sh", "-c", "(setsid sleep 600 &); exec sleep 600"])
        site.python(ESCAPEES, tty=True)
        eventually(lambda server=server: len(server.programs()) == 2 + ESCAPEE_COUNT, "programs")
        check(os.path.exists(commondir), "no placeholder")
        pids = everything_of(site)
        check(len(pids) > 2 + ESCAPEE_COUNT, "the sandbox's own processes were not found")
        server.may_be_cut = True
        if victim == "input":
            server.close_input()
        elif victim == "group":
            os.killpg(server.pid, signal.SIGKILL)
        elif victim == "worker":
            kill_quietly(server.worker())
        else:
            if victim != "keeper":
                kill_quietly(server.worker(), signal.SIGSTOP)
            kill_quietly(server.pid)
        server.exit_status()
        eventually(
            lambda server=server: not server.programs(), "the end of all programs"
        )
        eventually(lambda pids=pids: not any(map(is_alive, pids)), "the end of its own")

        # The worker may still hold it for a moment: then the next server removes it.
        def is_swept():
            site.new_server()
            site.works("true")
            return not os.path.exists(commondir)

        eventually(is_swept, "no placeholder after " + victim)
        equal(site.litter(), [], "litter after " + victim)


def everything_in(directory):
    return {
        os.path.join(place, name)
        for place, directories, files in os.walk(directory)
        for name in directories + files
    }


@sandbox_test
def a_workspace_is_left_as_it_was(site):
    repository = site.repository("r")
    sandbox = mode(policyCwd=repository)
    plain = site.inside("plain")
    os.mkdir(plain)
    before = everything_in(site.workspace)
    for number in range(3):
        for directory in (repository, plain):
            name = site.start(
                "test ! -e .codex && sleep 0.1",
                {**sandbox, "policyCwd": directory},
                cwd=file_uri(directory),
                tty=bool(number % 2),
            )
            site.server.wait_exited(name)
            left = [
                entry for entry in site.litter(directory) if directory == plain or entry != ".git"
            ]
            equal(left, [], "litter in %s when exited was told" % directory)
            equal(site.ended(name).code, 0, "exit code")
    equal(everything_in(site.workspace) ^ before, set(), "files that came or went")
    equal(site.git(repository, "status", "--porcelain", "--ignored"), "", "git status")


@sandbox_test
def git_does_not_see_the_sandbox(site):
    repository = site.repository("r")
    for sandbox in (
        mode(policyCwd=repository),
        permissions([READS_ALL, WRITES_WORKSPACE], roots=[repository]),
    ):
        text = site.works(
            "git status --porcelain --ignored",
            sandbox,
            cwd=file_uri(repository),
            env=site.git_environment(),
        )
        equal(text, "", "git status inside")


@sandbox_test
def two_in_one_workspace_share_what_holds_places(site):
    server = site.server
    holders = [site.repository(path) + "/.git/commondir" for path in (".", "nested")]
    tries = "for d in . nested; do echo ../../evil > $d/.git/commondir || echo held; done"
    first = site.start("read x; " + tries, pipeStdin=True)
    second = site.start("read x; " + tries, pipeStdin=True)
    for name in (first, second):  # the second has found what the first one has made
        check(all(map(os.path.exists, holders)), "no placeholders before the end of " + name)
        site.works("true")
        server.write(name, b"go\n")
        equal(site.ended(name).text.count("held\n"), 2, "what was held for " + name)
    check(not any(map(os.path.exists, holders)), "placeholders are left")


@sandbox_test(needs=["git"])
def the_server_waits_at_its_end_for_what_clears_up(site):
    holder, server = site.repository() + "/.git/commondir", site.server
    site.start("sleep 1000")
    check(os.path.exists(holder), "no placeholder")
    noted = hashlib.sha256(holder.encode()).hexdigest()
    with open(site.scene.path("state/execward/placeholders/" + noted)) as entry:
        fcntl.flock(entry, fcntl.LOCK_EX)  # as a busy disk, it keeps the clearing waiting
        server.close_input()
        with contextlib.suppress(subprocess.TimeoutExpired):
            server.child.wait(2)  # longer than the programs have to end
            check(False, "the server has ended")
    equal(server.exit_status(), 0, "exit status")
    check(not os.path.exists(holder), "a placeholder is left")


@sandbox_test(needs=["git"])
def a_user_can_work_with_git_beside_it(site):
    repository = site.repository("r")
    name = site.start(
        "read x; git commit -q --allow-empty -m inside && git status --porcelain && git log --oneline",
        mode(policyCwd=repository),
        cwd=file_uri(repository),
        env=site.git_environment(),
        pipeStdin=True,
    )
    for command in (
        "commit -q --allow-empty -m outside",
        "status --porcelain --ignored",
        "branch side",
        "worktree add -q ../tree side",
        "gc -q",
        "fsck --no-progress",
        "config user.mark x",
        "stash list",
    ):
        text = site.git(repository, *command.split())
        check(not any(place in text for place in PLACEHOLDERS), "%s tells: %s" % (command, text))
    site.server.write(name, b"go\n")
    ended = site.ended(name)
    equal((ended.code, ended.text.count("\n")), (0, 3), "end and output: %s" % ended.text)
    site.git(repository, "fsck", "--no-progress", "--strict")
    equal(
        site.git(site.inside("tree"), "log", "--oneline").count("\n"), 2, "commits of the worktree"
    )
    left = [name for name in site.litter(repository) if name != ".git"]
    equal(left, [], "litter")
    check(not os.path.exists(repository + "/.git/commondir"), "commondir is left")


@sandbox_test
def what_a_user_puts_there_meanwhile_is_not_lost(site):
    server = site.server
    name = site.start("read x", pipeStdin=True)
    site.file(".codex/mine", "mine\n")
    site.file(".agents", "a file\n")
    server.write(name, b"go\n")
    moved = {denial["target"]: denial["movedTo"] for denial in site.ended(name).exited["denials"]}
    equal(sorted(moved), [site.inside(".agents"), site.inside(".codex")], "what was moved")
    equal(sorted(os.listdir(site.workspace)), sorted(map(os.path.basename, moved.values())), "left")
    for path, content in ((".codex", "mine\n"), (".agents", "a file\n")):
        place = moved[site.inside(path)]
        with open(place + "/mine" if os.path.isdir(place) else place) as file:
            equal(file.read(), content, path)


# Protected paths in a workspace


def git_works(site, script, directory, **options):
    """Runs a script with git in the sandbox. Returns its output."""
    return site.works(
        ["sh", "-ec", script],
        mode(policyCwd=options.pop("root", directory)),
        cwd=file_uri(directory),
        env=site.git_environment(),
        **options,
    )


@sandbox_test(needs=["git"])
def daily_work_with_git_goes_on(site):
    repository = site.repository("r")
    git_works(
        site,
        """
        echo two >> readme; git add -A; git commit -qm two
        git checkout -q -b side; echo side > side; git add side; git commit -qm side
        git checkout -q main; echo three >> readme; git commit -qam three
        git merge -q --no-edit side; git tag -a v1 -m v1; git branch -d side
        echo dirty >> readme; git stash -q; git stash pop -q; git checkout -q .
        git checkout -q -b topic HEAD~1; echo topic > topic; git add topic; git commit -qm topic
        git rebase -q main; git reset -q --hard HEAD~1; git gc -q; git fsck
        git checkout -q main
        echo x > x; git add x; git rm -q --cached x; rm x; git log --oneline | wc -l; git notes add -m n
        git cherry-pick --abort 2>/dev/null || true; git bisect start; git bisect reset
        git clean -fdx -e '.[ace]*'; git archive HEAD | tar t > /dev/null; git diff HEAD~1 --stat
        """,
        repository,
    )
    equal(site.git(repository, "status", "--porcelain"), "", "git status")
    check("Merge" in site.git(repository, "log", "-1"), "no merge")


@sandbox_test(needs=["git"])
def repositories_can_be_made_below_a_root(site):
    git_works(
        site,
        """
        mkdir sub && cd sub && git init -q -b main . && echo x > f && git add f && git commit -qm x
        git config user.name b; cd ..; git clone -q sub copy && cd copy && git log -1 && git pull -q
        """,
        site.workspace,
    )
    equal(site.litter(), [], "litter")
    equal(site.git(site.inside("copy"), "status", "--porcelain"), "", "status of the copy")


PLANTS = """
for path in hooks/pre-commit hooks/evil config config.worktree info/exclude info/attributes; do
    was=no; test -e $GIT/$path && was=yes
    if (echo evil >> $GIT/$path) 2>/dev/null; then echo wrote $path; fi
    rm -rf $GIT/$path 2>/dev/null
    if test $was = yes && ! test -e $GIT/$path; then echo removed $path; fi
done
mv $GIT $GIT.old 2>/dev/null && echo moved git
mv $GIT/hooks $GIT/h2 2>/dev/null && echo moved hooks
ln -sf /tmp $GIT/hooks/link 2>/dev/null && echo linked
(echo x > new && mv new $GIT/config) 2>/dev/null && echo replaced config
chmod 777 $GIT/config 2>/dev/null && echo changed config
ln $GIT/config alias 2>/dev/null && (echo evil >> alias) 2>/dev/null && echo wrote by alias
git config core.hooksPath /tmp 2>/dev/null && echo configured
echo end
"""


def state_of_git(git):
    """Returns the files of a git directory that git would execute or obey."""
    state = {}
    for name in ("config", "config.worktree", "commondir", "gitdir"):
        path = os.path.join(git, name)
        state[name] = open(path).read() if os.path.exists(path) else None
    hooks = os.path.join(git, "hooks")
    state["hooks"] = sorted(os.listdir(hooks)) if os.path.exists(hooks) else None
    return state


def check_planting(site, sandbox, directory, git, what):
    site.git(directory, "--git-dir", git, "config", "extensions.worktreeConfig", "true")
    before = state_of_git(git)
    ended = site.run(
        "GIT=%s\n%s" % (git, PLANTS), sandbox, cwd=file_uri(directory), env=site.git_environment()
    )
    missed = [denial for denial in ended.exited["denials"] if denial["operation"] == "look"]
    equal((ended.text, missed), ("end\n", []), "what could be planted in " + what)
    equal(state_of_git(git), before, "git's own of " + what)


@sandbox_test(needs=["git"])
def what_git_runs_stays_as_it_is(site):
    repository = site.repository("r")
    nested = site.repository("r/deep/er/nested")
    modules = site.repository("r/node_modules/a/b")
    for form, sandbox in both_forms(repository).items():
        for directory in (repository, nested, modules):
            check_planting(site, sandbox, directory, directory + "/.git", form + " " + directory)


@sandbox_test(needs=["git"])
def a_missing_hooks_directory_cannot_be_made(site):
    repository = site.repository("r")
    shutil.rmtree(repository + "/.git/hooks")
    shutil.rmtree(repository + "/.git/info", ignore_errors=True)
    text = site.run(
        "mkdir -p .git/hooks; echo evil > .git/hooks/pre-commit; mv .git/hooks .git/x; "
        "ln -s /tmp .git/hooks; echo . > .git/commondir; "
        "git commit -q --allow-empty -m two && echo committed",
        mode(policyCwd=repository),
        cwd=file_uri(repository),
        env=site.git_environment(),
    ).text
    check(text.endswith("committed\n"), text)
    hooks = repository + "/.git/hooks"
    check(not os.path.exists(hooks + "/pre-commit") and not os.path.islink(hooks), "planted a hook")
    check(not os.path.exists(repository + "/.git/commondir"), "planted commondir")


@sandbox_test(needs=["git"])
def a_linked_worktree_works_and_is_protected(site):
    main_tree = site.repository("main")
    tree = site.inside("tree")
    site.git(main_tree, "worktree", "add", "-q", tree)
    own = main_tree + "/.git/worktrees/tree"
    before = state_of_git(own)
    sandbox = permissions([READS_ALL, WRITES_WORKSPACE], roots=[site.workspace])
    check_planting(site, sandbox, tree, main_tree + "/.git", "the main repository")
    text = site.run(
        "echo gitdir: /tmp > .git; rm -f .git; mv .git x; echo ../../evil > %s/commondir; "
        "echo /tmp > %s/gitdir; echo x > %s/config.worktree; "
        "echo more > more; git add more && git commit -qm more && echo committed" % (own, own, own),
        sandbox,
        cwd=file_uri(tree),
        env=site.git_environment(),
    ).text
    check(text.endswith("committed\n"), text)
    equal(state_of_git(own), before, "the worktree's own")
    with open(tree + "/.git") as file:
        equal(file.read(), "gitdir: %s\n" % own, ".git of the worktree")
    # With only the worktree as a root, the repository that it belongs to is out of reach.
    sandbox = permissions([READS_ALL, WRITES_WORKSPACE], roots=[tree])
    site.run(
        "echo evil > %s/.git/hooks/pre-commit; echo x >> %s/.git/config" % (main_tree, main_tree),
        sandbox,
        cwd=file_uri(tree),
    )
    check(not os.path.exists(main_tree + "/.git/hooks/pre-commit"), "planted a hook")
    text = site.run(
        "git status --porcelain -uno && git log --oneline | wc -l",
        sandbox,
        cwd=file_uri(tree),
        env=site.git_environment(),
    ).text
    equal(text, "2\n", "status and commits")


@sandbox_test(needs=["git"])
def a_submodule_works_and_is_protected(site):
    library = site.repository("library")
    repository = site.repository("r")
    site.git(
        repository,
        "-c",
        "protocol.file.allow=always",
        "submodule",
        "--quiet",
        "add",
        library,
        "lib",
    )
    site.git(repository, "commit", "-qm", "lib")
    module = repository + "/.git/modules/lib"
    for sandbox in (
        permissions([READS_ALL, WRITES_WORKSPACE], roots=[repository]),
        mode(policyCwd=repository),
    ):
        check_planting(site, sandbox, repository + "/lib", module, "the submodule")
    text = site.run(
        "cd lib && echo x > x && git add x && git commit -qm x && cd .. && git add lib && "
        "git commit -qm moved && git submodule status && echo fine",
        mode(policyCwd=repository),
        cwd=file_uri(repository),
        env=site.git_environment(),
    ).text
    check(text.endswith("fine\n"), text)


@sandbox_test(needs=["git"])
def what_agents_obey_stays_as_it_is(site):
    site.repository("r")
    for name in (".agents", ".codex", ".execward"):
        site.file("r/%s/settings" % name, "mine\n")
    repository = site.inside("r")
    for form, sandbox in both_forms(repository).items():
        text = site.works(
            "for d in .agents .codex .execward; do (echo evil > $d/settings) 2>/dev/null && echo wrote;"
            " (echo evil > $d/new) 2>/dev/null && echo made; rm -rf $d 2>/dev/null && echo removed;"
            " mv $d x 2>/dev/null && echo moved; cat $d/settings; done",
            sandbox,
            cwd=file_uri(repository),
        )
        equal(text, "mine\n" * 3, "with " + form)


@sandbox_test(needs=["git"])
def what_is_said_of_git_itself_counts(site):
    repository = site.repository("r")
    git = repository + "/.git"
    tries_all = (
        tries("commit", "git commit -q --allow-empty -m more")
        + tries("ref", "echo > .git/mark && rm .git/mark")
        + tries("hook", "echo > .git/hooks/mark && rm .git/hooks/mark")
        + tries("config", "git config user.mark x && git config --unset user.mark")
    )
    own = [READS_ALL, WRITES_WORKSPACE]
    for entries, allowed in (
        ([], {"commit", "ref"}),
        ([at(git, "read")], set()),
        ([special("project_roots", "read", ".git", missing_path_behavior="skip")], set()),
        ([at(git, "write")], {"commit", "ref"}),
        ([at(git, "write"), at(git + "/hooks", "write")], {"commit", "ref", "hook"}),
        ([at(git + "/config", "write")], {"commit", "ref", "config"}),
    ):
        text = site.works(
            tries_all,
            permissions(own + entries, roots=[repository]),
            cwd=file_uri(repository),
            env=site.git_environment(),
        )
        got = {name for name, word in outcomes(text).items() if word == "yes"}
        equal(got, allowed, "allowed with %s" % entries)


@sandbox_test
def a_git_directory_that_is_no_repository_is_closed(site):
    os.makedirs(site.inside(".git/hooks"))
    script = tries("hook", "echo > .git/hooks/pre-commit") + tries("any", "echo > .git/HEAD")
    equal(outcomes(site.works(script)), {"hook": "no", "any": "no"}, "in .git")


@sandbox_test
def many_repositories_are_protected_and_what_is_cut_short_is_told(site):
    for number in range(40):
        for name in ("hooks", "objects", "refs"):
            os.makedirs(site.inside("d/%d/.git/%s" % (number, name)))
        site.file("d/%d/.git/HEAD" % number, "ref: refs/heads/main\n")
        site.file("d/%d/.git/config" % number, "[core]\n")
    ended = site.run(
        "for d in d/*; do (echo evil > $d/.git/hooks/evil) 2>/dev/null && echo planted; "
        "(echo evil >> $d/.git/config) 2>/dev/null && echo configured; done; echo end"
    )
    equal(ended.text, "end\n", "what could be planted")
    notes = ended.started.get("notes")
    check(
        notes and all(isinstance(note, str) and " " in note for note in notes), "notes %s" % notes
    )
    check("notes" not in site.started("true", mode(READ_ONLY)), "notes where nothing was cut")


@sandbox_test
def a_tree_deeper_than_a_path_can_name_holds_up_no_start(site):
    make_deep(site.inside("tree"), 1500)
    script = tries("beside", "echo > tree/file") + tries("below", "cd tree/directory && mkdir d")
    ended = site.run(script)
    equal(outcomes(ended.text), {"beside": "yes", "below": "yes"}, "near the root")
    check("as a whole" in " ".join(ended.started.get("notes", ())), "notes %s" % ended.started)
    deep = "/".join(["directory"] * 100)
    equal(outcomes(site.works(tries("deep", "echo > tree/%s/file" % deep))), {"deep": "no"}, "deep")
    subprocess.run(["rm", "-r", site.inside("tree")], check=True)  # too deep for shutil


# The server's option for the sandbox


@sandbox_test
def a_server_can_insist_on_a_sandbox_or_refuse_it(site):
    site.new_server("--process-sandbox=require")
    params = site.server.start_params("p", ["touch", "ran"], cwd=file_uri(site.workspace))
    site.server.refused("process/start", params, -32603, "denied")
    params["sandbox"] = {"mode": "disabled"}
    site.server.refused("process/start", params, -32603, "denied")
    site.works("true")
    site.new_server("--sandbox=forbid")  # its earlier name
    params["sandbox"] = mode()
    site.server.refused("process/start", params, -32603, "sandboxUnavailable")
    check(not os.path.exists(site.inside("ran")), "it ran")


if __name__ == "__main__":
    main()

"""execward doctor: reports what this machine can enforce, found by trials."""

import json
import os
import shlex
import subprocess
import sys

sys.path.insert(0, os.path.abspath(__file__ + "/../../.."))
from support import machines
from support.client import PATH, PATIENCE, check, equal, eventually
from support.runner import main, test

MEMBERS = {
    "rung",
    "isRoot",
    "bubblewrap",
    "init",
    "landlock",
    "mechanisms",
    "guarantees",
    "troubles",
    "policies",
    "policy",
    "isSufficient",
    "milliseconds",
}
GUARANTEES = [
    "fsWrite",
    "fsMetadata",
    "protectedPaths",
    "denyRead",
    "privateTmp",
    "kernelSettings",
    "procHidden",
    "signals",
    "endsTogether",
    "netOff",
    "abstractSockets",
    "socketFiles",
    "namedPipes",
    "systemCalls",
]


def doctor(scene, *arguments, lack=None, env=None):
    os.makedirs(scene.path("home"), exist_ok=True)
    return subprocess.run(
        [scene.command[0], "doctor", *arguments],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        cwd=scene.path("home"),
        preexec_fn=lack,
        env={
            "PATH": PATH,
            "HOME": scene.path("home"),
            "XDG_STATE_HOME": scene.path("state"),
            **(env or {}),
        },
    )


def report(scene, *arguments, **options):
    done = doctor(scene, "--json", *arguments, **options)
    equal(done.stderr, "", "stderr")
    found = json.loads(done.stdout)
    equal(done.returncode, 0 if found["isSufficient"] else 1, "exit status")
    return found


def kept(scene):
    return os.path.exists(scene.path("state/execward/sandbox-trial"))


def policy(found, name, network=False):
    return next(
        one for one in found["policies"] if (one["policy"], one["network"]) == (name, network)
    )


def is_whole(found):
    """Returns True if this machine has everything, so that a test can take something away from it.
    """
    if found["rung"] != "full":
        print("this machine is on rung %s: skipped" % found["rung"])
    return found["rung"] == "full"


@test
def the_report_has_the_documented_members_and_no_others(scene):
    found = report(scene)
    equal(set(found), MEMBERS, "members")
    equal([one["name"] for one in found["guarantees"]], GUARANTEES, "guarantees")
    text = doctor(scene, "--help").stdout
    for member in MEMBERS:
        check("\n  %s " % member in text, "%s is not in --help" % member)


@test
def what_is_kept_is_kept_by_something(scene):
    for one in report(scene)["guarantees"]:
        equal(one["networkOff"], one["meansOff"] != "", "means of " + one["name"])
        equal(bool(one["networkOn"]), one["meansOn"] != "", "means with network of " + one["name"])
        equal(one["networkOn"] is None, one["name"] == "netOff", "null of " + one["name"])


@test
def a_person_sees_each_guarantee_and_what_the_policies_do(scene):
    found, done = report(scene), doctor(scene)
    equal(done.returncode, 0 if found["isSufficient"] else 1, "exit status")
    lines = done.stdout.splitlines()
    verdict = "Commands run" if found["isSufficient"] else "Commands do not run"
    check(lines[0].startswith(verdict) and found["policy"] in lines[0], "first line: " + lines[0])
    check(["rung", found["rung"]] in [line.split() for line in lines], "no line for the rung")
    for name in GUARANTEES:
        check(any(line.split()[:1] == [name] for line in lines), "no line for %s" % name)
    for one in found["policies"]:
        begin = "%s, network %s: " % (one["policy"], "on" if one["network"] else "off")
        line = next((line for line in lines if line.startswith(begin)), "")
        equal(line.endswith("commands run"), one["runs"], "line of %s" % begin)
    for trouble in found["troubles"]:
        check(trouble["advice"] in done.stdout, "no advice for %s" % trouble["mechanism"])


@test
def a_machine_with_everything_is_remembered(scene):
    if not is_whole(report(scene)):
        return
    check(kept(scene), "nothing was kept")
    equal(os.stat(scene.path("state/execward/sandbox-trial")).st_mode & 0o777, 0o600, "mode")
    equal(os.listdir(scene.path("state/execward")), ["sandbox-trial"], "files in the state")


@test
def what_was_kept_goes_when_something_is_missing_now(scene):
    if not is_whole(report(scene)):
        return
    found = report(scene, lack=machines.without_landlock)
    equal(found["landlock"], 0, "landlock")
    check(not kept(scene), "the old finding is still there")


def trials(bases):
    return {
        os.path.join(base, name)
        for base in bases
        for name in os.listdir(base)
        if name.startswith("execward-trial-")
    }


@test
def nothing_is_left_behind(scene):
    os.mkdir(scene.path("tmp"))
    bases = ("/tmp", "/var/tmp", scene.path("tmp"))
    env = {"TMPDIR": scene.path("tmp")}
    before = trials(bases)
    for lack in (None, machines.without_user_namespaces, machines.without_both):
        report(scene, env=env, lack=lack)
    # Trials of other tests may run now; they end.
    made = trials(bases) - before
    eventually(lambda: not any(map(os.path.exists, made)), "the end of %s" % made)
    equal(os.listdir(scene.path("home")), [], "files in the home")


@test
def the_exit_status_is_about_the_policy_that_is_asked_for(scene):
    lack = machines.without_both
    equal(report(scene, lack=lack)["isSufficient"], False, "workspace-write")
    found = report(scene, "--sandbox=read-only", lack=lack)
    equal((found["policy"], found["isSufficient"]), ("read-only", False), "read-only")
    found = report(scene, "--policy=read-only", lack=lack)
    equal(found["policy"], "read-only", "by the earlier name of the option")
    found = report(scene, "--sandbox=danger-full-access", lack=lack)
    equal(found["isSufficient"], True, "danger-full-access")


@test
def each_missing_guarantee_is_named_for_the_policies(scene):
    if not is_whole(report(scene)):
        return
    found = report(scene, lack=machines.without_user_namespaces)
    equal(found["rung"], "landlock", "rung")
    for name in ("workspace-write", "read-only"):
        one = policy(found, name)
        equal(one["runs"], False, "runs")
        check("fsMetadata" in one["missing"], one)
    mechanisms = [trouble["mechanism"] for trouble in found["troubles"]]
    equal(mechanisms, ["user namespaces"], "troubles")
    check(found["troubles"][0]["advice"], "no advice")


@test
def wrong_usage_is_status_2_and_explained(scene):
    for arguments in (["--sandbox=castle"], ["--policy=castle"], ["--no-such-flag"], ["now"], ["--sandbox"]):
        done = doctor(scene, *arguments)
        equal(done.returncode, 2, "exit status of %s" % arguments)
        equal(done.stdout, "", "output of %s" % arguments)
        lines = done.stderr.splitlines()
        check(all(line.startswith("execward: ") for line in lines), lines)
        check("execward doctor --help" in lines[-1], lines)


@test
def streams_that_are_closed_change_nothing(scene):
    before = report(scene)
    script = "%s doctor --json <&- 2>&-" % shlex.quote(scene.command[0])
    done = subprocess.run(
        ["/bin/sh", "-c", script],
        stdout=subprocess.PIPE,
        timeout=PATIENCE,
        cwd=scene.path("home"),
        env={"PATH": PATH, "HOME": scene.path("home"), "XDG_STATE_HOME": scene.path("state")},
    )
    equal(json.loads(done.stdout)["guarantees"], before["guarantees"], "guarantees")


@test
def a_home_that_does_not_exist_is_not_made(scene):
    env = {"HOME": scene.path("no", "home"), "XDG_STATE_HOME": ""}
    equal(doctor(scene, env=env).stderr, "", "stderr")
    check(not os.path.lexists(scene.path("no")), "it was made")


@test
def help_is_answered_on_stdout(scene):
    for flag in ("--help", "-h"):
        done = doctor(scene, flag)
        equal((done.returncode, done.stderr), (0, ""), "status and stderr")
        check(done.stdout.startswith("Usage: execward doctor"), done.stdout)


if __name__ == "__main__":
    main()

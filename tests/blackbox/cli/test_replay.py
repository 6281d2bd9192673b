"""execward replay: a recording is shown, and played only if somebody says so."""

import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.abspath(__file__ + "/../../.."))
from support.client import PATIENCE, SERVER_MARK, check, equal
from support.runner import main, test

HANDSHAKE = [
    '> {"id":1,"method":"initialize","params":{"clientName":"test",'
    '"capabilities":{"approvals":true}}}',
    '< {"id":1,"result":{...}}',
    '> {"method":"initialized"}',
]


def replay(scene, *arguments):
    return subprocess.run(
        [scene.command[0], "replay", *arguments],
        cwd=scene.directory,
        env={
            "HOME": scene.directory,
            "PATH": os.environ["PATH"],
            "XDG_STATE_HOME": scene.path("state"),
            "XDG_CONFIG_HOME": scene.path("config"),
            SERVER_MARK: scene.mark,
        },
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )


def victim(scene):
    os.makedirs(scene.path("victim", "below"), exist_ok=True)
    return scene.path("victim")


def recording(scene, *lines):
    return scene.file("session.transcript", "\n".join(lines) + "\n")


def start(scene):
    """Lines that remove the victim without a question."""
    params = {
        "processId": "p",
        "argv": ["rm", "-rf", victim(scene)],
        "cwd": scene.directory,
        "env": {},
        "tty": False,
    }
    message = {"id": 2, "method": "process/start", "params": params}
    return [
        "> " + json.dumps(message),
        '< {"id":2,"result":{...}}',
        '< {"method":"process/exited","params":{"processId":"p","exitCode":0,...}}',
        '< {"method":"process/closed","params":{"processId":"p",...}}',
    ]


def question(scene, answer):
    """Lines with a question about the removal, an answer to it, and what comes after it."""
    params = {
        "command": "rm -rf " + victim(scene),
        "sandboxPermissions": "requireEscalated",
        "justification": "test",
    }
    return [
        "> " + json.dumps({"id": 2, "method": "exec/command", "params": params}),
        '< {"id":"$question","method":"approval/request","params":{"callId":"2",...}}',
        '> {"id":"$question","result":%s}' % json.dumps(answer),
    ]


def event_lines(*names):
    more = {"outputDelta": '"stream":"stdout",'}
    return [
        '< {"method":"exec/%s","params":{"callId":"2",%s...}}' % (name, more.get(name, ""))
        for name in names
    ]


DENIED = '< {"id":2,"error":{"data":{"kind":"denied",...},...}}'


@test
def a_recording_is_shown_and_starts_nothing(scene):
    file = recording(scene, "# A scene.", "# +2.0 ms", *HANDSHAKE, *start(scene))

    shown = replay(scene, file)

    equal((shown.returncode, shown.stderr), (0, ""), "status and stderr")
    check("# A scene.\n" in shown.stdout, shown.stdout)
    check("+2.0 ms  client  initialize (1): clientName: test" in shown.stdout, shown.stdout)
    check("client  process/start (2): argv: rm -rf " in shown.stdout, shown.stdout)
    check(os.path.isdir(scene.path("victim", "below")), "the recording was played")
    check(not os.path.exists(scene.path("state")), "a database was made")


@test
def what_is_for_playing_needs_run(scene):
    file = recording(scene, *HANDSHAKE, *start(scene))

    for arguments in (["--trust-recording", file], ["--timeout=3", file], [file, "--", "true"]):
        refused = replay(scene, *arguments)
        equal(refused.returncode, 2, "status of %s" % arguments)
        check("--run" in refused.stderr, refused.stderr)

    check(os.path.isdir(scene.path("victim")), "the recording was played")


@test
def a_recording_that_acts_by_itself_is_not_played_without_trust(scene):
    options = ["! options --sandbox=danger-full-access"]
    for lines in ([*HANDSHAKE, *start(scene)], [*options, *HANDSHAKE]):
        refused = replay(scene, "--run", recording(scene, *lines))

        equal((refused.returncode, refused.stdout), (1, ""), "status and stdout")
        check("only --trust-recording plays it" in refused.stderr, refused.stderr)
        check("session.transcript:" in refused.stderr, refused.stderr)

    check(os.path.isdir(scene.path("victim")), "the recording was played")


@test
def recorded_approvals_are_given_only_with_trust(scene):
    lines = [*HANDSHAKE, *question(scene, {"decision": "approved"}), DENIED, "! eof", "! exit 0"]
    file = recording(scene, *lines)

    played = replay(scene, "--run", file)

    equal((played.returncode, played.stdout), (0, ""), "status (%s)" % played.stderr)
    check("answers questions with denied" in played.stderr, played.stderr)
    check(os.path.isdir(scene.path("victim")), "the recorded approval counted")

    ran = [*event_lines("attempt", "begin", "end"), '< {"id":2,"result":{"exitCode":0,...}}']
    file = recording(scene, *lines[:-3], *ran, "! eof", "! exit 0")
    trusted = replay(scene, "--run", "--trust-recording", file)

    equal(trusted.returncode, 0, "status (%s)" % trusted.stderr)
    check("gives the recorded answers" in trusted.stderr, trusted.stderr)
    check(not os.path.exists(scene.path("victim")), "the recorded approval did not count")


@test
def a_server_starts_in_an_empty_directory_of_its_own(scene):
    command = {"id": 2, "method": "exec/command", "params": {"command": "ls -a ."}}
    answer = '< {"id":2,"result":{"output":".\\n..\\n","exitCode":0,...}}'
    events = event_lines("attempt", "begin", "outputDelta", "end")
    file = recording(scene, *HANDSHAKE, "> " + json.dumps(command), *events, answer)

    played = replay(scene, "--run", file)

    equal(played.returncode, 0, "status (%s)" % played.stderr)
    check(not os.path.exists(scene.path("state")), "the person's own database was used")


@test
def a_file_that_is_no_recording_is_an_error(scene):
    equal(replay(scene, scene.path("absent")).returncode, 1, "status for no file")
    broken = replay(scene, recording(scene, "hello"))
    equal((broken.returncode, broken.stdout), (1, ""), "status and stdout for another file")
    check("session.transcript:1: a line begins with" in broken.stderr, broken.stderr)


if __name__ == "__main__":
    main()

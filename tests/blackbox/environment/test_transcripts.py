"""The transcripts of exec/command, played against a server whose commands run in an environment.

A client cannot see where its commands run, apart from DIFFERENCES. Behind the environment is another
execward, or Codex's exec-server if this machine has Codex: EXECWARD_CODEX names it, or it is in the
PATH.
"""

import glob
import json
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.abspath(__file__ + "/../../.."))
from support.client import PATIENCE, REPOSITORY, SERVER_MARK, check, equal
from support.codex_server import Codex, find_codex
from support.exec import Home
from support.peer import Execward
from support.runner import LIMIT, main, test

TRANSCRIPTS = os.path.join(REPOSITORY, "tests/transcripts")
# Records the messages to the other side. Arguments: file, server command
RELAY = ["sh", "-c", 'file=$1; shift; tee -a "$file" | "$@"', "relay"]


# Edits of a transcript


def replaces(here, there):
    return lambda text: changed(text, re.escape(here), lambda _: there)


def adds(part, line):
    """Adds the line after the one that contains the part."""
    return lambda text: changed(text, ".*%s.*\n" % re.escape(part), lambda m: m[0] + line + "\n")


def without(*parts):
    """Removes the lines that contain one of the parts."""
    pattern = "|".join(".*%s.*\n" % re.escape(part) for part in parts)
    return lambda text: changed(text, pattern, lambda _: "")


def changed(text, pattern, change):
    check(re.search(pattern, text), "not in the transcript: " + pattern)
    return re.sub(pattern, change, text)


def asks(call_id):
    """Adds a question about this call, which a person approves."""
    call = '"callId":%s' % json.dumps(call_id)
    name = json.dumps("$asked" + call_id)
    question = '< {"id":%s,"method":"approval/request","params":{%s,...}}\n' % (name, call)
    question += '> {"id":%s,"result":{"decision":"approved"}}\n' % name
    attempt = r'(.*exec/attempt.*%s.*"reason":)"[^"]*"' % call
    begin = r'(.*exec/begin.*%s.*"decidedBy":)"[^"]*"' % call

    def edit(text):
        text = changed(text, attempt, lambda m: question + m[1] + '"approved"')
        return changed(text, begin, lambda m: m[1] + '"client"')

    return edit


def knows_nothing_harmless(text):
    """Only programs of this machine can be known to be harmless; in an environment they are like
    all others.
    """
    if '"approvalPolicy":"untrusted"' not in text:
        return text.replace('"safe list"', '"policy"')
    for call_id in re.findall(r'exec/attempt.*"callId":"(\w+)".*"reason":"safe list"', text):
        text = asks(call_id)(text)
    return text


FIRST_WORDS = "what may begin with some words is allowed for programs of this machine"
NOT_WIDENED = "what was refused there cannot be looked at here, so no widening is offered"
ABOUT_DENIALS = "Codex does not tell what its sandbox refused, so no retry is asked about"
NETWORK = '{"kind":"network","operation":"connect","target":"192.0.2.1:9",'
ATTEMPT = '< {"method":"exec/attempt","params":{"callId":"%s","n":1,...}}'

# By transcript: the reason of the difference, and the edits.
DIFFERENCES = {
    "approvals_grant": (FIRST_WORDS, asks("4"), replaces('"uses":1', '"uses":0')),
    "exec_approve": (
        "a program is looked up there, and shown as it was written",
        replaces('"program*":"/mkdir"', '"program":"mkdir"'),
    ),
    "exec_events": (
        "a script is not taken apart, for which shell reads it is not known",
        replaces(
            '[["printf","out"],["printf","err"],["exit","3"]]',
            '[["sh","-c","printf out; printf err >&2; exit 3"]]',
        ),
    ),
    "exec_prefix_rule": (
        FIRST_WORDS,
        replaces('"proposedPrefixRule":["mkdir","-p"],', ""),
        replaces('"approvedWithPrefixRule","scope":"session"', '"approved"'),
        asks("3"),
        replaces('"rule":"grant 1",', ""),
        replaces("`mkdir f` is not known", "not taken apart"),
    ),
    "exec_resume": (
        "the workspace of an approval is one of this machine",
        replaces('"scope":"workspace"', '"scope":"directory"'),
    ),
    "exec_retry": (
        NOT_WIDENED,
        replaces(
            '"decision":"approvedWidened","description*":"in the sandbox",'
            '"widening":{"read":[],"write":[],"network":true}',
            '"decision":"approved",...',
        ),
    ),
    "exec_start_failure": (
        "that something is not there is known once it has been tried",
        adds('"id":2,"method"', ATTEMPT % 2),
        adds('"id":3,"method"', ATTEMPT % 3),
    ),
    "exec_without_approvals": (
        "nothing is known to be harmless there",
        without('"callId":"3"'),
        adds('"id":3,"method"', '< {"id":3,"error":{"data":{"kind":"denied",...},...}}'),
    ),
}
# The same, for Codex's exec-server alone.
CODEX_DIFFERENCES = {
    "exec_ctrl_c_pipe": ("Codex names no signals", replaces(',"signal":"SIGINT"', "")),
    "exec_ctrl_c_tty": (
        "of a terminal's program that a signal ended Codex says that it exited with 1",
        replaces(',"signal":"SIGINT"', ""),
        replaces('"exitCode":130', '"exitCode":1'),
    ),
    "exec_needs_sandbox": (
        ABOUT_DENIALS,
        replaces('"denials":[%s...}],"denialCount":1' % NETWORK, '"denials":[]'),
    ),
    "exec_retry_denied": (
        ABOUT_DENIALS,
        without("$retry"),
        replaces('"denials":[{"kind":"network","target":"192.0.2.1:9",...}],"denialCount":1,', ""),
    ),
    "exec_start_failure": (
        "Codex does not say that it is the directory that it could not find",
        replaces('"path":"workdir","message*":"/nowhere",', ""),
    ),
    "exec_stdin": (
        "Codex cannot end the input of a program",
        without("exec/attempt", "exec/begin", "exec/outputDelta", "exec/end"),
        replaces(
            '"callId":"2","state":"completed","output":"apple\\npear\\n","exitCode":0,',
            '"state":"failed","failure":{"kind":"environmentUnavailable",...},',
        ),
    ),
}
# Transcripts that are not played in an environment, and the reasons.
LEFT_OUT = {
    "network_question": "nobody is asked about the hosts of a command there",
    "exec_password": "whether a program there waits for input cannot be looked at here",
    "environment_list": "it is about a server without environments",
    "exec_prefix_rule_always": FIRST_WORDS,
    "exec_retry_widened": NOT_WIDENED,
}
CODEX_LEFT_OUT = {"exec_retry": ABOUT_DENIALS}


# Playing them


def transcripts():
    """Yields the names of transcripts with commands. Patches are applied on this machine."""
    for path in sorted(glob.glob(os.path.join(TRANSCRIPTS, "*.transcript"))):
        name = os.path.basename(path).removesuffix(".transcript")
        with open(path) as file:
            if '"method":"exec/' in file.read() and not name.startswith("patch_"):
                yield name


def text_there(name, directory, *tables):
    """Returns the transcript with a directory of ours, and with the differences of the environment.
    """
    with open(os.path.join(TRANSCRIPTS, name + ".transcript")) as file:
        text = file.read()
    for table in tables:
        for edit in table.get(name, ())[1:]:
            text = edit(text)
    text = knows_nothing_harmless(text)
    return re.sub(r'"\$dir(?=["/])', json.dumps(directory)[:-1], text)


def play(scene, name, kind, *tables):
    directory = os.path.realpath(scene.path("workspace"))
    os.mkdir(directory)
    text, sent = text_there(name, directory, *tables), scene.path("sent")
    there = kind(scene, "there", relay=[*RELAY, sent], workspace_roots=[directory])
    home = Home(scene)
    home.config('default_environment = "there"\n' + there.config())
    # The player sets a home for the server, but not one with environments.
    words = ["env", *("%s=%s" % pair for pair in home.environment().items()), *scene.command]
    flags = ["--run", "--trust-recording", "--timeout=%d" % PATIENCE]
    variables = {k: v for k, v in os.environ.items() if not k.startswith("EXECWARD_")}
    played = subprocess.run(
        [scene.command[0], "replay", *flags, scene.file(name + ".transcript", text), "--", *words],
        env={**variables, SERVER_MARK: scene.mark},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=LIMIT,
    )
    check(played.returncode == 0, played.stderr)
    # The commands ran in the environment: it got each start that was reported, and each that
    # failed.
    told = text.count('"exec/begin"') + text.count('"kind":"spawn')
    equal(starts_in(sent), told, "starts there")


def starts_in(path):
    if not os.path.exists(path):
        return 0
    with open(path) as file:
        return sum(json.loads(line).get("method") == "process/start" for line in file)


def add(name, place, kind, left_out, *tables):
    def one(scene):
        play(scene, name, kind, *tables)

    one.__name__ = "%s_%s" % (name, place)
    if name in left_out:
        print("SKIP %s: %s" % (one.__name__, left_out[name]))
    else:
        test(one)


for transcript in transcripts():
    add(transcript, "execward", Execward, LEFT_OUT, DIFFERENCES)
if find_codex():
    for transcript in transcripts():
        left_out = {**LEFT_OUT, **CODEX_LEFT_OUT}
        add(transcript, "codex", Codex, left_out, DIFFERENCES, CODEX_DIFFERENCES)
else:
    print("SKIP the same with Codex: no codex on this machine")
main()

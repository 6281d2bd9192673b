"""Every tool in every version of the protocol, every kind of client, and the scenes of
exec/command through a tool: what a program says and how it ends must not depend on the way.
"""

import os
import sys

sys.path.insert(0, os.path.abspath(__file__ + "/../../.."))
from support.client import check, equal
from support.exec import Home, exec_server
from support.mcp import ACCEPT, ASKS, MODERN, NO_TOUCH, McpClient
from support.runner import main, test

VERSIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", MODERN)
DECLINE, DISMISS = {"action": "decline"}, {"action": "cancel"}
PATCH = "*** Begin Patch\n*** Add File: new.txt\n+line\n*** End Patch\n"


@test
def every_tool_works_in_every_version(scene):
    for version in VERSIONS:
        client = McpClient(scene, era=version)
        started = client.call(
            "run_command", command="echo ready; read a; echo got $a; read b", tty=True,
            until_text="ready",
        )
        process = started["id"]
        equal((started["state"], started["ended_by"]), ("running", "pattern"), "start in " + version)
        told = client.call("send_input", id=process, text="it\n", wait_ms=0)
        told = client.call("wait", id=process, until_text="got it", from_start=True)
        equal(told["match"]["text"], "got it", "wait in " + version)
        page = client.call("read_output", id=process, after=0)
        check("got it" in page["output"], "read_output in %s: %s" % (version, page))
        rows = client.call("list_processes")["processes"]
        equal([(row["id"], row["state"]) for row in rows], [(process, "running")], "list_processes")
        told = client.call("stop_process", id=process, grace_ms=0)
        equal(told["state"], "completed", "stop_process in " + version)
        told = client.call("apply_patch", patch=PATCH)
        equal(told["changed_files"][0]["path"], client.home.project + "/new.txt", "apply_patch")
        told = client.call("check_command", command="ls")
        equal(told["decision"], "allow", "check_command in " + version)
        client.end()


def asked(client, answer):
    """Calls a tool about which a person is asked. Returns the result after this answer."""
    client.answer = answer
    arguments = {"command": "touch made"}
    message = client.wait(client.call_later("run_command", **arguments))
    if client.era == MODERN and client.capabilities:
        question = message["result"]
        equal(question["resultType"], "input_required", "resultType")
        params = {
            "name": "run_command", "arguments": arguments,
            "inputResponses": {"consent": answer}, "requestState": question["requestState"],
        }
        message = client.wait(client.request("tools/call", params))
    return client.told(message, "run_command")


@test
def every_kind_of_client_is_served_in_every_version(scene):
    for version in VERSIONS:
        home = Home(scene, "home-" + version)
        home.rules(NO_TOUCH)
        client = McpClient(scene, era=version, home=home, capabilities=ASKS)
        for answer, word in ((DECLINE, "declined"), (DISMISS, "dismissed")):
            told = asked(client, answer)
            equal(told["state"], "not_run", "state in " + version)
            check(word in told["reason"] and "human_command" not in told, "%s: %s" % (version, told))
        check(not os.path.exists(home.project + "/made"), "it ran in " + version)
        equal(asked(client, ACCEPT)["state"], "completed", "state in " + version)
        os.unlink(home.project + "/made")
        client.end()
        unable = McpClient(scene, era=version, home=home)
        told = asked(unable, None)
        equal(told["state"], "not_run", "state of a client that cannot ask, in " + version)
        check(told["human_command"].startswith("execward approvals grant"), told)
        unable.end()


@test
def a_client_that_gives_up_leaves_no_question_behind(scene):
    for version in VERSIONS[:-1]:
        home = Home(scene, "home-" + version)
        home.rules(NO_TOUCH)
        client = McpClient(scene, era=version, home=home, capabilities=ASKS)
        call = client.call_later("run_command", command="touch made")
        client.until(lambda: client.elicited, "a question")
        client.notify("notifications/cancelled", {"requestId": call, "reason": "Request timed out"})
        client.send({"id": client.elicited[0]["id"], "result": ACCEPT})
        equal(client.call("run_command", command="echo on")["output"], "on\n", "the next command")
        check(call not in client.answers, "a cancelled call was answered in " + version)
        check(not os.path.exists(home.project + "/made"), "it ran in " + version)
        client.end()


# A script or an argv, and members that both ways have. None writes to both of its outputs: their order would be
# chance.
SCENES = (
    ("echo out; exit 7", {}),
    ("echo err >&2; exit 7", {}),
    ("printf 'caf\\303\\251 \\342\\202\\254\\n'", {}),
    (["cat"], {"stdin": "first\nsecond"}),
    (["printf", "%s|", "a b", "$HOME", "*"], {}),
    ("kill -TERM $$", {}),
    ("cat no-such-file 2>&1; echo $?", {}),
    ("cd /; pwd; cd - >/dev/null; pwd", {}),
    ("test -t 0 && test -t 1 && echo terminal", {"tty": True}),
    ("read line; echo $?", {}),
    ("(sleep 0.2; echo late) & wait; echo end", {}),
    ("set -- a b; for x; do echo $x; done | sort -r", {}),
    (["/no/such/program"], {}),
    ("exit 255", {}),
)


@test
def the_scenes_of_exec_command_are_the_same_through_a_tool(scene):
    home = Home(scene)
    server = exec_server(scene, home=home, sandbox=None)
    expected = [server.exec(what, **members) for what, members in SCENES]
    for version in (VERSIONS[0], MODERN):
        client = McpClient(scene, era=version, home=home)
        for (what, members), wanted in zip(SCENES, expected):
            name = "command" if isinstance(what, str) else "argv"
            told = client.call("run_command", **{name: what}, **members)
            has_failed = wanted["state"] == "failed"
            output = told["reason"] if has_failed else told["output"]
            check(wanted["output"].replace("\r\n", "\n").rstrip() in (output, output.rstrip()),
                  "output of %r in %s: %r" % (what, version, output))
            for member, value in (
                ("state", wanted["state"]), ("signal", wanted.get("signal")),
                ("exit_code", None if has_failed else wanted.get("exitCode")),
            ):
                equal(told.get(member), value, "%s of %r in %s" % (member, what, version))
        client.end()


if __name__ == "__main__":
    main()

"""Consent in execward mcp: each kind of client, and what a person's answer does."""

import os
import re
import shlex
import sys

sys.path.insert(0, os.path.abspath(__file__ + "/../../.."))
from support.client import check, equal
from support.exec import Home
from support.mcp import ACCEPT, ASKS, LEGACY, MODERN, NO_TOUCH, McpClient
from support.runner import main, test

DECLINE = {"action": "decline"}
DISMISS = {"action": "cancel"}
COMMAND = "touch made"


def asking(scene, *flags, **options):
    """A client whose `touch` is a question."""
    home = options.pop("home", None) or Home(scene)
    home.rules(NO_TOUCH)
    capabilities = options.pop("capabilities", ASKS)
    return McpClient(scene, *flags, home=home, capabilities=capabilities, **options)


def made(client):
    return os.path.exists(client.home.project + "/made")


def question_of(client, **arguments):
    """Makes a modern call that ends in a question. Returns its result."""
    arguments = {"command": COMMAND, **arguments}
    result = client.wait(client.call_later("run_command", **arguments))["result"]
    equal(result.get("resultType"), "input_required", "resultType of %s" % result)
    check("structuredContent" not in result, "a question with a result")
    return result


def retry(client, question, answer, state=None, **arguments):
    """Calls again with the answer of a person. Returns the message."""
    params = {
        "name": "run_command",
        "arguments": {"command": COMMAND, **arguments},
        "inputResponses": {"consent": answer},
        "requestState": state or question["requestState"],
    }
    return client.wait(client.request("tools/call", params))


@test
def an_accepted_command_runs_and_the_audit_has_the_answer(scene):
    for era in ("2025-06-18", LEGACY):
        client = asking(scene, era=era, answer=ACCEPT)
        told = client.call("run_command", command=COMMAND, reason="for the test")
        equal((told["state"], told["exit_code"]), ("completed", 0), "the result")
        check(made(client), "it did not run")
        params = client.elicited[0]["params"]
        for part in (COMMAND, client.home.project, "for the test"):
            check(part in params["message"], "%r is not in %r" % (part, params["message"]))
        decision = params["requestedSchema"]["properties"]["decision"]
        if era == LEGACY:
            values = [entry["const"] for entry in decision["oneOf"]]
            titles = [entry["title"] for entry in decision["oneOf"]]
        else:
            values, titles = decision["enum"], decision["enumNames"]
        check({"approved", "denied"} <= set(values), "choices %s" % values)
        check(all(titles) and len(titles) == len(values), "titles %s" % titles)
        client.end()
        rows = [row for row in client.home.audit() if row["event"] == "decision"]
        equal(rows[-1]["decision"], "approved", "the decision in the audit")
        os.unlink(client.home.project + "/made")


@test
def declined_and_dismissed_commands_do_not_run_and_say_which(scene):
    for answer, reason in (
        (DECLINE, "declined"),
        (DISMISS, "dismissed"),
        ({"action": "accept", "content": {"decision": "no such"}}, "not among"),
        ({"action": "accept"}, "not among"),
        ({"strange": 1}, "could not ask"),
    ):
        client = asking(scene, answer=answer)
        told = client.call("run_command", command=COMMAND)
        equal(told["state"], "not_run", "state after %s" % answer)
        check(reason in told["reason"], "reason %r after %s" % (told["reason"], answer))
        check("human_command" not in told, "a way around the person")
        check(not made(client), "it ran")
        equal(client.call("run_command", command="echo on")["output"], "on\n", "the next command")
        client.end()


@test
def an_approval_is_remembered_for_all_clients_of_the_user(scene):
    home = Home(scene)
    answer = {"action": "accept", "content": {"decision": "approvedForSession_project"}}
    asking(scene, home=home, answer=answer).call("run_command", command=COMMAND)
    other = asking(scene, home=home, answer=DECLINE)
    equal(other.call("run_command", command=COMMAND)["state"], "completed", "the second time")
    equal(other.elicited, [], "questions of the second client")
    modern = asking(scene, home=home, era=MODERN, capabilities={})
    equal(modern.call("run_command", command=COMMAND)["state"], "completed", "the third time")


def human(home, command, *more):
    words = command.split()
    equal(words[0], "execward", "the program to type")
    return home.cli(*words[1:], *more)


@test
def a_client_that_cannot_ask_tells_what_the_person_can_type(scene):
    for era, capabilities in ((LEGACY, {}), (MODERN, {}), (LEGACY, {"elicitation": {"url": {}}})):
        client = asking(scene, era=era, capabilities=capabilities)
        script = "touch made; echo 'done now'"
        told = client.call("run_command", command=script)
        equal(told["state"], "not_run", "state")
        check(not made(client), "it ran")
        equal(client.elicited, [], "questions")
        listed = client.home.good_cli("approvals", "list")
        check("could not be asked: " in listed and "touch made" in listed, listed)
        check("  question  " in listed and "  approval  " not in listed, listed)
        done = human(client.home, told["human_command"])
        check(done.returncode == 1 and "--yes" in done.stderr, "without a terminal: %s" % done)
        done = human(client.home, told["human_command"], "--yes")
        equal(done.returncode, 0, "granting: %s" % done.stderr)
        check("touch made" in done.stderr, "the command is not shown: %r" % done.stderr)
        check("from now on until you withdraw it" in done.stderr, "for how long: %r" % done.stderr)
        told = client.call("run_command", command=script)
        equal((told["state"], told["output"]), ("completed", "done now\n"), "the second time")
        told = client.call("run_command", command=script + " ")
        equal(told["state"], "not_run", "another command")
        client.home.good_cli("approvals", "revoke", "--all")
        os.unlink(client.home.project + "/made")
        client.end()


@test
def what_a_kept_question_would_not_show_is_not_kept(scene):
    client = asking(scene, capabilities={})
    told = client.call("run_command", argv=["touch", "made"], stdin="text")
    equal(told["state"], "not_run", "state")
    check("human_command" not in told, "its input would not be shown: %s" % told)
    told = client.call("run_command", argv=["touch", "a b"], reason="Only: ls")
    done = human(client.home, told["human_command"])
    check("touch 'a b'" in done.stderr, "the words are not quoted: %r" % done.stderr)
    check("Only: ls" not in done.stderr, "the reason of the agent is shown: %r" % done.stderr)


@test
def a_confined_command_cannot_grant_itself_anything(scene):
    home = Home(scene)
    client = asking(scene, home=home, capabilities={})
    client.end()
    client = McpClient(scene, "--workspace", home.path, home=home)
    told = client.call("run_command", command=COMMAND)
    words = told["human_command"].replace("execward", client.child.args[0], 1)
    tried = client.call("run_command", command=words + " --yes")
    check(tried.get("exit_code") != 0, "it granted itself: %s" % tried)
    tried = client.call("run_command", command="echo x >> config/execward/rules.d/own.toml")
    check(tried.get("exit_code") != 0, "it changed the rules: %s" % tried)
    equal(client.call("run_command", command=COMMAND)["state"], "not_run", "state")


@test
def more_permissions_are_a_question_and_never_a_right(scene):
    client = McpClient(scene, capabilities=ASKS, answer=DECLINE)
    told = client.call("run_command", command="echo x", network=True, write_paths=["/usr/share"])
    equal(told["state"], "not_run", "state")
    message = client.elicited[0]["params"]["message"]
    check("network" in message and "/usr/share" in message, message)
    unable = McpClient(scene)
    told = unable.call("run_command", command="echo x", network=True)
    equal(told["state"], "not_run", "state at a client that cannot ask")
    equal(human(unable.home, told["human_command"], "--yes").returncode, 0, "granting")
    equal(unable.call("run_command", command="echo x", network=True)["output"], "x\n", "then")
    told = unable.call("run_command", command="echo x", write_paths=["/usr/share"])
    equal(told["state"], "not_run", "other permissions")


@test
def what_is_asked_for_comes_before_the_words_of_the_agent(scene):
    client = McpClient(scene, capabilities=ASKS, answer=DECLINE)
    reason = "harmless " * 7000
    client.call("run_command", argv=["cat"], network=True, reason=reason, stdin="x" * 100000)
    message = client.elicited[0]["params"]["message"]
    check(0 < message.index("network") < message.index("harmless"), message[:400])
    check("are not shown here" in message and len(message) < 8000, "%d characters" % len(message))


@test
def the_command_for_a_person_names_the_database(scene):
    home = Home(scene)
    for name, expected in (("other dir/own.db", True), (":memory:", False)):
        path = name if name.startswith(":") else scene.path(name)
        client = asking(scene, "--database", path, home=home, capabilities={})
        told = client.call("run_command", command=COMMAND)
        equal("human_command" in told, expected, "a command for %s" % name)
        if expected:
            words = shlex.split(told["human_command"])
            equal(home.cli(*words[1:], "--yes").returncode, 0, "granting")
            equal(client.call("run_command", command=COMMAND)["state"], "completed", "then")
        client.end()


@test
def a_question_shows_what_cannot_be_seen(scene):
    client = asking(scene, answer=DECLINE)
    client.call("run_command", command="touch a\u200b\u202eb \x1b[2K", reason="line\nDecision: ok")
    message = client.elicited[0]["params"]["message"]
    check("\\u{200b}" in message and "\\u{202e}" in message and "\\x1b" in message, message)
    check("WARNING" in message, message)
    check("line\\nDecision: ok" in message, message)


@test
def a_patch_outside_the_workspace_asks_with_its_lines(scene):
    os.makedirs(scene.path("outside"))
    path = os.path.realpath(scene.path("outside")) + "/new.txt"
    patch = "*** Begin Patch\n*** Add File: %s\n+a line of it\n*** End Patch\n" % path
    client = McpClient(scene, capabilities=ASKS, answer=DECLINE)
    told = client.call("apply_patch", patch=patch)
    if client.elicited:
        check("a line of it" in client.elicited[0]["params"]["message"], "no lines in the question")
    equal(told["state"], "not_run", "state")
    check(not os.path.exists(path), "it was written")


# The modern era


@test
def a_modern_client_comes_back_with_the_answer(scene):
    client = asking(scene, era=MODERN)
    question = question_of(client)
    request = question["inputRequests"]["consent"]
    equal(request["method"], "elicitation/create", "method")
    check(COMMAND in request["params"]["message"], "no command in the question")
    check(not made(client), "it ran before the answer")
    told = client.told(retry(client, question, ACCEPT), "run_command")
    equal(told["state"], "completed", "state")
    check(made(client), "it did not run")
    check(not any("id" in m and "method" in m for m in client.messages), "a request to the client")


@test
def each_call_has_an_answer_of_its_own(scene):
    client = asking(scene, era=MODERN)
    first, second = question_of(client), question_of(client)
    equal(client.told(retry(client, first, ACCEPT), "run_command")["state"], "completed", "first")
    equal(client.told(retry(client, second, DECLINE), "run_command")["state"], "not_run", "second")


@test
def a_state_counts_once_and_only_for_its_call(scene):
    client = asking(scene, era=MODERN)
    question = question_of(client)
    state = question["requestState"]
    forged = state[:-1] + ("0" if state[-1] != "0" else "1")
    for answer in (
        retry(client, question, ACCEPT, state=forged),
        retry(client, question, ACCEPT, state="x"),
        retry(client, question, ACCEPT, state="0" * 64 + ".99999999999999.execward-1"),
        retry(client, question, ACCEPT, command="touch made; echo more"),
        retry(client, question, ACCEPT, timeout_ms=1),
    ):
        equal(answer["error"]["code"], -32602, "code of %s" % answer)
    check(not made(client), "it ran")
    equal(client.told(retry(client, question, DECLINE), "run_command")["state"], "not_run", "state")
    again = client.told(retry(client, question, ACCEPT), "run_command")
    equal(again["state"], "not_run", "the second use")
    check("declined" in again["reason"], "the second use: %s" % again)
    check(not made(client), "it ran after a denial")
    other = asking(scene, era=MODERN, home=Home(scene, "other"))
    question_of(other)
    equal(retry(other, question, ACCEPT)["error"]["code"], -32602, "the state of another process")


@test
def a_state_that_comes_again_tells_what_became_of_its_question(scene):
    client = asking(scene, era=MODERN)
    for answer, word in ((DECLINE, "declined"), (DISMISS, "dismissed")):
        question = question_of(client)
        retry(client, question, answer)
        for again in (ACCEPT, answer):
            told = client.told(retry(client, question, again), "run_command")
            equal(told["state"], "not_run", "state after %s" % word)
            check(word in told["reason"], "reason after %s: %s" % (word, told["reason"]))
    question = question_of(client)
    equal(client.told(retry(client, question, ACCEPT), "run_command")["state"], "completed", "state")
    os.unlink(client.home.project + "/made")
    error = retry(client, question, ACCEPT)["error"]
    check(error["code"] == -32602 and "used already" in error["message"], error)
    check(not made(client), "it ran twice")


@test
def what_is_wrong_in_a_call_is_named_in_the_words_of_the_tool(scene):
    client = McpClient(scene)
    told = client.call("run_command", command="exec sleep 1000", background=True)
    for tool, arguments in (
        ("send_input", {"id": told["id"], "text": "x"}),
        ("send_input", {"id": "7", "text": "x"}),
        ("run_command", {"command": "ls", "cwd": "missing"}),
        ("run_command", {"command": "ls", "write_paths": ["missing/../../x\0"]}),
        ("wait", {"id": told["id"], "until_regex": "(?=x)"}),
        ("apply_patch", {"patch": "*** Begin Patch\n" + "x" * (5 << 20)}),
        ("run_command", {"command": "ls", "reason": "x" * 70000}),
    ):
        result = client.wait(client.call_later(tool, **arguments))["result"]
        text = result["content"][0]["text"]
        for name in ("exec/", "process/", "workdir", "processId", "Permissions", "justification",
                     "until.", "chars"):
            check(name not in text, "%r in %r" % (name, text[:400]))


@test
def characters_that_cannot_be_seen_are_warned_of_wherever_they_are(scene):
    client = McpClient(scene, capabilities=ASKS, answer=DECLINE)
    outside = os.path.realpath(scene.path(".")) + "/out"
    hidden, patch = "a\u200bb", "*** Begin Patch\n*** Add File: %s\n+%s\n*** End Patch\n"
    more = {"network": True}
    for expected, tool, arguments in (
        (True, "run_command", {"command": "ls", "reason": hidden, **more}),
        (True, "run_command", {"command": "ls", "write_paths": [outside + hidden]}),
        (True, "run_command", {"argv": ["cat"], "stdin": hidden, **more}),
        (True, "apply_patch", {"patch": patch % (outside, "line"), "reason": hidden}),
        (True, "apply_patch", {"patch": patch % (outside, hidden)}),
        (False, "run_command", {"command": "ls", "reason": "r\u00e9sum\u00e9\n\\u{200b}", **more}),
        (False, "run_command", {"command": "ls", "write_paths": [outside + "/\u65e5 \u00fc\\x"]}),
        (False, "apply_patch", {"patch": patch % (outside, "\tone \\u{200b} \\x1b")}),
    ):
        del client.elicited[:]
        client.call(tool, **arguments)
        message = client.elicited[0]["params"]["message"]
        equal("WARNING" in message, expected, "%s %s: %s" % (tool, arguments, message))


@test
def answers_without_a_state_or_a_question_are_wrong(scene):
    client = asking(scene, era=MODERN)
    question_of(client)
    base = {"name": "run_command", "arguments": {"command": COMMAND}}
    equal(client.error("tools/call", {**base, "inputResponses": {"consent": ACCEPT}})["code"],
          -32602, "no state")
    equal(client.error("tools/call", {**base, "requestState": "x"})["code"], -32602, "no answer")


@test
def each_request_says_whether_its_client_can_ask(scene):
    client = asking(scene, era=MODERN)
    question_of(client)
    client.capabilities = {}
    told = client.call("run_command", command="touch other")
    equal(told["state"], "not_run", "state")
    check(re.fullmatch(r"execward approvals grant --question=\d+", told["human_command"]), told)


@test
def a_cancelled_call_takes_its_question_away(scene):
    client = asking(scene)
    call = client.call_later("run_command", command=COMMAND)
    client.until(lambda: client.elicited, "a question")
    client.notify("notifications/cancelled", {"requestId": call})
    withdrawn = lambda: [m for m in client.messages if m.get("method") == "notifications/cancelled"]
    client.until(withdrawn, "the withdrawal")
    equal(withdrawn()[0]["params"]["requestId"], client.elicited[0]["id"], "which question")
    client.send({"id": client.elicited[0]["id"], "result": ACCEPT})
    equal(client.call("run_command", command="echo on")["output"], "on\n", "the next command")
    check(not made(client), "it ran")


CONNECT = "(exec 3<>/dev/tcp/192.0.2.%d/443) 2>&1 | grep -o -m1 refused | head -n 1; echo end"


def by_host(scene, **options):
    """A client whose commands have the network by host."""
    home = Home(scene)
    home.config("confinement.network_by_host = true\n")
    return McpClient(scene, home=home, capabilities=options.pop("capabilities", ASKS), **options)


@test
def a_question_about_a_host_comes_while_the_command_runs(scene):
    client = by_host(scene, answer=DECLINE)
    told = client.call("run_command", command=CONNECT % 7, timeout_ms=30000)
    equal((told["state"], told["output"]), ("completed", "refused\nend\n"), "the result of %s" % told)
    check("192.0.2.7:443" in client.elicited[0]["params"]["message"], client.elicited)
    check("connect 192.0.2.7:443" in told["denials"][0]["what"], told)
    check("human_command" not in told, told)
    client.answer = ACCEPT
    told = client.call("run_command", command=CONNECT % 8, timeout_ms=30000)
    check("refused" not in told["output"] and "denials" not in told, told)


@test
def a_modern_client_comes_back_for_each_question_about_a_host(scene):
    client = by_host(scene, era=MODERN)
    arguments = {"command": CONNECT % 7 + "; " + CONNECT % 8, "timeout_ms": 30000}
    first = question_of(client, **arguments)
    check("192.0.2.7:443" in str(first), first)
    second = retry(client, first, DECLINE, **arguments)["result"]
    check(second.get("resultType") == "input_required" and "192.0.2.8:443" in str(second), second)
    told = retry(client, second, DECLINE, **arguments)["result"]["structuredContent"]
    equal((told["state"], told["output"]), ("completed", "refused\nend\n" * 2), told)


@test
def the_result_waits_for_the_answer_about_a_host(scene):
    client = by_host(scene, era=MODERN)
    arguments = {"command": CONNECT % 7, "timeout_ms": 250}
    question = question_of(client, **arguments)
    list_until_over = client.call("list_processes")
    check(list_until_over["processes"], list_until_over)
    told = retry(client, question, DECLINE, **arguments)["result"]["structuredContent"]
    if told["state"] == "running":
        told = client.call("wait", id=told["id"], timeout_ms=30000)
    equal((told["state"], told["output"][-12:]), ("completed", "refused\nend\n"), told)


@test
def a_host_that_cannot_ask_about_a_host_gets_a_command_for_the_person(scene):
    client = by_host(scene, capabilities={})
    told = client.call("run_command", command=CONNECT % 7, timeout_ms=30000)
    equal(told["output"], "refused\nend\n", told)
    words = shlex.split(told["human_command"])
    check("execward approvals grant --question=" in told["human_command"], told)
    client.home.good_cli(*words[1:], "--yes")
    listed = client.home.good_cli("approvals", "list")
    check("connect to 192.0.2.7:443" in listed, listed)
    told = client.call("run_command", command=CONNECT % 7, timeout_ms=30000)
    check("refused" not in told["output"] and "denials" not in told, told)


if __name__ == "__main__":
    main()

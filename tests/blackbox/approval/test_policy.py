"""Policies, rules and settings as a client meets them."""

import os
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.abspath(__file__ + "/../../.."))
from support.client import check, equal
from support.exec import Home, always, denied, exec_server, is_asked, ran
from support.runner import main, test

FLAGS = {
    "sandboxApproval": True,
    "rules": True,
    "skillApproval": True,
    "requestPermissions": True,
    "mcpElicitations": True,
}
BAN = "[[rule]]\nprefix = ['touch']\ndecision = 'forbidden'\njustification = 'no touching'\n"
ASK = "[[rule]]\nprefix = ['touch']\ndecision = 'prompt'\njustification = 'ask first'\n"
ALLOW = "[[rule]]\nprefix = ['touch']\ndecision = 'allow'\n"


def explain(server, what, **params):
    return server.call("policy/explain", server.exec_params(what, **params))


def decision(server, what, **params):
    return explain(server, what, **params)["decision"]


# The policies


@test
def each_policy_decides_as_its_table_says(scene):
    server = exec_server(scene)
    prompt, allow, forbidden = "prompt", "allow", "forbidden"
    policies = ("untrusted", "on-request", "granular", "on-failure", "never")
    for what, wanted in (
        ("ls", (allow,) * 5),
        ("rm -rf x", (prompt, prompt, prompt, prompt, forbidden)),
        ("sudo rm -f x", (prompt, prompt, prompt, prompt, forbidden)),
        ("touch x", (prompt, allow, allow, allow, allow)),
        ("ls && touch x", (prompt, allow, allow, allow, allow)),
        ("touch $(echo x)", (prompt, allow, allow, allow, allow)),
    ):
        for policy, want in zip(policies, wanted, strict=True):
            for sandbox in ("danger-full-access", "external-sandbox", "workspace-write"):
                got = decision(server, what, approvalPolicy=policy, sandbox=sandbox)
                equal(got, want, "%s under %s in %s" % (what, policy, sandbox))


@test
def who_may_ask_to_leave_the_sandbox_depends_on_the_policy(scene):
    server = exec_server(scene)
    for policy, want in (
        ("untrusted", "forbidden"),
        ("on-failure", "forbidden"),
        ("never", "forbidden"),
        ("on-request", "prompt"),
        ("granular", "prompt"),
    ):
        for what in ("ls", "touch x"):
            got = decision(
                server,
                what,
                approvalPolicy=policy,
                sandbox="workspace-write",
                sandboxPermissions="requireEscalated",
            )
            equal(got, want, "%s under %s" % (what, policy))


@test
def what_a_policy_decides_is_what_happens(scene):
    for policy, what, wanted in (
        ("untrusted", "ls", "runs"),
        ("untrusted", "touch x", "asks"),
        ("on-request", "touch x", "runs"),
        ("on-request", "rm -rf none", "asks"),
        ("on-failure", "touch x", "runs"),
        ("on-failure", "rm -rf none", "asks"),
        ("never", "touch x", "runs"),
        ("never", "rm -rf none", "refused"),
    ):
        home = Home(scene, "%s-%s" % (policy, what.split()[0]))
        server = exec_server(scene, home=home, policy=policy, answer=always("denied"))
        message = server.reply(server.exec_later(what))
        outcome = "runs" if "result" in message else "asks" if server.questions else "refused"
        equal(outcome, wanted, "%s under %s" % (what, policy))
        if "error" in message:
            equal(message["error"]["data"]["kind"], "denied", "kind of error")


@test
def never_refuses_what_a_rule_would_ask_for(scene):
    home = Home(scene)
    home.rules(ASK)
    server = exec_server(scene, home=home, policy="never")
    message = denied(server, server.exec_later("touch x"))
    check("ask first" in message, "message %r" % message)
    equal(server.questions, [], "questions")


@test
def the_audit_names_the_rule_that_wants_a_question_or_forbids(scene):
    home = Home(scene)
    path = home.rules(ASK + BAN.replace("touch", "ls"))
    server = exec_server(scene, home=home)
    message_id = server.exec_later("touch x")
    server.answer(server.question(), "approved")
    ran(server, message_id)
    begin = next(params for method, params in server.events if method == "exec/begin")
    equal(begin.get("rule"), None, "the rule that let it run")
    denied(server, server.exec_later("ls"))
    is_asked(server, "rm -rf x")
    server.end()
    rows = [(row["event"], row.get("decidedBy"), row.get("rule", "")) for row in home.audit()]
    equal(
        [row for row in rows if row[0] in ("question", "refusal")][:3],
        [("question", "rule", path + ":1"), ("refusal", "rule", path + ":5"), ("question", "policy", "")],
        "rows",
    )


@test
def granular_flags_switch_questions_off_one_by_one(scene):
    home = Home(scene)
    home.rules(ASK)
    server = exec_server(scene, home=home)
    for flags, by_rule, by_list in (
        ({}, "prompt", "prompt"),
        ({"rules": False}, "forbidden", "prompt"),
        ({"sandboxApproval": False}, "prompt", "forbidden"),
        ({"rules": False, "sandboxApproval": False}, "forbidden", "forbidden"),
        ({"skillApproval": False, "mcpElicitations": False}, "prompt", "prompt"),
    ):
        changes = {"approvalPolicy": "granular", "granular": {**FLAGS, **flags}}
        server.call("session/configure", changes)
        equal(decision(server, "touch x"), by_rule, "by a rule with %s" % flags)
        equal(decision(server, "rm -rf x"), by_list, "dangerous with %s" % flags)


# policy/explain


@test
def an_explanation_names_what_decided_each_command(scene):
    home = Home(scene)
    path = home.rules(BAN)
    server = exec_server(scene, home=home, policy="untrusted")
    got = explain(server, "ls && touch x | make")
    equal(got["decision"], "forbidden", "decision")
    check("no touching" in got["reason"], "reason %r" % got["reason"])
    equal([c["words"] for c in got["commands"]], [["ls"], ["touch", "x"], ["make"]], "commands")
    equal([c["decision"] for c in got["commands"]], ["allow", "forbidden", "prompt"], "decisions")
    banned = got["commands"][1]
    check(path in banned["rule"] and banned["rule"].endswith(":1"), "rule %r" % banned["rule"])
    equal(banned["justification"], "no touching", "justification")
    check("rule" not in got["commands"][0], "a rule for what the list allows")
    check(all(c["why"] for c in got["commands"]), "no reasons")
    equal(got["program"], "/usr/bin/bash", "program")


@test
def an_explanation_says_why_a_script_was_not_taken_apart(scene):
    server = exec_server(scene, policy="untrusted")
    got = explain(server, "cat `ls`")
    equal(got["decision"], "prompt", "decision")
    check(got["obstacle"], "no obstacle")
    check("obstacle" not in explain(server, "ls"), "an obstacle in a plain script")


@test
def an_explanation_is_about_the_call_as_it_would_be(scene):
    server = exec_server(scene, policy="untrusted")
    scene.file("home/project/bin/ls", "#!/bin/sh\n", 0o755)
    path = server.home.project + "/bin:/usr/bin:/bin"
    equal(decision(server, "ls"), "allow", "decision")
    equal(decision(server, "ls", env={"LD_PRELOAD": "/x.so"}), "allow", "with LD_PRELOAD")
    equal(decision(server, "ls", env={"HOME": "/x"}), "prompt", "with another HOME")
    equal(decision(server, "ls", env={"PATH": path}), "prompt", "with an ls in the workspace first")
    equal(decision(server, ["bin/ls"]), "prompt", "of the workspace's ls")
    equal(decision(server, ["ls"]), "allow", "as argv")
    got = explain(server, ["no-such-program"])
    check("program" not in got and got["decision"] == "prompt", "what is not there: %s" % got)


@test
def an_explanation_proposes_what_a_question_would(scene):
    server = exec_server(scene, policy="untrusted")
    equal(explain(server, "touch x")["proposedPrefixRule"], ["touch", "x"], "the whole command")
    got = explain(server, "touch x", prefixRule=["touch"])
    equal(got["proposedPrefixRule"], ["touch"], "what was wished for")
    check("proposedPrefixRule" not in explain(server, "ls"), "a proposal for what is allowed")


@test
def rules_of_the_request_are_the_only_ones_that_count(scene):
    home = Home(scene)
    home.rules(BAN)
    server = exec_server(scene, home=home, policy="untrusted")
    rules = [{"prefix": ["make"], "decision": "allow"}]
    equal(decision(server, "touch x", rules=[]), "prompt", "without rules")
    equal(decision(server, "make x", rules=rules), "allow", "with a rule")
    rules.append({"prefix": ["make", "x"], "decision": "forbidden", "justification": "why"})
    got = explain(server, "make x", rules=rules)
    equal((got["decision"], got["commands"][0]["rule"]), ("forbidden", "rules[1]"), "the strictest")
    for rule in ({"prefix": []}, {"prefix": [""]}, {"decision": "allow"}, {"prefix": "x"}):
        wrong = {"command": "ls", "rules": [{"prefix": ["a"], "decision": "allow", **rule}]}
        if "prefix" not in rule:
            del wrong["rules"][0]["prefix"]
        server.refused("policy/explain", wrong, -32602, "invalidParams")


@test
def to_explain_changes_nothing(scene):
    server = exec_server(scene, policy="untrusted")
    for what in ("touch x", "ls", "rm -rf /"):
        explain(server, what)
    equal((server.questions, server.events), ([], []), "questions and events")
    equal(server.approvals(), [], "approvals")
    equal(server.end(), 0, "exit status")
    equal(server.home.audit(), [], "audit")


@test
def an_explanation_knows_of_approvals(scene):
    server = exec_server(scene, policy="untrusted")
    message_id = server.exec_later("touch x")
    server.answer(server.question(), "approvedForSession", scope="directory")
    ran(server, message_id)
    got = explain(server, "touch x")
    equal(got["decision"], "allow", "decision")
    check("grant" in got["reason"], "reason %r" % got["reason"])
    equal(decision(server, "touch x", workdir="/"), "prompt", "elsewhere")
    server.call("approvals/revoke", {"everything": True})
    equal(decision(server, "touch x"), "prompt", "after it was revoked")


@test
def a_request_that_cannot_be_meant_is_refused(scene):
    server = exec_server(scene)
    for params in (
        {},
        {"command": "ls", "argv": ["ls"]},
        {"argv": []},
        {"command": "ls", "approvalPolicy": "sometimes"},
        {"command": "ls", "sandbox": "none"},
        {"command": "ls", "rules": {}},
        {"command": "ls", "sandboxPermissions": "all"},
    ):
        server.refused("policy/explain", params, -32602, "invalidParams")


# Rules


@test
def the_strictest_rule_wins(scene):
    home = Home(scene)
    home.rules(ALLOW, "a.toml")
    home.rules("[[rule]]\nprefix = ['touch', 'x']\ndecision = 'prompt'\n", "b.toml")
    home.rules("[[rule]]\nprefix = ['touch', 'x', 'y']\ndecision = 'forbidden'\n", "c.toml")
    server = exec_server(scene, home=home, policy="untrusted")
    for what, want in (
        ("touch a", "allow"),
        ("touch x", "prompt"),
        ("touch x y", "forbidden"),
        ("touch x y z", "forbidden"),
        ("touch a; touch x", "prompt"),
        ("touch a && make", "prompt"),
        ("touch a && ls", "allow"),
        ("touching", "prompt"),
    ):
        equal(decision(server, what), want, what)


@test
def a_ban_runs_nothing_and_gives_its_reason(scene):
    home = Home(scene)
    home.rules(BAN)
    server = exec_server(scene, home=home, answer=always("approved"))
    for what in ("touch x", ["touch", "x"], "ls; touch x", ["/usr/bin/touch", "x"]):
        message = denied(server, server.exec_later(what))
        check("no touching" in message, "message %r" % message)
    equal((server.questions, os.listdir(server.home.project)), ([], [".git"]), "what happened")


@test
def a_rule_that_asks_gives_its_reason_to_the_person(scene):
    home = Home(scene)
    home.rules(ASK)
    server = exec_server(scene, home=home, policy="on-request")
    message_id = server.exec_later("touch x")
    question = server.question()
    check("ask first" in question["reason"], "reason %r" % question["reason"])
    check("proposedPrefixRule" not in question.params, "a way around the rule is proposed")
    server.answer(question, "approved")
    ran(server, message_id)


@test
def changed_rules_count_at_once(scene):
    home = Home(scene)
    first = exec_server(scene, home=home, policy="untrusted")
    second = exec_server(scene, home=home, policy="untrusted")
    for server in (first, second):
        check(is_asked(server, "touch x"), "it was not asked about")
    for _ in range(3):
        home.rules(ALLOW)
        for server in (first, second):
            check(not is_asked(server, "touch x"), "it was asked about")
        home.rules(BAN)
        for server in (first, second):
            denied(server, server.exec_later("touch x"))
        os.unlink(os.path.join(home.rules_directory, "own.toml"))
        for server in (first, second):
            check(is_asked(server, "touch x"), "a rule that is gone counts")


@test
def a_directory_of_rules_that_comes_later_counts(scene):
    home = Home(scene)
    server = exec_server(scene, home=home, policy="untrusted")
    check(is_asked(server, "touch x"), "it was not asked about")
    check(not os.path.exists(home.rules_directory), "the server made the directory")
    home.rules(ALLOW)
    check(not is_asked(server, "touch x"), "it was asked about")
    os.rename(home.rules_directory, home.rules_directory + "-away")
    check(is_asked(server, "touch x"), "rules that are gone count")
    os.rename(home.rules_directory + "-away", home.rules_directory)
    check(not is_asked(server, "touch x"), "it was asked about again")


@test
def a_broken_file_allows_nothing_and_is_told_of(scene):
    home = Home(scene)
    home.rules("[[rule]]\nprefix = ['make']\ndecision = 'allow'\n", "other.toml")
    home.rules(ALLOW)
    server = exec_server(scene, home=home, policy="untrusted")
    check(not is_asked(server, "touch x"), "it was asked about")
    path = home.rules(ALLOW + "[[rule]]\nprefixes = ['x']\n")
    check(is_asked(server, "touch x"), "a broken file allows")
    message = server.warning("configInvalid")
    check(path + ":4:" in message, "message %r" % message)
    equal(decision(server, "make x"), "allow", "by another file")
    home.rules(ALLOW)
    check(not is_asked(server, "touch x"), "the mended file does not count")


@test
def examples_that_do_not_hold_break_the_file(scene):
    home = Home(scene)
    home.rules(ALLOW + "match = ['touch x']\nnot_match = ['ls touch']\n")
    server = exec_server(scene, home=home, policy="untrusted")
    check(not is_asked(server, "touch x"), "good examples break it")
    home.rules(ALLOW + "not_match = ['touch x']\n")
    check(is_asked(server, "touch x"), "an example was not checked")
    check("touch x" in server.warning("configInvalid"), "the example is not named")


# A project's own rules


@test
def rules_of_a_project_count_once_it_is_trusted(scene):
    server = exec_server(scene, policy="on-request")
    home = server.home
    home.file("project/.execward/rules.d/own.toml", BAN)
    check(not is_asked(server, "touch x"), "rules of a project that nobody trusts count")
    home.good_cli("project", "trust", ".")
    check("no touching" in denied(server, server.exec_later("touch x")), "no reason")
    home.file("project/.execward/rules.d/own.toml", ASK)
    check(is_asked(server, "touch x"), "a changed rule does not count")
    home.good_cli("project", "distrust", ".")
    check(not is_asked(server, "touch x"), "rules of a project that is not trusted any more count")


@test
def rules_of_a_project_allow_nothing(scene):
    server = exec_server(scene, policy="untrusted")
    server.home.file("project/.execward/rules.d/own.toml", ALLOW)
    server.home.good_cli("project", "trust", ".")
    check(is_asked(server, "touch x"), "a project allows its own commands")


@test
def the_project_is_the_git_tree_around_the_workspace(scene):
    home = Home(scene)
    os.makedirs(home.project + "/deep/er")
    home.file("project/.execward/rules.d/own.toml", BAN)
    home.good_cli("project", "trust", home.project + "/deep")
    server = exec_server(scene, home=home, cwd=home.project + "/deep/er")
    denied(server, server.exec_later("touch x"))
    other = Home(scene, "other")
    server.call("session/configure", {"workspaceRoots": ["file://" + other.project]})
    check(not is_asked(server, "touch x"), "rules of another project count")


# session/configure


@test
def settings_can_be_read_and_changed_one_by_one(scene):
    server = exec_server(scene, policy="on-request")
    before = server.call("session/configure")
    equal(
        (before["approvalPolicy"], before["sandbox"], before["approvalTimeoutMs"]),
        ("on-request", "danger-full-access", 0),
        "settings",
    )
    equal(before["granular"], FLAGS, "flags")
    equal(before["maxOutputTokens"], 10000, "tokens")
    equal(before["workspaceRoots"], ["file://" + server.home.project], "roots")
    equal(before["envPolicy"]["inherit"], "all", "inherit")
    for change in (
        {"approvalPolicy": "never"},
        {"sandbox": "external-sandbox"},
        {"approvalTimeoutMs": 5000},
        {"maxOutputTokens": 77},
        {"granular": {**FLAGS, "rules": False}},
    ):
        before.update(change)
        equal(server.call("session/configure", change), before, "after %s" % change)
    equal(server.call("session/configure", {}), before, "after no change")


@test
def a_changed_policy_counts_from_the_next_call_on(scene):
    server = exec_server(scene, policy="untrusted")
    waiting = server.exec_later("touch a")
    question = server.question()
    server.call("session/configure", {"approvalPolicy": "never"})
    equal(server.exec("touch b")["exitCode"], 0, "a call after the change")
    check(not server.is_answered(waiting), "the question of before was dropped")
    server.answer(question, "approved")
    ran(server, waiting)
    server.call("session/configure", {"approvalPolicy": "untrusted"})
    check(is_asked(server, "touch c"), "it was not asked about")


@test
def wrong_settings_are_refused_and_change_nothing(scene):
    server = exec_server(scene, policy="on-request")
    before = server.call("session/configure")
    for change in (
        {"approvalPolicy": "sometimes"},
        {"sandbox": "none"},
        {"approvalTimeoutMs": -1},
        {"maxOutputTokens": "many"},
        {"workspaceRoots": []},
        {"workspaceRoots": ["relative"]},
        {"granular": {"rules": False}},
        {"envPolicy": {"inherit": "some"}},
        {"approvalPolicy": "never", "sandbox": 5},
    ):
        server.refused("session/configure", change, -32602, "invalidParams")
        equal(server.call("session/configure"), before, "settings after %s" % change)


@test
def settings_of_the_file_are_where_a_session_begins(scene):
    home = Home(scene)
    home.config(
        "approval_policy = 'untrusted'\nsandbox = 'danger-full-access'\nmax_output_tokens = 55\n"
        "approval_timeout_ms = 1234\n[granular]\nrules = false\n[environment]\ninherit = 'core'\n"
    )
    server = exec_server(scene, home=home, sandbox=None)
    got = server.call("session/configure")
    equal(
        (got["approvalPolicy"], got["sandbox"], got["maxOutputTokens"], got["approvalTimeoutMs"]),
        ("untrusted", "danger-full-access", 55, 1234),
        "settings",
    )
    equal((got["granular"]["rules"], got["envPolicy"]["inherit"]), (False, "core"), "tables")
    server = exec_server(scene, home=home, sandbox=None, policy="never")
    equal(server.call("session/configure")["approvalPolicy"], "never", "settings of initialize win")


@test
def a_wrong_file_of_settings_is_told_and_nothing_starts(scene):
    home = Home(scene)
    path = home.config("approval_polcy = 'never'\n")
    server = exec_server(scene, home=home, handshake=False)
    equal(server.exit_status(), 1, "exit status")
    said = server.stderr()
    check(path + ":1" in said and "approval_policy" in said, "stderr %r" % said)


@test
def what_git_shows_unasked_leaves_its_index_as_it_is(scene):
    if shutil.which("git") is None:
        return print("SKIP what_git_shows_unasked_leaves_its_index_as_it_is: no git")
    server = exec_server(scene, policy="untrusted", sandbox="danger-full-access")
    project = server.home.project
    scene.file("home/project/f", "text\n")
    for words in ("init -q", "add f", "-c user.name=x -c user.email=x commit -qm x"):
        subprocess.run(["git", "-C", project, *words.split()], check=True)
    index = os.path.join(project, ".git/index")
    with open(index, "rb") as file:
        before = file.read()
    for script in ("git status", "git diff", "git diff --stat", "git diff --name-only HEAD"):
        os.utime(os.path.join(project, "f"), (1, 1))  # git would note the new time
        equal(server.exec(script)["exitCode"], 0, "exit code of " + script)
        with open(index, "rb") as file:
            equal(file.read(), before, "the index after " + script)
    equal(server.questions, [], "questions")


if __name__ == "__main__":
    main()

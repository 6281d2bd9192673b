"""Questions to a person: when they are asked, what they show, and what each answer does."""

import json
import os
import sys

sys.path.insert(0, os.path.abspath(__file__ + "/../../.."))
from support.client import PYTHON, check, equal, eventually
from support.exec import (
    NOWHERE,
    PREFIX,
    SESSION,
    Home,
    always,
    approve,
    asks,
    decided_by,
    denied,
    exec_server,
    exists,
    ran,
    runs_unasked,
    untrusting,
)
from support.patches import adding
from support.runner import main, test

STOPPED = "echo kept; %s; exit 77" % NOWHERE


def confining(scene, **options):
    """A server whose commands run in a sandbox."""
    return exec_server(scene, **{"policy": "on-failure", "sandbox": "workspace-write", **options})


# Commands that need a question


@test
def harmless_commands_run_unasked_and_others_do_not(scene):
    server = untrusting(scene)
    for what in (
        "ls", "pwd; echo a", "cat /etc/passwd | head -1", ["ls", "-l"], "true && wc /dev/null"
    ):
        runs_unasked(server, what)
    equal(decided_by(server, str(2)), "safe list", "who decided")
    for what in ("touch made", "ls > made", "ls; touch made", "$(touch made)", ["touch", "made"]):
        asks(server, what)
    check(not exists(server, "made"), "it ran")


@test
def a_question_says_what_would_run(scene):
    server = untrusting(scene)
    os.makedirs(server.home.project + "/sub")
    message_id = server.exec_later(
        "touch made", workdir="sub", justification="May I?", callId="mine"
    )
    question = server.question()
    equal(question["callId"], "mine", "call id")
    equal(question["kind"], "command", "kind")
    equal(question["argv"][1:], ["-c", "touch made"], "argv")
    equal(question["program"], os.path.realpath(question["argv"][0]), "program")
    equal(question["workdir"], server.home.project + "/sub", "workdir")
    equal(question["justification"], "May I?", "justification")
    equal(question["sandbox"], {"type": "none", "missing": []}, "sandbox")
    equal(question["denials"], [], "denials")
    equal(question["approvalId"], question.id, "approval id")
    check("touch made" in question["reason"], "reason %r" % question["reason"])
    display = question["display"]
    equal(display["command"], "touch made", "command")
    equal(display["workdir"], question["workdir"], "workdir to show")
    equal((display["justification"], display["environment"]), ("May I?", []), "texts to show")
    equal(
        question.offers(),
        {("approved", None), ("edited", None), ("denied", None), ("abort", None)}
        | {("denied", scope) for scope in ("session", "always")}
        | {(SESSION, scope) for scope in ("directory", "workspace", "project", "always")}
        | {(PREFIX, scope) for scope in ("session", "project", "always")},
        "decisions",
    )
    check(all(choice["description"] for choice in question["availableDecisions"]), "descriptions")
    server.answer(question, "approved")
    ran(server, message_id)


@test
def outside_the_workspace_the_workspace_is_not_offered(scene):
    server = untrusting(scene)
    question = asks(server, "touch /tmp/../tmp/never-made", workdir="/")
    check((SESSION, "workspace") not in question.offers(), "offers %s" % question.offers())


@test
def everything_goes_on_while_a_question_is_open(scene):
    server = untrusting(scene)
    waiting = server.exec_later("touch made")
    question = server.question()
    for number in range(10):
        runs_unasked(server, "echo %d" % number)
    server.start("p", ["echo", "x"])
    server.finished("p")
    check(not server.is_answered(waiting) and not exists(server, "made"), "it did not wait")
    server.answer(question, "approved")
    ran(server, waiting)
    check(exists(server, "made"), "it did not run")


# Answers


@test
def approved_counts_once(scene):
    server = untrusting(scene)
    for name in ("one", "one"):
        approve(server, "touch " + name, "approved")
    check(exists(server, "one"), "it did not run")
    equal(server.approvals(), [], "approvals")
    equal(decided_by(server, "2"), "client", "who decided")


@test
def denied_runs_nothing_and_tells_why(scene):
    server = untrusting(scene)
    message_id = server.exec_later("touch made")
    server.answer(server.question(), "denied", reason="not on a Friday")
    check("not on a Friday" in denied(server, message_id), "the reason is not told")
    check(not exists(server, "made"), "it ran")
    equal([m for m, _ in server.events], [], "events")
    asks(server, "touch made")


@test
def abort_denies_all_that_is_being_asked(scene):
    server = untrusting(scene)
    ids = [server.exec_later("touch made-%d" % number) for number in range(4)]
    questions = [server.question() for _ in ids]
    server.answer(questions[1], "abort")
    for message_id in ids:
        denied(server, message_id)
    for question in questions[:1] + questions[2:]:
        server.wait_withdrawn(question)
        server.answer(question, "approved")
    server.answers()
    equal([name for name in os.listdir(server.home.project) if "made" in name], [], "files")
    approve(server, "touch later", "approved")


@test
def wrong_answers_are_denials(scene):
    server = untrusting(scene)
    for result in (
        {"decision": SESSION, "scope": "session"},
        {"decision": PREFIX, "scope": "directory"},
        {"decision": "approved", "scope": "always"},
        {"decision": "yes"},
        {"decision": None},
        {"decision": SESSION, "scope": "galaxy"},
        {"decision": "approved", "expiresInMs": "soon"},
        {"decision": "denied", "scope": "project"},
        {"decision": "edited"},
        {"decision": "edited", "command": "true", "argv": ["true"]},
        {"decision": "edited", "argv": []},
        {"decision": "approved", "command": "true"},
        {},
        None,
        True,
        "approved",
        ["approved"],
        {"Decision": "approved"},
    ):
        message_id = server.exec_later("touch made")
        server.answer_raw(server.question().id, result=result)
        denied(server, message_id)
    for error in ({"code": -32000, "message": "nobody here"}, {"code": 1, "message": ""}):
        message_id = server.exec_later("touch made")
        server.answer_raw(server.question().id, error=error)
        denied(server, message_id)
    check(not exists(server, "made"), "it ran")
    equal(server.approvals(), [], "approvals")


@test
def answers_to_nothing_are_ignored(scene):
    server = untrusting(scene)
    message_id = server.exec_later("touch made")
    question = server.question()
    for other in ("approval-999", "", 1, message_id, None, "approval-", question.id + "0"):
        server.answer_raw(other, result={"decision": "approved"})
    server.answers()
    check(not server.is_answered(message_id) and not exists(server, "made"), "it ran")
    server.answer(question, "denied")
    denied(server, message_id)


@test
def only_the_first_of_two_answers_counts(scene):
    server = untrusting(scene)
    for number, decisions in enumerate((("denied", "approved"), ("approved", "denied"))):
        message_id = server.exec_later("touch made-%d" % number)
        question = server.question()
        for decision in decisions:
            server.answer(question, decision)
        if decisions[0] == "denied":
            denied(server, message_id)
        else:
            ran(server, message_id)
        server.answers()
        equal(exists(server, "made-%d" % number), decisions[0] == "approved", "made")


# Scopes of an approval


@test
def an_approval_for_the_directory_counts_for_this_command_there(scene):
    server = untrusting(scene)
    os.makedirs(server.home.project + "/sub")
    approve(server, "touch a", SESSION, {"scope": "directory"})
    runs_unasked(server, "touch a")
    asks(server, "touch a", workdir="sub")
    asks(server, "touch b")
    asks(server, "touch a b")
    asks(server, "touch a; touch a")
    (one,) = server.approvals()
    equal((one["kind"], one["scope"], one["command"]), ("command", "directory", "touch a"), "list")
    equal((one["directory"], one["uses"]), (server.home.project, 1), "directory and uses")
    equal(one["session"], server.initialized["sessionId"], "session")


@test
def without_a_scope_an_approval_is_for_the_directory(scene):
    server = untrusting(scene)
    os.makedirs(server.home.project + "/sub")
    approve(server, "touch a", SESSION)
    runs_unasked(server, "touch a")
    asks(server, "touch a", workdir="sub")


@test
def an_approval_for_the_workspace_counts_anywhere_below_it(scene):
    server = untrusting(scene)
    os.makedirs(server.home.project + "/sub/deep")
    approve(server, "touch a", SESSION, {"scope": "workspace"}, workdir="sub")
    for workdir in ("", "sub", "sub/deep"):
        runs_unasked(server, "touch a", workdir=workdir)
    asks(server, "touch a", workdir=scene.directory)
    asks(server, "touch b")
    os.makedirs(server.home.project + "-beside")
    asks(server, "touch a", workdir=server.home.project + "-beside")


@test
def a_second_session_does_not_have_the_approvals_of_the_first(scene):
    home = Home(scene)
    first = untrusting(scene, home=home)
    approve(first, "touch a", SESSION, {"scope": "workspace"})
    approve(first, "touch b c", PREFIX, {"scope": "session"})
    second = untrusting(scene, home=home)
    asks(second, "touch a")
    asks(second, "touch b c")
    runs_unasked(first, "touch a")
    runs_unasked(first, "touch b c d")


@test
def an_approval_for_the_project_counts_in_its_later_sessions(scene):
    home, other = Home(scene), Home(scene, "other")
    first = untrusting(scene, home=home)
    approve(first, "touch a", SESSION, {"scope": "project"})
    equal(first.end(), 0, "exit status")
    second = untrusting(scene, home=home)
    runs_unasked(second, "touch a")
    elsewhere = untrusting(scene, home=home, cwd=other.project)
    asks(elsewhere, "touch a")
    (one,) = second.approvals()
    equal((one["scope"], one["project"], "session" in one), ("project", home.project, False), "it")


@test
def an_approval_for_always_counts_everywhere(scene):
    home, other = Home(scene), Home(scene, "other")
    first = untrusting(scene, home=home)
    approve(first, "touch a", SESSION, {"scope": "always"})
    runs_unasked(untrusting(scene, home=home, cwd=other.project), "touch a")
    asks(untrusting(scene, home=home, cwd=other.project), "touch b")


@test
def an_expired_approval_is_a_question_again(scene):
    server = untrusting(scene)
    approve(server, "touch a", SESSION, {"scope": "directory", "expiresInMs": 500})
    approve(server, "touch b", SESSION, {"scope": "directory", "expiresInMs": 3600000})
    listed = {one["command"]: one for one in server.approvals()}
    lasts = listed["touch b"]["expiresAtMs"] - listed["touch b"]["createdAtMs"]
    equal(lasts, 3600000, "how long it lasts")
    eventually(lambda: len(server.approvals()) == 1, "the end of the shorter one")
    asks(server, "touch a")
    runs_unasked(server, "touch b")


@test
def an_approval_is_for_the_program_that_was_shown(scene):
    server = untrusting(scene)
    approve(server, "touch a", SESSION, {"scope": "directory"})
    runs_unasked(server, "touch   'a'")
    fake = scene.file("home/project/bin/touch", "#!/bin/sh\nexec /usr/bin/touch fooled\n", 0o755)
    asks(server, [fake, "a"])
    asks(server, "bin/touch a")
    asks(server, "touch a", env={"PATH": os.path.dirname(fake) + ":/usr/bin:/bin"})
    check(not exists(server, "fooled"), "another program ran")


@test
def another_environment_is_another_question(scene):
    server = untrusting(scene)
    approve(server, "touch a", SESSION, {"scope": "directory"})
    runs_unasked(server, "touch a", env={"NO_COLOR": "1"})
    for variable in ("HARMLESS=1", "LD_PRELOAD=/no/such.so"):
        name, value = variable.split("=")
        question = asks(server, "touch a", env={name: value})
        equal(question["display"]["environment"], [variable], "variables shown")
    approve(server, "touch a", SESSION, {"scope": "directory"}, env={"GIT_DIR": "/x"})
    runs_unasked(server, "touch a", env={"GIT_DIR": "/x"})
    asks(server, "touch a", env={"GIT_DIR": "/y"})


# Prefix rules


@test
def a_prefix_for_the_session_allows_what_begins_so(scene):
    server = untrusting(scene)
    question = approve(server, "touch a", PREFIX, {"scope": "session"})
    equal(question["proposedPrefixRule"], ["touch", "a"], "proposed prefix")
    for what in ("touch a", "touch a b", "touch a b && ls"):
        runs_unasked(server, what)
    asks(server, "touch b")
    asks(server, "touch a; touch b")
    (one,) = server.approvals()
    equal((one["kind"], one["scope"], one["prefix"]), ("prefix", "session", ["touch", "a"]), "it")


@test
def the_caller_may_propose_a_prefix(scene):
    server = untrusting(scene)
    for wanted, proposed in (
        (["touch"], ["touch"]),
        (["touch", "a"], ["touch", "a"]),
        (["touch", "b"], ["touch", "a"]),
        ([], ["touch", "a"]),
        (["bash"], ["touch", "a"]),
    ):
        question = asks(server, "touch a", prefixRule=wanted)
        equal(question.params.get("proposedPrefixRule"), proposed, "proposal for %s" % wanted)
    for what, wanted in (
        ([PYTHON, "-c", "0"], ["python3"]),
        (["bash", "-c", "id | sh"], ["bash", "-c"]),
        (["env", "touch", "a"], ["env"]),
    ):
        question = asks(server, what, prefixRule=wanted)
        check(question.params.get("proposedPrefixRule") != wanted, "%s is proposed" % wanted)


@test
def what_cannot_be_taken_apart_has_no_prefix_to_allow(scene):
    server = untrusting(scene)
    for what in ("touch $(echo a)", "for f in a b; do touch $f; done", "touch a > b"):
        question = asks(server, what, prefixRule=["touch"])
        check("proposedPrefixRule" not in question.params, "a prefix for %r" % what)
        check(not any(d == PREFIX for d, _ in question.offers()), "a choice for %r" % what)


@test
def a_prefix_for_the_project_counts_in_later_sessions_there(scene):
    home, other = Home(scene), Home(scene, "other")
    first = untrusting(scene, home=home)
    approve(first, "touch a", PREFIX, {"scope": "project"}, prefixRule=["touch"])
    runs_unasked(first, "touch x")
    second = untrusting(scene, home=home)
    runs_unasked(second, "touch y")
    asks(untrusting(scene, home=home, cwd=other.project), "touch z")


@test
def a_prefix_for_always_is_a_rule_and_counts_at_once_in_every_server(scene):
    home = Home(scene)
    text = "# mine\n[[rule]]  # keep\nprefix = ['make']\ndecision = 'allow'\n"
    home.rules(text, "approved.toml")
    first, second = untrusting(scene, home=home), untrusting(scene, home=home)
    asks(second, "touch a")
    approve(first, "touch a", PREFIX, {"scope": "always"}, prefixRule=["touch"])
    result = runs_unasked(second, "touch b")
    runs_unasked(first, "touch c")
    path = os.path.join(home.rules_directory, "approved.toml")
    with open(path) as file:
        now = file.read()
    check(now.startswith(text), "the person's text was changed: %r" % now)
    check("touch" in now[len(text):], "no rule was added: %r" % now)
    equal(os.stat(path).st_mode & 0o777, 0o600, "mode")
    home.good_cli("policy", "check")
    begin = second.program_of_call(result["callId"]).begin
    equal(begin["decidedBy"], "rule", "who decided")
    check("approved.toml" in begin["rule"], "rule %r" % begin["rule"])


# Calls that share a question


@test
def equal_calls_share_one_question(scene):
    server = untrusting(scene)
    for decision in ("approved", "denied"):
        ids = [server.exec_later("touch made; echo $$") for _ in range(8)]
        question = server.question()
        server.answers()
        equal(server.taken_questions, len(server.questions), "questions")
        server.answer(question, decision)
        if decision == "denied":
            for message_id in ids:
                denied(server, message_id)
        else:
            equal(len({ran(server, message_id) for message_id in ids}), 8, "programs")


@test
def calls_that_differ_in_what_matters_do_not_share(scene):
    server = untrusting(scene)
    os.makedirs(server.home.project + "/sub")
    calls = (
        {},
        {"workdir": "sub"},
        {"env": {"GIT_DIR": "/x"}},
        {"env": {"GIT_DIR": "/y"}},
        {"shell": "sh"},
    )
    ids = [server.exec_later("touch a; touch b", **params) for params in calls]
    for _ in calls:
        server.answer(server.question(), "denied")
    for message_id in ids:
        denied(server, message_id)


@test
def one_of_those_that_share_may_be_cancelled(scene):
    server = untrusting(scene)
    ids = [server.exec_later("touch made") for _ in range(3)]
    question = server.question()
    server.notify("$/cancelRequest", {"id": ids[0]})
    server.error(ids[0], -32800, "cancelled")
    server.answers()
    equal(server.withdrawn, [], "withdrawn questions")
    server.answer(question, "approved")
    for message_id in ids[1:]:
        ran(server, message_id)

    ids = [server.exec_later("touch made") for _ in range(3)]
    question = server.question()
    for message_id in ids:
        server.notify("$/cancelRequest", {"id": message_id})
        server.error(message_id, -32800, "cancelled")
    server.wait_withdrawn(question)


@test
def sixty_four_questions_may_be_open(scene):
    """Questions about commands and about patches count together."""
    server = untrusting(scene)

    def apply_later(name):
        return server.request("patch/apply", {"patch": adding(name, "text")})

    commands = [server.exec_later("touch made-%d" % number) for number in range(32)]
    patches = [apply_later("added-%d" % number) for number in range(32)]
    questions = [server.question() for _ in commands + patches]
    for error in (
        server.exec_refused("touch one-too-many", "limit"),
        server.error(apply_later("one-too-many"), kind="limit"),
    ):
        check("64" in error["message"], "message %r" % error["message"])
    commands.append(server.exec_later("touch made-0"))
    server.answers()
    equal(len(server.questions), 64, "questions")
    for question in questions:
        server.answer(question, "denied")
    for message_id in commands + patches:
        denied(server, message_id)
    approve(server, "touch made", "approved")


# No answer


@test
def a_question_that_is_not_answered_in_time_is_a_denial(scene):
    server = untrusting(scene, settings={"approvalTimeoutMs": 300})
    message_id = server.exec_later("touch made")
    question = server.question()
    check("time" in denied(server, message_id), "the message does not say why")
    server.wait_withdrawn(question)
    server.answer(question, "approved")
    server.answers()
    check(not exists(server, "made"), "a late answer counted")
    equal(server.approvals(), [], "approvals")


@test
def the_time_for_an_answer_can_be_changed(scene):
    server = untrusting(scene, settings={"approvalTimeoutMs": 1})
    denied(server, server.exec_later("touch a"))
    server.question()
    server.call("session/configure", {"approvalTimeoutMs": 0})
    message_id = server.exec_later("touch a")
    question = server.question()
    server.answers()
    check(not server.is_answered(message_id), "it did not wait")
    server.answer(question, "approved")
    ran(server, message_id)


@test
def a_client_that_cannot_ask_gets_a_denial_that_says_so(scene):
    home = Home(scene)
    home.rules("[[rule]]\nprefix = ['touch', 'ruled']\ndecision = 'allow'\n")
    first = untrusting(scene, home=home)
    approve(first, "touch granted", SESSION, {"scope": "project"})
    server = untrusting(scene, home=home, approvals=False)
    message = denied(server, server.exec_later("touch made"))
    check("capabilities.approvals" in message, "message %r" % message)
    for what in ("touch ruled", "touch granted", "ls"):
        runs_unasked(server, what)
    equal((server.questions, exists(server, "made")), ([], False), "questions, and whether it ran")


# Texts of a question


@test
def nothing_that_is_shown_can_hide(scene):
    server = untrusting(scene)
    tricks = "\x1b[2J\u202etxt\u200b\u00a0\u2066\x07\r\n\tend"
    workdir = os.path.join(server.home.project, "dir\nTrusted: yes\u202e")
    os.makedirs(workdir)
    for what in ("touch 'a%s'" % tricks, ["touch", "a" + tricks]):
        question = asks(server, what, workdir=workdir, justification="ok?" + tricks)
        display = question["display"]
        for name in ("command", "program", "workdir", "reason", "justification"):
            text = display[name]
            bad = [c for c in text if ord(c) < 32 or c in "\x7f\u202e\u200b\u00a0\u2066"]
            equal(bad, [], "characters in %r" % text)
        check("\\x1b" in display["command"], "command %r" % display["command"])
        check("u{202e}" in display["justification"], "justification %r" % display["justification"])
        check("\\n" in display["workdir"], "workdir %r" % display["workdir"])
        equal(display["hasInvisibleCharacters"], True, "hasInvisibleCharacters")
        equal(question["workdir"], workdir, "the exact workdir")
        equal(question["justification"], "ok?" + tricks, "the exact justification")


@test
def look_alike_letters_are_pointed_out(scene):
    server = untrusting(scene)
    display = asks(server, "touch p\u0430ypal")["display"]
    equal(display["hasMixedScripts"], True, "Cyrillic in Latin")
    display = asks(server, "touch plain")["display"]
    equal((display["hasMixedScripts"], display["hasInvisibleCharacters"]), (False, False), "plain")


@test
def reasons_of_rules_cannot_hide_anything(scene):
    home = Home(scene)
    home.rules(
        "[[rule]]\nprefix = ['touch']\ndecision = 'prompt'\njustification = \"a\\u202eb\\nc\"\n"
    )
    server = untrusting(scene, home=home)
    reason = asks(server, "touch x")["display"]["reason"]
    check("\u202e" not in reason and "\n" not in reason, "reason %r" % reason)


# The shown command is the command that runs


def versions(scene):
    for number in (1, 2):
        scene.file("home/project/v%d/tool" % number, "#!/bin/sh\necho v%d\n" % number, 0o755)


@test
def a_symlink_that_moves_after_the_question_changes_nothing(scene):
    server = untrusting(scene)
    versions(scene)
    project = server.home.project
    os.symlink("v1/tool", project + "/tool")
    os.symlink("v1", project + "/dir")
    for what in ([project + "/tool"], ["./tool"], [project + "/dir/tool"]):
        message_id = server.exec_later(what)
        question = server.question()
        equal(question["program"], project + "/v1/tool", "program")
        for name, target in (("tool", "v2/tool"), ("dir", "v2")):
            os.unlink(project + "/" + name)
            os.symlink(target, project + "/" + name)
        server.answer(question, "approved")
        equal(ran(server, message_id), "v1\n", "output of %s" % what)
        for name, target in (("tool", "v1/tool"), ("dir", "v1")):
            os.unlink(project + "/" + name)
            os.symlink(target, project + "/" + name)


@test
def a_program_that_comes_first_in_the_path_after_the_question_does_not_run(scene):
    server = untrusting(scene)
    versions(scene)
    project = server.home.project
    path = "%s/early:%s/v1:/usr/bin:/bin" % (project, project)
    message_id = server.exec_later(["tool"], env={"PATH": path})
    question = server.question()
    equal(question["program"], project + "/v1/tool", "program")
    scene.file("home/project/early/tool", "#!/bin/sh\necho early\n", 0o755)
    server.answer(question, "approved")
    equal(ran(server, message_id), "v1\n", "output")
    equal(server.program_of_call(str(message_id)).begin["program"], project + "/v1/tool", "begin")


@test
def the_directory_that_was_shown_is_the_one_that_is_used(scene):
    server = untrusting(scene)
    project = server.home.project
    for name in ("one", "two"):
        os.makedirs(project + "/" + name)
    os.symlink("one", project + "/link")
    message_id = server.exec_later("touch made", workdir="link")
    question = server.question()
    equal(question["workdir"], project + "/one", "workdir")
    os.unlink(project + "/link")
    os.symlink("two", project + "/link")
    server.answer(question, "approved")
    ran(server, message_id)
    equal((exists(server, "one/made"), exists(server, "two/made")), (True, False), "where it ran")


@test
def a_program_that_is_gone_after_the_question_is_a_failure(scene):
    server = untrusting(scene)
    tool = scene.file("home/project/tool", "#!/bin/sh\necho ran\n", 0o755)
    message_id = server.exec_later([tool])
    question = server.question()
    os.unlink(tool)
    server.answer(question, "approved")
    result = server.result(message_id)
    equal((result["state"], result["failure"]["kind"]), ("failed", "spawnNotFound"), "result")


# Escalation and additional permissions


@test
def escalation_is_asked_for_where_the_policy_lets_a_call_ask(scene):
    for policy in ("on-request", "granular"):
        server = exec_server(
            scene, home=Home(scene, policy), policy=policy, sandbox="workspace-write"
        )
        for what in ("touch made", "ls"):
            made = exists(server, "made")
            message_id = server.exec_later(
                what, sandboxPermissions="requireEscalated", justification="needs the network"
            )
            question = server.question_about(message_id)
            check(question, "%s ran unasked under %s" % (what, policy))
            equal(question["kind"], "escalation", "kind")
            check("sandbox" in question["reason"], "reason %r" % question["reason"])
            server.answer(question, "denied")
            denied(server, message_id)
            equal(exists(server, "made"), made, "whether it ran")
            message_id = server.exec_later(what, sandboxPermissions="requireEscalated")
            server.answer(server.question(), "approved")
            ran(server, message_id)


@test
def escalation_is_refused_where_the_policy_does_not_let_a_call_ask(scene):
    granular = {name: True for name in (
        "sandboxApproval", "rules", "skillApproval", "requestPermissions", "mcpElicitations")}
    for number, settings in enumerate((
        {"approvalPolicy": "untrusted"},
        {"approvalPolicy": "on-failure"},
        {"approvalPolicy": "never"},
        {"approvalPolicy": "granular", "granular": {**granular, "sandboxApproval": False}},
        {"approvalPolicy": "granular", "granular": {**granular, "requestPermissions": False}},
    )):
        server = exec_server(
            scene, home=Home(scene, "h%d" % number), sandbox="workspace-write",
            settings=settings, answer=always("approved"),
        )
        denied(server, server.exec_later("touch made", sandboxPermissions="requireEscalated"))
        equal((server.questions, exists(server, "made")), ([], False), str(settings))


@test
def an_allow_does_not_take_a_command_out_of_the_sandbox(scene):
    home = Home(scene)
    home.rules("[[rule]]\nprefix = ['touch']\ndecision = 'allow'\n")
    server = exec_server(scene, home=home, policy="on-request", sandbox="workspace-write")
    result = runs_unasked(server, "touch made")
    equal(result["sandbox"]["type"], "linuxSeccomp", "sandbox")
    message_id = server.exec_later("touch made", sandboxPermissions="requireEscalated")
    question = server.question_about(message_id)
    check(question, "an allow rule let it leave the sandbox unasked")
    server.answer(question, "denied")
    denied(server, message_id)


@test
def where_nothing_confines_there_is_nothing_to_leave_or_widen(scene):
    more = {
        "sandboxPermissions": "withAdditionalPermissions",
        "additionalPermissions": {"network": {"enabled": True}},
    }
    for sandbox in ("danger-full-access", "external-sandbox"):
        server = exec_server(
            scene, home=Home(scene, sandbox), sandbox=sandbox, policy="on-request"
        )
        for params in ({}, {"sandboxPermissions": "requireEscalated"}, more):
            result = runs_unasked(server, "touch made", **params)
            equal(result["sandbox"], {"type": "none", "missing": []}, "sandbox")


@test
def by_default_commands_run_in_a_sandbox(scene):
    server = exec_server(scene, sandbox=None)
    equal(runs_unasked(server, "touch made")["sandbox"]["type"], "linuxSeccomp", "sandbox")
    equal(server.call("session/configure")["sandbox"], "workspace-write", "sandbox")


# The second attempt after a denial by the sandbox


@test
def after_a_denial_a_person_may_let_it_run_again(scene):
    server = confining(scene)
    script = "test -e tried && { echo fine; exit; }; touch tried; " + STOPPED
    message_id = server.exec_later(script, callId="c")
    question = server.question()
    equal((question["kind"], question["callId"]), ("retry", "c"), "kind and call")
    check(question["denials"], "no evidence")
    equal(
        {d for d, _ in question.offers()},
        {"approvedWidened", "approved", "denied", "abort"},
        "decisions",
    )
    check("proposedPrefixRule" not in question.params, "a prefix rule")
    call = server.waiting_calls()["c"]
    equal(call["state"], "askingToRetry", "state")
    server.answer(question, "approved")
    result = server.result(message_id)
    equal((result["exitCode"], result["output"], result["denials"]), (0, "fine\n", []), "result")
    server.wait_end("1001")
    equal(
        server.events_of("c"),
        ["exec/attempt", "exec/begin", "exec/outputDelta", "exec/end"] * 2,
        "events",
    )
    attempts = [p for m, p in server.events if m == "exec/attempt"]
    equal([p["n"] for p in attempts], [1, 2], "attempts")
    equal(server.program("1000").end["exitCode"], 77, "the first program")
    equal(server.program("1001").begin["decidedBy"], "client", "who decided")


@test
def who_refuses_a_second_try_gets_the_first_result(scene):
    for number, answer in enumerate(
        ({"result": {"decision": "denied"}}, {"result": 5}, {"error": {"code": 1, "message": "x"}})
    ):
        server = confining(scene, home=Home(scene, str(number)))
        message_id = server.exec_later(STOPPED)
        server.answer_raw(server.question().id, **answer)
        result = server.result(message_id)
        equal((result["state"], result["exitCode"]), ("completed", 77), "state and code")
        equal(result["output"], "kept\n", "output")
        check(result["denials"], "no denials")
        equal(len(server.programs_by_id), 1, "programs")


@test
def only_some_policies_ask_for_a_second_try(scene):
    granular = {name: True for name in (
        "sandboxApproval", "rules", "skillApproval", "requestPermissions", "mcpElicitations")}
    for number, (settings, may_ask) in enumerate((
        ({"approvalPolicy": "never"}, False),
        ({"approvalPolicy": "on-request"}, True),
        ({"approvalPolicy": "on-failure"}, True),
        ({"approvalPolicy": "granular", "granular": granular}, True),
        ({"approvalPolicy": "granular", "granular": {**granular, "sandboxApproval": False}}, False),
    )):
        server = confining(scene, home=Home(scene, str(number)), policy=None, settings=settings,
                           answer=always("denied"))
        result = server.exec(STOPPED)
        equal((result["exitCode"], result["output"]), (77, "kept\n"), str(settings))
        check(result["denials"], "no denials: %s" % settings)
        equal(len(server.questions), int(may_ask), "questions with %s" % settings)


@test
def a_client_that_cannot_ask_gets_the_first_result(scene):
    server = confining(scene, approvals=False)
    result = server.exec(STOPPED)
    equal((result["exitCode"], result["output"]), (77, "kept\n"), "result")


@test
def an_approved_command_asks_again_before_it_runs_again(scene):
    server = confining(scene, policy="untrusted")
    message_id = server.exec_later("test -e a && exit 3; touch a; " + STOPPED)
    server.answer(server.question(), "approved")
    second = server.question()
    equal(second["kind"], "retry", "kind")
    check(second.id != server.questions[0].id, "one id for two questions")
    server.answer(second, "approved")
    result = server.result(message_id)
    equal(result["exitCode"], 3, "code")
    server.answers()
    equal((len(server.questions), len(server.programs_by_id)), (2, 2), "questions and programs")


@test
def a_call_can_be_cancelled_while_a_second_try_is_asked_for(scene):
    server = confining(scene)
    message_id = server.exec_later(STOPPED)
    question = server.question()
    equal(server.stdin("1000")["exitCode"], 77, "a poll meanwhile")
    server.notify("$/cancelRequest", {"id": message_id})
    server.error(message_id, -32800, "cancelled")
    server.wait_withdrawn(question)
    server.answer(question, "approved")
    server.answers()
    equal(len(server.programs_by_id), 1, "programs")


@test
def what_still_ran_when_it_was_answered_is_not_tried_again(scene):
    server = confining(scene, answer=always("approved"))
    process_id = server.left_running("while [ ! -e go ]; do sleep 0.05; done; " + STOPPED)
    scene.file("home/project/go")
    result = server.last_answer(process_id)
    equal(result["exitCode"], 77, "code")
    equal((server.questions, len(server.programs_by_id)), ([], 1), "questions and programs")


# The record


@test
def the_audit_has_a_row_for_everything_that_was_decided(scene):
    server = untrusting(scene)
    approve(server, "touch a", SESSION, {"scope": "directory", "reason": "why not"})
    asks(server, "touch b")
    runs_unasked(server, "touch a")
    runs_unasked(server, "ls")
    session = server.initialized["sessionId"]
    equal(server.end(), 0, "exit status")
    rows = server.home.audit()
    equal({row["session"] for row in rows}, {session}, "sessions")
    by_call = {}
    for row in rows:
        by_call.setdefault(row["call"], []).append(row)
    events = {call: [row["event"] for row in of] for call, of in by_call.items()}
    calls = sorted(by_call, key=int)
    equal(
        [events[call] for call in calls],
        [
            ["question", "decision", "start", "exit"],
            ["question", "decision", "refusal"],
            ["start", "exit"],
            ["start", "exit"],
        ],
        "events",
    )
    decision = by_call[calls[0]][1]
    equal((decision["decision"], decision["decidedBy"]), (SESSION, "client"), "the approval")
    check("why not" in decision["detail"], "detail %r" % decision["detail"])
    equal(by_call[calls[1]][1]["decision"], "denied", "the denial")
    equal(by_call[calls[2]][0]["decidedBy"], "grant", "the grant")
    check("grant" in by_call[calls[2]][0]["rule"], "which grant: %s" % by_call[calls[2]][0])
    equal(by_call[calls[3]][0]["decidedBy"], "safe list", "the list")
    equal(by_call[calls[3]][1]["decision"], "0", "the exit code")


# Grants


@test
def approvals_are_listed_and_revoked_one_by_one(scene):
    server = untrusting(scene)
    for name in ("a", "b"):
        approve(server, "touch " + name, SESSION, {"scope": "directory", "reason": "r " + name})
    ids = {one["command"]: one["id"] for one in server.approvals()}
    equal(set(ids), {"touch a", "touch b"}, "commands")
    equal({one["reason"] for one in server.approvals()}, {"r a", "r b"}, "reasons")
    equal({one["origin"] for one in server.approvals()}, {"approval"}, "origins")
    equal(server.call("approvals/revoke", {"id": ids["touch a"]}), {"revoked": 1}, "result")
    asks(server, "touch a")
    runs_unasked(server, "touch b")
    for wrong in (ids["touch a"], "999", "", "x", "-1", "1e0"):
        server.refused("approvals/revoke", {"id": wrong}, kind="unknownApproval")
    for wrong in ({}, {"id": "1", "everything": True}, {"everything": False}, {"id": 1}):
        server.refused("approvals/revoke", wrong, -32602, "invalidParams")


@test
def the_approvals_of_a_session_a_project_or_everything_can_be_revoked(scene):
    home = Home(scene)
    server, other = untrusting(scene, home=home), untrusting(scene, home=home)
    session = server.initialized["sessionId"]

    def set_up():
        for who in (server, other):
            approve(who, "touch a", SESSION, {"scope": "directory"})
        approve(server, "touch p", SESSION, {"scope": "project"})
        approve(server, "touch e", SESSION, {"scope": "always"})
        approve(server, "touch r", PREFIX, {"scope": "always"})
        equal(len(server.approvals()), 5, "approvals")

    set_up()
    equal(server.call("approvals/revoke", {"session": session})["revoked"], 1, "of the session")
    asks(server, "touch a")
    for who, what in ((other, "a"), (server, "p"), (server, "e"), (server, "r")):
        runs_unasked(who, "touch " + what)
    other.call("approvals/revoke", {"project": "file://" + home.project})
    asks(server, "touch p")
    runs_unasked(server, "touch e")
    runs_unasked(server, "touch r")
    server.call("approvals/revoke", {"everything": True})
    for name in ("a", "p", "e", "r"):
        asks(server, "touch " + name)
    equal(server.approvals(), [], "approvals")
    equal(server.call("approvals/revoke", {"everything": True}), {"revoked": 0}, "again")
    set_up()


@test
def a_client_can_grant_a_prefix(scene):
    home = Home(scene)
    server = untrusting(scene, home=home)
    got = server.call(
        "approvals/grant",
        {"prefix": ["touch", "s"], "scope": "session", "reason": "daily", "expiresInMs": 3600000},
    )
    runs_unasked(server, "touch s t")
    asks(server, "touch t")
    (one,) = server.approvals()
    equal((one["id"], one["prefix"]), (got["id"], ["touch", "s"]), "it")
    equal((one["origin"], one["reason"], one["uses"]), ("client", "daily", 1), "where it is from")
    server.call("approvals/grant", {"prefix": ["touch", "p"], "scope": "project"})
    server.call("approvals/grant", {"prefix": ["touch", "e"], "scope": "always"})
    second = untrusting(scene, home=home)
    runs_unasked(second, "touch p")
    runs_unasked(second, "touch e")
    asks(second, "touch s")
    check(os.path.exists(os.path.join(home.rules_directory, "approved.toml")), "no rule")


@test
def some_prefixes_are_not_granted(scene):
    server = untrusting(scene)
    for prefix in (["bash"], ["sh", "-c"], ["sudo"], ["python3"], ["env"], ["git"], ["/bin/bash"]):
        for scope in ("session", "project", "always"):
            server.refused("approvals/grant", {"prefix": prefix, "scope": scope}, -32602)
    for params in (
        {"prefix": [], "scope": "session"},
        {"prefix": ["touch"], "scope": "directory"},
        {"prefix": ["touch"], "scope": "workspace"},
        {"prefix": ["touch"], "scope": "once"},
        {"prefix": "touch", "scope": "session"},
        {"prefix": [""], "scope": "session"},
        {"scope": "session"},
    ):
        server.refused("approvals/grant", params, -32602, "invalidParams")
    equal(server.approvals(), [], "approvals")


@test
def the_command_line_sees_and_changes_the_same_approvals(scene):
    server = untrusting(scene)
    home = server.home
    approve(server, "touch a", SESSION, {"scope": "directory"})
    listed = json.loads(home.good_cli("approvals", "list", "--json"))["approvals"]
    equal(listed, server.approvals(), "both lists")
    home.good_cli("approvals", "revoke", listed[0]["id"])
    asks(server, "touch a")
    home.good_cli("approvals", "grant", "--scope", "project", "--", "touch", "b")
    runs_unasked(server, "touch b")
    home.good_cli("approvals", "grant", "--scope", "always", "--", "touch", "c")
    runs_unasked(server, "touch c")
    home.good_cli("approvals", "revoke", "--all")
    asks(server, "touch b")
    asks(server, "touch c")


if __name__ == "__main__":
    main()

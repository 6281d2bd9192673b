"""The subcommands policy and project: decisions by the rules, and mistakes in the rules."""

import json
import os
import shutil
import sys

sys.path.insert(0, os.path.abspath(__file__ + "/../../.."))
from support.client import PATH, check, equal
from support.runner import main, test

BAN = """\
[[rule]]
prefix = ["git", "push"]
decision = "forbidden"
justification = "the release team pushes"
match = ["git push origin main"]
not_match = ["git pull"]
"""
ALLOW = """\
[[rule]]
prefix = ["npm", ["test", "run"]]
decision = "allow"
"""


def environment(scene, **more):
    return {
        "PATH": PATH,
        "HOME": scene.path("home"),
        "XDG_CONFIG_HOME": scene.path("config"),
        "XDG_STATE_HOME": scene.path("state"),
        **more,
    }


def run(scene, *arguments, cwd=None, env=None):
    """Returns output and status of the program, in a home of the test."""
    os.makedirs(scene.path("home"), exist_ok=True)
    where = cwd or scene.path("home")
    return scene.once(*arguments, cwd=where, env=environment(scene, **(env or {})))


def explained(scene, *arguments, **options):
    done = run(scene, "policy", "explain", "--json", *arguments, **options)
    equal(done.returncode, 0, "exit status, with stderr %r" % done.stderr)
    return json.loads(done.stdout)


def user_rules(scene, text, name="a.toml"):
    path = scene.file("config/execward/rules.d/" + name, text, 0o600)
    os.chmod(os.path.dirname(path), 0o700)
    return path


@test
def a_ban_is_told_with_its_rule_and_its_reason(scene):
    path = user_rules(scene, BAN)
    answer = explained(scene, "--", "git", "push", "origin", "main")
    equal(answer["decision"], "forbidden", "decision")
    check("the release team pushes" in answer["reason"], answer["reason"])
    verdict = answer["commands"][0]
    equal(verdict["words"], ["git", "push", "origin", "main"], "words")
    equal(verdict["rule"], path + ":1", "rule")
    equal(verdict["justification"], "the release team pushes", "justification")


@test
def a_ban_holds_for_a_program_with_another_name(scene):
    user_rules(scene, BAN)
    os.makedirs(scene.path("home"))
    os.symlink(shutil.which("git", path=PATH), scene.path("home/gx"))
    equal(explained(scene, "./gx", "push")["decision"], "forbidden", "decision")
    check(explained(scene, "strange", "push")["decision"] != "forbidden", "another program")


@test
def each_command_of_a_script_is_explained(scene):
    user_rules(scene, ALLOW)
    answer = explained(scene, "--approval-policy=untrusted", "--", "bash", "-c", "npm test && mkdir y")
    equal(answer["decision"], "prompt", "decision")
    equal([one["words"] for one in answer["commands"]], [["npm", "test"], ["mkdir", "y"]], "words")
    equal([one["decision"] for one in answer["commands"]], ["allow", "prompt"], "decisions")
    equal(answer["proposedPrefixRule"], ["mkdir", "y"], "proposed rule")


@test
def the_answer_has_the_members_of_the_protocol_and_no_others(scene):
    answer = explained(scene, "--approval-policy=untrusted", "--", "bash", "-c", "echo `x`")
    known = {"decision", "reason", "obstacle", "commands", "proposedPrefixRule"}
    check(set(answer) <= known, answer)
    check(answer["obstacle"], "no obstacle")
    for verdict in answer["commands"]:
        check(set(verdict) <= {"words", "decision", "why", "rule", "justification"}, verdict)


@test
def a_command_of_one_word_with_blanks_is_not_split(scene):
    equal(explained(scene, "--", "git push")["commands"][0]["words"], ["git push"], "words")


@test
def options_behind_the_command_belong_to_it(scene):
    answer = explained(scene, "--", "npm", "--json", "--help")
    equal(answer["commands"][0]["words"], ["npm", "--json", "--help"], "words")


@test
def policy_and_sandbox_come_from_the_settings_and_options_win(scene):
    scene.file("config/execward/config.toml", 'approval_policy = "untrusted"\n', 0o600)
    equal(explained(scene, "--", "x", "y")["decision"], "prompt", "decision as configured")
    answer = explained(scene, "--approval-policy=on-request", "--", "x", "y")
    equal(answer["decision"], "allow", "decision with an option")
    answer = explained(scene, "--approval-policy=never", "--", "rm", "-rf", "/")
    equal(answer["decision"], "forbidden", "decision of never")


@test
def a_person_reads_the_decision_first(scene):
    user_rules(scene, BAN + ALLOW)
    done = run(scene, "policy", "explain", "--", "bash", "-c", "npm test; git push")
    equal(done.returncode, 0, "exit status")
    lines = done.stdout.splitlines()
    check(lines[0].startswith("forbidden: it does not run; the release team pushes"), lines[0])
    check(lines[1].split()[:3] == ["allow", "npm", "test"], lines[1])
    check(lines[2].split()[:3] == ["forbidden", "git", "push"], lines[2])


@test
def nothing_in_a_command_or_a_rule_reaches_the_terminal_as_it_is(scene):
    user_rules(scene, BAN.replace("the release", "\\u001b[2J\\u202ethe release"))
    done = run(scene, "policy", "explain", "--", "git", "push", "\x1b[2J\u202e")
    check(done.stdout.startswith("forbidden"), done.stdout)
    check(done.stdout.isascii() and "\x1b" not in done.stdout, repr(done.stdout))
    user_rules(scene, '"a\\u001b[2J" = 1\n', "b.toml")
    done = run(scene, "policy", "check")
    equal(done.returncode, 1, "exit status of check")
    check("\x1b" not in done.stdout, repr(done.stdout))


@test
def only_the_named_files_count_when_some_are_named(scene):
    user_rules(scene, BAN)
    path = scene.file("other.toml", ALLOW)
    answer = explained(scene, "--rules", path, "--", "git", "push")
    check("rule" not in answer["commands"][0], answer)
    answer = explained(scene, "--rules", path, "--", "npm", "test")
    equal(answer["commands"][0]["rule"], path + ":1", "rule")


@test
def mistakes_in_rules_are_warnings_of_explain(scene):
    path = user_rules(scene, BAN + "x = 1\n")
    done = run(scene, "policy", "explain", "--", "git", "push")
    equal(done.returncode, 0, "exit status")
    check(done.stdout.startswith("forbidden"), done.stdout)
    check(done.stderr.startswith(path + ":7:1: unknown key 'x'"), done.stderr)


@test
def explain_tells_that_rules_may_be_missing(scene):
    path = user_rules(scene, BAN + "x = 1\n")
    gap = "%s:7:1 has a mistake, and a rule in it may be about this" % path
    done = run(scene, "policy", "explain", "--", "touch", "x")
    check(gap in done.stdout.splitlines()[0], done.stdout)
    equal(done.stdout.count(gap), 1, "how often it is told")
    done = run(scene, "policy", "explain", "--", "git", "push")
    check("Rules may be missing: " + gap in done.stdout.splitlines(), done.stdout)
    user_rules(scene, BAN)
    done = run(scene, "policy", "explain", "--", "touch", "x")
    check("missing" not in done.stdout, done.stdout)


@test
def what_a_broken_file_may_forbid_is_asked_about(scene):
    for text in (
        "[[rule]]\njustification = 'unclosed\nprefix = ['touch']\ndecision = 'forbidden'\n",
        "[[Rule]]\nprefix = ['touch']\ndecision = 'forbidden'\n",
        "[[rule]]\rprefix = ['touch']\rdecision = 'forbidden'\rx\r",
    ):
        user_rules(scene, text)
        answer = explained(scene, "--", "touch", "x")
        equal(answer["decision"], "prompt", "decision with %r" % text)
        equal(explained(scene, "--", "ls")["decision"], "allow", "decision of what is harmless")


@test
def a_project_cannot_switch_off_a_ban_of_the_user(scene):
    user_rules(scene, BAN)
    inside = project_with_a_rule(scene, "[[rule]]\nprefix=['x']\ndecision='prompt'\n" * 10_001)
    equal(run(scene, "project", "trust", inside).returncode, 0, "exit status of trust")
    answer = explained(scene, "--", "git", "push", cwd=inside)
    equal(answer["decision"], "forbidden", "decision")


@test
def check_finds_nothing_wrong_with_good_rules(scene):
    user_rules(scene, BAN + ALLOW)
    done = run(scene, "policy", "check")
    equal((done.returncode, done.stdout), (0, ""), "exit status and stdout")
    warning, summary = done.stderr.splitlines()
    equal(summary, "2 rules count, 0 problems", "stderr")
    check("allows any words behind `npm test`" in warning, warning)
    user_rules(scene, BAN + ALLOW + 'further = "harmless"\n')
    done = run(scene, "policy", "check")
    equal(done.stderr, "2 rules count, 0 problems\n", "stderr of limited rules")


@test
def check_prints_each_mistake_with_its_place(scene):
    first = user_rules(scene, ALLOW + "[[rule]]\nprefix = ['a']\ndecision = 'alow'\n", "a.toml")
    second = user_rules(scene, BAN + "[[rule]\n", "b.toml")
    done = run(scene, "policy", "check")
    equal(done.returncode, 1, "exit status")
    lines = done.stdout.splitlines()
    equal(len(lines), 2, "problems")
    check(lines[0].startswith(first + ":6:12: key 'decision': "), lines[0])
    check(lines[0].endswith('did you mean "allow"?'), lines[0])
    check(lines[1].startswith(second + ":7:"), lines[1])
    # The rule that cannot be read causes a question, the ban holds, and nothing is allowed.
    equal(done.stderr, "2 rules count, 2 problems\n", "stderr")


@test
def check_of_files_looks_at_those(scene):
    user_rules(scene, "nonsense")
    good = scene.file("good.toml", BAN)
    equal(run(scene, "policy", "check", good).returncode, 0, "exit status of a good file")
    done = run(scene, "policy", "check", good, scene.path("missing.toml"))
    equal(done.returncode, 1, "exit status with a missing file")
    equal(
        done.stdout,
        scene.path("missing.toml") + ": cannot be opened: No such file or directory\n",
        "stdout",
    )


@test
def rules_that_others_can_write_allow_nothing(scene):
    path = user_rules(scene, BAN + ALLOW)
    os.chmod(path, 0o666)
    done = run(scene, "policy", "check")
    equal(done.returncode, 1, "exit status")
    check("writable" in done.stdout, done.stdout)
    answer = explained(scene, "--", "npm", "test")
    check("rule" not in answer["commands"][0], answer)
    equal(explained(scene, "--", "git", "push")["decision"], "forbidden", "decision of the ban")


def project_with_a_rule(scene, rule=BAN):
    os.makedirs(scene.path("project/.git"))
    os.makedirs(scene.path("project/deep"))
    scene.file("project/.execward/rules.d/p.toml", rule)
    return scene.path("project/deep")


@test
def rules_of_a_project_count_while_it_is_trusted(scene):
    inside = project_with_a_rule(scene)
    equal(explained(scene, "--", "git", "push", cwd=inside)["decision"], "allow", "before")
    done = run(scene, "project", "trust", ".", cwd=inside)
    equal((done.returncode, done.stderr), (0, ""), "exit status and stderr of trust")
    answer = explained(scene, "--directory", inside, "--", "git", "push")
    equal(answer["decision"], "forbidden", "decision while it is trusted")
    equal(answer["commands"][0]["rule"], scene.path("project/.execward/rules.d/p.toml:1"), "rule")
    equal(run(scene, "project", "distrust", inside).returncode, 0, "exit status of distrust")
    done = run(scene, "policy", "explain", "--", "git", "push", cwd=inside)
    check(done.stdout.startswith("allow"), done.stdout)
    check("project trust" in done.stderr, done.stderr)


@test
def rules_of_a_project_count_while_nobody_knows_whether_it_is_trusted(scene):
    inside = project_with_a_rule(scene)
    os.chmod(os.path.dirname(scene.file("state/execward/execward.db", "garbage", 0o600)), 0o700)
    done = run(scene, "policy", "explain", "--", "git", "push", cwd=inside)
    check(done.stdout.startswith("forbidden"), done.stdout)
    check(done.stderr.startswith("execward: "), done.stderr)


@test
def a_project_allows_nothing_and_is_told(scene):
    inside = project_with_a_rule(scene, ALLOW)
    equal(run(scene, "project", "trust", inside).returncode, 0, "exit status of trust")
    answer = explained(scene, "--approval-policy=untrusted", "--", "npm", "test", cwd=inside)
    equal(answer["decision"], "prompt", "decision")
    done = run(scene, "policy", "check", cwd=inside)
    equal(done.returncode, 1, "exit status of check")
    check("has no effect" in done.stdout, done.stdout)


@test
def trusted_projects_are_listed(scene):
    inside = project_with_a_rule(scene)
    equal(run(scene, "project", "list").stdout, "", "projects at first")
    run(scene, "project", "trust", inside)
    run(scene, "project", "trust", inside)
    equal(run(scene, "project", "list").stdout, scene.path("project") + "\n", "projects")
    listed = json.loads(run(scene, "project", "list", "--json").stdout)
    equal(listed, {"projects": [scene.path("project")]}, "projects as JSON")


@test
def what_is_not_there_is_neither_trusted_nor_distrusted(scene):
    done = run(scene, "project", "trust", scene.path("nowhere"))
    equal(done.returncode, 1, "exit status of trust")
    check("is no directory" in done.stderr, done.stderr)
    equal(run(scene, "project", "distrust", scene.path("nowhere")).returncode, 1, "of distrust")


@test
def what_cannot_be_explained_is_status_1(scene):
    for arguments in (
        ["--rules", scene.path("missing.toml"), "--", "x"],
        ["--directory", scene.path("missing"), "--", "x"],
    ):
        done = run(scene, "policy", "explain", *arguments)
        equal((done.returncode, done.stdout), (1, ""), "exit status and stdout of %s" % arguments)
        check(done.stderr.startswith("execward: "), done.stderr)
    scene.file("config/execward/config.toml", "nonsense", 0o600)
    equal(run(scene, "policy", "explain", "--", "x").returncode, 1, "with bad settings")


@test
def wrong_usage_is_status_2_and_explained(scene):
    for arguments in (
        ["policy"],
        ["policy", "guess"],
        ["policy", "explain"],
        ["policy", "explain", "--no-such-flag", "--", "x"],
        ["policy", "explain", "--sandbox=castle", "--", "x"],
        ["policy", "explain", "--approval-policy=sometimes", "--", "x"],
        ["policy", "check", "--json"],
        ["project"],
        ["project", "trust"],
        ["project", "trust", "a", "b"],
        ["project", "list", "a"],
    ):
        done = run(scene, *arguments)
        equal(done.returncode, 2, "exit status of %s" % arguments)
        check(done.stderr.strip() and not done.stdout, "output of %s" % arguments)


@test
def help_is_answered_on_stdout(scene):
    for arguments in (
        ["policy", "--help"],
        ["policy", "explain", "-h"],
        ["policy", "check", "--help"],
        ["project", "--help"],
        ["project", "trust", "-h"],
    ):
        done = run(scene, *arguments)
        equal((done.returncode, done.stderr), (0, ""), "status and stderr of %s" % arguments)
        check(done.stdout.startswith("Usage: execward " + arguments[0]), done.stdout)


if __name__ == "__main__":
    main()

"""Approvals and rules hold for a program with its input, variables and path, not for a name."""

import contextlib
import json
import os
import sys

sys.path.insert(0, os.path.abspath(__file__ + "/../../.."))
from support.client import check, equal
from support.exec import (
    PREFIX,
    SESSION,
    Home,
    always,
    approve,
    asks,
    exec_server,
    exists,
    is_asked,
    ran,
    runs_unasked,
    untrusting,
)
from support.runner import main, test


@test
def a_link_with_the_name_of_a_harmless_program_is_asked_about(scene):
    server = untrusting(scene)
    link = os.path.join(server.home.project, "cat")
    os.symlink("/bin/bash", link)
    scene.file("home/project/evil.sh", "touch ran\n")
    asks(server, [link, "evil.sh"])
    asks(server, "%s evil.sh" % link)
    check(not os.path.exists(os.path.join(server.home.project, "ran")), "it ran")


@test
def input_is_shown_and_belongs_to_what_is_approved(scene):
    server = untrusting(scene)
    question = approve(server, ["bash"], answer={"scope": "directory"}, stdin="true\n")
    equal(question["stdin"], "true\n", "input")
    equal(question["display"]["stdin"], "true\\n", "input as shown")
    before = len(server.questions)
    server.exec(["bash"], stdin="true\n")
    equal(len(server.questions), before, "questions about the same input")
    asks(server, ["bash"], stdin="touch made\n")
    asks(server, ["bash"])


@test
def a_terminal_and_a_login_shell_are_told_and_belong_to_what_is_approved(scene):
    server = untrusting(scene)
    approve(server, "touch a", answer={"scope": "directory"})
    tty = asks(server, "touch a", tty=True)
    check(any("terminal" in note for note in tty["display"]["notes"]), "notes %s" % tty["display"])
    plain = asks(server, "touch b", login=False)
    check(not any("login" in note for note in plain["display"]["notes"]), "notes %s" % plain["display"])
    for what, params in (
        ("touch a", {"login": True}), (["bash", "-lc", "touch a"], {}), (["sh", "-lc", "touch a"], {})
    ):
        login = asks(server, what, **params)
        check(any("login" in note for note in login["display"]["notes"]), "notes about %s" % what)


@test
def rules_and_project_approvals_stay_in_their_place(scene):
    home = Home(scene)
    home.rules('[[rule]]\nprefix = ["mkdir"]\ndecision = "allow"\n')
    server = untrusting(scene, home=home)
    elsewhere = scene.file("elsewhere/keep", "")
    elsewhere = os.path.dirname(elsewhere)
    before = len(server.questions)
    server.exec("mkdir -p a")
    equal(len(server.questions), before, "questions inside")
    asks(server, "mkdir -p a", workdir=elsewhere)
    approve(server, "touch b", answer={"scope": "project"})
    asks(server, "touch b", workdir=elsewhere)


@test
def an_answer_covers_the_project_it_was_asked_in(scene):
    server = untrusting(scene)
    other = os.path.dirname(scene.file("other/keep", ""))
    message_id = server.exec_later("touch c")
    question = server.question()
    server.call("session/configure", {"workspaceRoots": [other]})
    server.answer(question, SESSION, scope="project")
    ran(server, message_id)
    asks(server, "touch c", workdir=other)


# The judged program is the program that runs


@test
def a_link_does_not_get_what_a_rule_allows_to_its_name(scene):
    home = Home(scene)
    home.rules("[[rule]]\nprefix = ['git', 'status']\ndecision = 'allow'\n")
    server = untrusting(scene, home=home)
    link = os.path.join(home.project, "git")
    os.symlink("/bin/bash", link)
    scene.file("home/project/status", "touch made\n")
    asks(server, [link, "status"])
    asks(server, link + " status")
    check(not exists(server, "made"), "it ran")


@test
def a_link_that_changes_all_the_time_never_runs_unasked(scene):
    server = untrusting(scene, answer=always("denied"))
    link = os.path.join(server.home.project, "ls")
    evil = scene.file("home/project/evil", "#!/bin/sh\ntouch made\n", 0o755)
    for number in range(30):
        ids = []
        for target in ("/usr/bin/ls", evil):
            os.symlink(target, link + ".new")
            ids.append(server.exec_later([link], callId="%d %s" % (number, target)))
            os.rename(link + ".new", link)
        for message_id in ids:
            server.reply(message_id)
    check(not exists(server, "made"), "it ran")


@test
def a_program_with_the_name_of_a_shell_is_no_shell(scene):
    server = untrusting(scene)
    link = os.path.join(server.home.project, "bash")
    os.symlink("/usr/bin/touch", link)
    asks(server, [link, "-c", "ls"])
    check(not exists(server, "ls"), "it ran")


@test
def a_shell_behind_a_link_is_not_exchanged_after_an_approval(scene):
    server = untrusting(scene)
    link = os.path.join(server.home.project, "bash")
    evil = scene.file("home/project/evil", "#!/bin/sh\ntouch made\n", 0o755)
    os.symlink("/usr/bin/bash", link)
    first = server.exec_later("echo hi > out", shell=link)
    question = server.question_about(first)
    if question:
        server.answer(question, SESSION)
    server.reply(first)
    os.unlink(link)
    os.symlink(evil, link)
    second = server.exec_later("echo hi > out", shell=link)
    question = server.question_about(second)
    if question:
        server.answer(question, "denied")
    server.reply(second)
    check(not exists(server, "made"), "another program ran as the shell")


@test
def another_language_of_the_shell_is_asked_about(scene):
    home = Home(scene)
    home.rules("[[rule]]\nprefix = ['touch']\ndecision = 'allow'\n")
    server = untrusting(scene, home=home)
    for name in ("LC_ALL", "LC_CTYPE", "LANG"):
        asks(server, "touch a", env={name: "zh_CN.GBK"})


@test
def what_is_harmless_runs_without_the_variables_of_the_call(scene):
    server = untrusting(scene)
    for name, value in (
        ("LD_PRELOAD", "/no/such.so"),
        ("LC_ALL", "zh_CN.GBK"),
        ("REPORTTIME", "path[$(touch made)]"),
        ("HARMLESS", "1"),
    ):
        result = server.exec("echo a; pwd", env={name: value})
        equal(result["exitCode"], 0, "exit code")
        check("preload" not in result["output"], "it was loaded: %s" % result["output"])
        begin = list(server.programs_by_id.values())[-1].begin
        check(name in begin["droppedEnv"], "not told: %s" % begin["droppedEnv"])
    for name, value in (("PATH", "/bin"), ("HOME", "/x"), ("USER", "x"), ("LOGNAME", "x")):
        asks(server, "echo a", env={name: value})
    check(not exists(server, "made"), "a variable was evaluated")


@test
def a_variable_of_the_call_reaches_what_runs_beside_harmless_commands(scene):
    server = exec_server(scene, policy="on-request")
    result = server.exec("cd . && printenv MODE", env={"MODE": "test"})
    equal(result["output"], "test\n", "output")
    server = exec_server(scene, policy="on-request", env={"MODE": "mine"})
    equal(server.exec("cd . && printenv MODE")["output"], "mine\n", "output with its own")


@test
def an_allow_rule_does_not_follow_a_link_out_of_the_workspace(scene):
    home = Home(scene)
    home.rules("[[rule]]\nprefix = ['mkdir']\ndecision = 'allow'\n")
    server = untrusting(scene, home=home)
    elsewhere = os.path.dirname(scene.file("elsewhere/keep"))
    os.symlink(elsewhere, os.path.join(home.project, "link"))
    os.mkdir(os.path.join(home.project, "inside"))
    check(not is_asked(server, "cd inside && mkdir -p a"), "inside it was asked about")
    asks(server, "cd link && mkdir -p a")
    asks(server, "mkdir -p a", workdir="link")


# Questions


@test
def variables_that_load_code_are_shown_and_belong_to_what_is_approved(scene):
    server = untrusting(scene)
    approve(server, "touch a", answer={"scope": "directory"})
    for name, value in (
        ("PYTEST_ADDOPTS", "-p evil"),
        ("MPLBACKEND", "module://evil"),
        ("VIMINIT", "!evil"),
        ("CCACHE_PREFIX", "evil"),
        ("HOSTCC", "evil"),
    ):
        question = asks(server, "touch a", env={name: value})
        shown = question["display"]["environment"]
        check(any(name in text and value in text for text in shown), "shown: %s" % shown)
    check(not is_asked(server, "touch a"), "without variables it was asked about")

# Approved rules


@test
def an_approved_rule_allows_no_words_that_start_something(scene):
    server = untrusting(scene)
    scene.file("home/project/Makefile", "SHELL = /bin/sh\nall:\n\t@echo made\nother: all\n")
    approve(server, "make all", PREFIX, {"scope": "session"})
    before = len(server.questions)
    for harmless in ("make all", "make all -s", "make all -j2 -k && ls"):
        server.exec(harmless)
    equal(len(server.questions), before, "questions")
    for more in ("make all SHELL=./evil", "make all other", "make all --eval='x:;touch made'",
                 "make all -f other.mk"):
        asks(server, more)
    check(not exists(server, "made"), "it ran")


@test
def what_an_approved_rule_also_allows_is_shown(scene):
    server = untrusting(scene)
    question = asks(server, "make all")
    (note,) = [note for note in question["display"]["notes"] if "rule" in note]
    check("--keep-going" in note and "no further operands" in note, note)
    equal(
        [choice["decision"] for choice in question["availableDecisions"]][:2],
        ["approved", SESSION],
        "what is offered first",
    )
    for script in ("./build.sh", "python3 x.py", "sqlite3 x.db", "tar xf x.tar", "env make"):
        question = asks(server, script)
        check(not any(decision == PREFIX for decision, _ in question.offers()), script)


# The program that a rule means


@test
def a_rule_for_a_name_does_not_run_a_program_of_the_workspace(scene):
    home = Home(scene)
    home.rules("[[rule]]\nprefix = ['git', 'push']\ndecision = 'allow'\n")
    evil = "node_modules/.bin/git"
    scene.file("home/project/" + evil, "#!/bin/sh\ntouch made\n", 0o755)
    path = os.path.dirname(os.path.join(home.project, evil)) + ":/usr/bin:/bin"
    server = untrusting(scene, home=home, env={"PATH": path})
    asks(server, "git push")
    asks(server, ["git", "push"])
    check(not exists(server, "made"), "it ran")


@test
def a_rule_does_not_count_behind_cd_through_procfs(scene):
    home = Home(scene)
    home.rules("[[rule]]\nprefix = ['mkdir']\ndecision = 'allow'\n")
    os.mkdir(home.project + "/inner")
    os.symlink("/proc/self/cwd", home.project + "/link")
    server = untrusting(scene, home=home)
    server.exec("cd %s/inner && mkdir a" % home.project)
    equal(server.questions, [], "questions in the workspace")
    for way in ("/proc/self/cwd/inner", "/proc/thread-self/cwd/inner", "/dev/fd/../cwd/inner", "link/inner"):
        asks(server, "cd %s && mkdir b" % way)
        answer = json.loads(home.good_cli(
            "policy", "explain", "--json", "--approval-policy=untrusted", "--",
            "bash", "-c", "cd %s && mkdir b" % way))
        equal(answer["decision"], "prompt", "what explain says of %s" % way)


@test
def a_writable_root_in_path_has_no_harmless_programs(scene):
    server = untrusting(scene, env={"PATH": "/usr/local/bin:/usr/bin:/bin"})
    runs_unasked(server, "ls")
    server.call("session/configure", {"confinement": {"writableRoots": ["/usr/local/bin"]}})
    asks(server, "ls")
    server.call("session/configure", {"confinement": {"writableRoots": []}})
    asks(server, "ls")  # what was there may have been changed
    server.home.config("[confinement]\nwritable_roots = ['/usr/local/bin']\n")
    answer = json.loads(server.home.good_cli(
        "policy", "explain", "--json", "--approval-policy=untrusted", "--", "ls"))
    equal(answer["decision"], "prompt", "what explain says")


@test
def a_rule_does_not_count_with_variables_of_the_session(scene):
    home = Home(scene)
    home.rules("[[rule]]\nprefix = ['touch']\ndecision = 'allow'\n")
    script = scene.file("home/project/env.sh", "touch made\n")
    server = untrusting(scene, home=home)
    server.exec("touch a")
    equal(server.questions, [], "questions")
    policy = {
        "inherit": "all", "ignoreDefaultExcludes": False, "exclude": [], "includeOnly": [],
        "set": {"BASH_ENV": script},
    }
    server.call("session/configure", {"envPolicy": policy})
    question = asks(server, "touch b; touch c")
    check(any("BASH_ENV" in one for one in question["display"]["environment"]), "it is not shown")
    check(not exists(server, "made"), "it ran")


@test
def a_link_to_rules_in_the_workspace_allows_nothing(scene):
    home = Home(scene)
    home.rules("")
    target = scene.file(
        "home/project/r.toml",
        "[[rule]]\nprefix = ['touch']\ndecision = 'allow'\n"
        "[[rule]]\nprefix = ['mkdir']\ndecision = 'forbidden'\n",
    )
    os.chmod(target, 0o600)
    os.symlink(target, os.path.join(home.rules_directory, "linked.toml"))
    server = exec_server(scene, home=home, policy="on-request")
    asks(server, "touch a")
    check("linked.toml: is a link" in server.warning("configInvalid"), "warning")
    checked = home.cli("policy", "explain", "--", "mkdir", "a")
    check("forbidden" in checked.stdout, checked.stdout)


@test
def a_link_to_rules_elsewhere_counts_unless_others_can_write_there(scene):
    home = Home(scene)
    home.rules("")
    target = scene.file("home/dotfiles/r.toml", "[[rule]]\nprefix = ['touch']\ndecision = 'allow'\n")
    os.chmod(target, 0o600)
    os.chmod(os.path.dirname(target), 0o755)
    os.symlink(target, os.path.join(home.rules_directory, "linked.toml"))
    server = untrusting(scene, home=home)
    server.exec("touch a")
    equal(server.questions, [], "questions")
    os.chmod(os.path.dirname(target), 0o777)
    asks(server, "touch a")


@test
def a_chain_of_links_through_the_workspace_is_as_bad_as_one_into_it(scene):
    home = Home(scene)
    safe = home.file("safe/c.toml", "sandbox = 'workspace-write'\n")
    os.makedirs(os.path.join(home.path, "config/execward"), mode=0o700)
    for name, target in (("l.toml", safe), ("l", os.path.dirname(safe))):
        os.symlink(target, os.path.join(home.project, name))
    file = os.path.join(home.path, "config/execward/config.toml")
    for way in ("l.toml", "l/c.toml", "../project/l.toml"):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(file)
        os.symlink(os.path.join(home.project, way), file)
        done = home.cli("run", "--", "true")
        check(done.returncode != 0 and "leads through" in done.stderr, done.stderr)

    os.unlink(file)
    os.symlink(safe, file)
    equal(home.cli("run", "--quiet", "--", "true").returncode, 0, "status with a link elsewhere")


@test
def settings_that_are_a_link_into_the_workspace_are_refused(scene):
    home = Home(scene)
    target = scene.file("home/project/c.toml", 'sandbox = "workspace-write"\n')
    os.chmod(target, 0o600)
    os.makedirs(os.path.join(home.path, "config/execward"), mode=0o700)
    os.symlink(target, os.path.join(home.path, "config/execward/config.toml"))
    done = home.cli("run", "--", "true")
    check(done.returncode != 0 and "config.toml: is a link" in done.stderr, done.stderr)
    other = Home(scene, "other")
    done = home.cli("run", "--quiet", "--", "true", cwd=other.project)
    check("is a link" not in done.stderr, done.stderr)


if __name__ == "__main__":
    main()

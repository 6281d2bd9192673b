"""Ways around a question that were open once: each must be asked about, or told, as it is here."""

import os
import signal
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from support.client import check, equal
from support.exec import Home, denied, exec_server, ran
from support.runner import main, test

SESSION = "approvedForSession"


def untrusting(scene, **options):
    return exec_server(scene, policy="untrusted", **options)


def asks(server, what, **params):
    message_id = server.exec_later(what, **params)
    question = server.question("a question about %s" % (what,))
    server.answer(question, "denied")
    denied(server, message_id)
    return question


def approve(server, what, decision=SESSION, scope=None, **params):
    message_id = server.exec_later(what, **params)
    question = server.question("a question about %s" % (what,))
    server.answer(question, decision, **({"scope": scope} if scope else {}))
    ran(server, message_id)
    return question


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
    question = approve(server, ["bash"], scope="directory", stdin="true\n")
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
    approve(server, "touch a", scope="directory")
    tty = asks(server, "touch a", tty=True)
    check(any("terminal" in note for note in tty["display"]["notes"]), "notes %s" % tty["display"])
    login = asks(server, "touch a", login=True)
    check(any("login" in note for note in login["display"]["notes"]), "notes")


@test
def an_escalation_says_that_it_leaves_the_sandbox(scene):
    server = exec_server(scene, policy="on-request", sandbox="workspace-write")
    question = asks(server, "rm -rf x", sandboxPermissions="requireEscalated")
    equal(question["kind"], "escalation", "kind")
    notes = question["display"]["notes"]
    check(any("outside the sandbox" in note for note in notes), "notes %s" % notes)


@test
def the_database_holds_no_input_and_no_variables(scene):
    server = untrusting(scene)
    approve(server, ["bash"], scope="always", stdin=": hunter2\n", env={"MY_SETTING": "swordfish"})
    equal(server.end(), 0, "exit status")
    found = []
    for folder, _, names in os.walk(os.path.join(server.home.path, "state")):
        for name in names:
            if ".db" not in name:
                continue
            with open(os.path.join(folder, name), "rb") as file:
                content = file.read()
            found.append(name)
            check(b"hunter2" not in content and b"swordfish" not in content, "a secret in " + name)
    check(found, "no database was found")


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
    approve(server, "touch b", scope="project")
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


@test
def a_wait_that_ends_at_the_exit_tells_the_end(scene):
    server = exec_server(scene)
    result = server.exec("echo x; sleep 600 & exit 7", quietMs=1)
    if result["state"] == "running":
        result = server.stdin(result["processId"])
    equal(result["exitCode"], 7, "exit code")


@test
def every_end_is_told_before_the_server_ends(scene):
    server = exec_server(scene)
    ids = [server.left_running("exec sleep 600") for _ in range(10)]
    os.kill(server.pid, signal.SIGTERM)
    for process_id in ids:
        server.wait_end(process_id)
    equal(server.exit_status(), 128 + signal.SIGTERM, "exit status")


@test
def too_long_a_justification_is_refused(scene):
    server = untrusting(scene)
    server.refused(
        "exec/command",
        {"command": "ls", "justification": "x" * (64 * 1024 + 1)},
        -32602,
        "invalidParams",
    )


if __name__ == "__main__":
    main()

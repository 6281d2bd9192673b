"""The texts that a question shows to a person, and the rules that it proposes."""

import os
import sys

sys.path.insert(0, os.path.abspath(__file__ + "/../../.."))
from support.client import check, equal
from support.exec import asks, denied, exec_server, untrusting
from support.runner import main, test


@test
def an_escalation_says_that_it_leaves_the_sandbox(scene):
    server = exec_server(scene, policy="on-request", sandbox="workspace-write")
    question = asks(server, "rm -rf x", sandboxPermissions="requireEscalated")
    equal(question["kind"], "escalation", "kind")
    notes = question["display"]["notes"]
    check(any("outside the sandbox" in note for note in notes), "notes %s" % notes)


@test
def too_long_a_justification_is_refused(scene):
    server = untrusting(scene)
    server.refused(
        "exec/command",
        {"command": "ls", "justification": "x" * (64 * 1024 + 1)},
        -32602,
        "invalidParams",
    )


# Questions


@test
def hidden_characters_of_variables_are_warned_of(scene):
    server = untrusting(scene)
    display = asks(server, "touch a", env={"OTHER": "/x\u202e\u200b"})["display"]
    check(display["hasInvisibleCharacters"], "no warning")
    check("\u202e" not in str(display["environment"]), "it is shown raw")


@test
def look_alikes_are_warned_of_wherever_they_are_shown(scene):
    server = untrusting(scene)
    script = scene.file("home/project/run.sh", "#!/bin/sh\n", 0o755)
    alike = scene.file("home/project/r\u0443n.sh", "#!/bin/sh\n", 0o755)
    link = os.path.join(server.home.project, "tool")
    os.symlink(alike, link)
    directory = os.path.join(server.home.project, "w\u043erk")
    os.mkdir(directory)

    def warns(what, **params):
        return asks(server, what, **params)["display"].get("hasMixedScripts", False)

    check(not warns([script]), "a warning about ASCII")
    for place, what, params in (
        ("words", ["touch", "\u0430bc"], {}),
        ("name of a variable", [script], {"env": {"\u0421I": "1"}}),
        ("value of a variable", [script], {"env": {"OTHER": "/b\u0456n"}}),
        ("directory", [script], {"workdir": directory}),
        ("program behind a link", [link], {}),
        ("input", [script], {"stdin": "git \u0440ush\n"}),
        ("justification", [script], {"justification": "r\u0435ad it"}),
    ):
        check(warns(what, **params), "no warning about the %s" % place)


@test
def a_command_that_fits_into_a_word_is_shown_whole(scene):
    server = untrusting(scene)
    script = "touch a; " * 6667 + "touch end"
    question = asks(server, script)
    equal(question["display"]["command"], script, "the command as shown")
    equal(question["argv"][-1], script, "the command")
    check(len(question["reason"]) < 2000, "the reason is %d bytes long" % len(question["reason"]))


@test
def an_escalation_is_named_whatever_else_is_the_reason(scene):
    server = exec_server(scene, policy="on-request", sandbox="read-only")
    question = asks(
        server, "rm -rf x; touch made", sandboxPermissions="requireEscalated", tty=True
    )
    display = question["display"]
    check(any("outside the sandbox" in note for note in display["notes"]), "notes")
    check(any("terminal" in note for note in display["notes"]), "notes %s" % display["notes"])
    silent = [
        (choice["decision"], choice.get("scope"))
        for choice in question["availableDecisions"]
        if choice["decision"].startswith("approved") and "sandbox" not in choice["description"]
    ]
    equal(silent, [], "choices that do not tell that it leaves the sandbox")


@test
def what_allows_too_much_is_not_proposed(scene):
    server = untrusting(scene)
    for argv, count in (
        (["python3.11", "-c", "0"], 1),
        (["python3", "-u", "x"], 2),
        (["nodejs", "x"], 1),
        (["perl5.36", "x"], 1),
        (["node", "--eval", "0"], 2),
        (["perl", "-E", "0"], 2),
        (["make", "all"], 1),
        (["rm", "-rf", "build"], 2),
        (["find", ".", "-delete"], 2),
        (["git", "-c", "a.b=c", "push"], 2),
        (["git", "-C", "x", "push"], 2),
        (["ssh", "-p", "22", "host"], 3),
        (["npx", "-y", "thing"], 2),
        (["sed", "-i", "s/a/b/", "x"], 1),
        (["gdb", "x"], 1),
    ):
        explained = server.call("policy/explain", {"argv": argv, "prefixRule": argv[:count]})
        check(
            explained.get("proposedPrefixRule") != argv[:count], "%s is proposed" % argv[:count]
        )


@test
def a_prefix_with_hidden_characters_is_not_proposed(scene):
    server = untrusting(scene)
    argv = ["touch", "a\u202eb\x1b[2J"]
    question = asks(server, argv, prefixRule=argv)
    check("proposedPrefixRule" not in question.params, "it is proposed")
    check("prefixRule" not in question["display"], "it is shown")


@test
def what_can_never_run_is_refused_without_a_question(scene):
    server = untrusting(scene)
    message = denied(server, server.exec_later(["touch", "x" * (200 * 1024)]))
    check("131071 at most" in message, "message %r" % message[:200])
    equal(server.questions, [], "questions")


if __name__ == "__main__":
    main()

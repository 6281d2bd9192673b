"""patch/*: patches that are applied without a question, questions to a person, and all or nothing."""

import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.abspath(__file__ + "/../../.."))
from support.client import brief, check, equal, eventually, kill_quietly, within
from support.exec import UNCONFINED, Home, exec_server
from support.patches import adding, cases, patch, read_tree, replacing, write_tree
from support.runner import main, test

CONFINED = "workspace-write"


class Work:
    """A project with files, a directory outside of it, and a server."""

    def __init__(self, scene, outside, **options):
        self.scene, self.outside = scene, outside
        self.home = options.pop("home", None) or Home(scene)
        self.root = self.home.project
        options.setdefault("sandbox", CONFINED)
        options.setdefault("policy", "on-request")
        self.server = exec_server(scene, home=self.home, **options)
        self.journals = os.path.join(self.home.path, "state/execward/patches")

    def file(self, name, text="old\n"):
        path = os.path.join(self.root, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as file:
            file.write(text)
        return path

    def read(self, name):
        with open(os.path.join(self.root, name)) as file:
            return file.read()

    def apply_later(self, text, **params):
        return self.server.request("patch/apply", {"patch": text, **params})

    def apply(self, text, **params):
        return self.server.result(self.apply_later(text, **params))

    def refused(self, text, kind, **params):
        return self.server.error(self.apply_later(text, **params), kind=kind)

    def check(self, text, **params):
        return self.server.call("patch/check", {"patch": text, **params})

    def events(self):
        return [(method, params["callId"]) for method, params in self.server.patch_events]

    def is_tidy(self):
        """Checks that no patch has left anything behind."""
        left = [name for name in os.listdir(self.journals)] if os.path.isdir(self.journals) else []
        for root in (self.root, self.outside):
            left += [path for path in read_tree(root) if ".execward-" in path]
        return not left


def working(**options):
    def decorate(function):
        def run(scene):
            outside = os.path.realpath(tempfile.mkdtemp(prefix="execward-test-", dir="/var/tmp"))
            try:
                work = Work(scene, outside, **options)
                function(work)
                eventually(work.is_tidy, "the end of all that patches put there")
            finally:
                shutil.rmtree(outside, ignore_errors=True)

        run.__name__, run.__doc__ = function.__name__, function.__doc__
        return test(run)

    return decorate


# Applied without a question


@working()
def a_patch_in_the_workspace_is_applied_in_the_sandbox_and_told(work):
    work.file("a/changed")
    work.file("removed")
    work.file("moved")
    text = patch(
        "*** Update File: a/changed", "@@", "-old", "+new",
        "*** Add File: b/c/added", "+text",
        "*** Delete File: removed",
        "*** Update File: moved", "*** Move to: d/there", "@@", "-old", "+other",
    )
    result = work.apply(text, callId="the patch")
    want = {"a/changed": b"new\n", "b/c/added": b"text\n", "d/there": b"other\n"}
    equal(read_tree(work.root), want, "the tree")
    equal(result["decidedBy"], "policy", "decidedBy")
    equal(result["sandbox"]["type"], "linuxSeccomp", "sandbox")
    changes = [(os.path.relpath(f["path"], work.root), f["change"]) for f in result["files"]]
    want = [("a/changed", "update"), ("b/c/added", "add"), ("removed", "delete"), ("moved", "move")]
    equal(changes, want, "changes")
    equal(result["files"][0]["matches"], [{"line": 1, "level": "exact"}], "matches")
    check("-old\n+new\n" in result["files"][0]["diff"], "the diff %r" % result["files"][0]["diff"])
    want = [("patch/begin", "the patch"), ("patch/end", "the patch")]
    equal(work.events(), want, "events")
    equal(work.server.patch_events[1][1]["outcome"], "applied", "outcome")
    equal(work.server.questions, [], "questions")


@working()
def a_check_says_what_would_be_and_changes_nothing(work):
    work.file("f", "old  \nsame\n")
    before = read_tree(work.root)
    result = work.check(patch("*** Update File: f", "@@", "-old", "+new", " same"))
    equal(result["decision"], "allow", "decision")
    equal(result["files"][0]["matches"], [{"line": 1, "level": "trailingBlanks"}], "matches")
    result = work.check(adding(work.outside + "/f", "text"))
    equal(result["decision"], "prompt", "decision about what lies outside")
    check(work.outside in result["reason"], "the reason %r" % result["reason"])
    equal(read_tree(work.root), before, "the tree")
    equal((work.events(), work.server.questions), ([], []), "events and questions")


@working()
def the_command_line_has_the_words_of_the_wire_for_a_patch(work):
    work.file("changed")
    work.file("removed")
    work.file("moved", "other\n")
    text = patch(
        "*** Update File: changed", "@@", "-old", "+new",
        "*** Add File: added", "+text",
        "*** Delete File: removed",
        "*** Update File: moved", "*** Move to: there", "@@", "-other", "+more",
    )
    command = [work.scene.command[0], "patch", "check", "--json"]
    done = subprocess.run(
        command, cwd=work.root, env=work.home.environment(), input=text.encode(),
        capture_output=True, timeout=within(30), check=True,
    )
    told = json.loads(done.stdout)["files"]
    wire = work.check(text)["files"]
    equal(len(wire), 4, "files")
    for one, other in zip(wire, told):
        for word in ("path", "change", "destination", "addedLines", "removedLines", "matches"):
            equal(other.get(word), one.get(word), "%s of %s" % (word, one["path"]))
        equal((other["added"], other["removed"]), (one["addedLines"], one["removedLines"]), "earlier names")


@working()
def paths_are_relative_to_the_workdir(work):
    work.file("sub/f")
    work.apply(replacing("f", "old", "new"), workdir="sub")
    equal(work.read("sub/f"), "new\n", "content")
    equal(work.refused(replacing("f", "old", "new"), "spawnNotFound", workdir="none")["code"], -32603, "code")


@working(sandbox=UNCONFINED)
def without_a_sandbox_it_is_applied_without_one(work):
    result = work.apply(adding(work.outside + "/f", "text"))
    equal(result["sandbox"]["type"], "none", "sandbox")
    equal(read_tree(work.outside), {"f": b"text\n"}, "the tree")


@working(sandbox=UNCONFINED)
def every_case_makes_the_tree_that_it_should(work):
    for name, case in cases().items():
        root = os.path.join(work.root, name)
        os.makedirs(root)
        write_tree(root, case["before"])
        reply = work.server.reply(work.apply_later(case["patch"], workdir=root))
        if "error" in case:
            check("error" in reply, "%s was applied" % name)
            wanted = case["error"] if name != "error_missing_file" else "No such file"
            check(wanted in reply["error"]["message"], "%s: %s" % (name, reply["error"]))
            equal(read_tree(root), case["before"], "the tree of " + name)
            continue
        check("result" in reply, "%s: %s" % (name, brief(reply, 400)))
        equal(read_tree(root), case["after"], "the tree of " + name)


# As commands


@working()
def a_command_that_is_a_patch_is_applied_as_one(work):
    body = replacing("f", "old", "new")
    forms = {
        "apply_patch <<'EOF'\n%sEOF\n" % body: {},
        "cd sub && apply_patch <<'EOF'\n%sEOF\n" % body: {},
        "applypatch <<PATCH\n%sPATCH" % body: {"workdir": "sub"},
    }
    for script, more in forms.items():
        sub = "sub" in script or "workdir" in more
        path = work.file("sub/f" if sub else "f")
        result = work.server.exec(script, **more)
        equal((result["state"], result["exitCode"]), ("completed", 0), brief(result, 400))
        equal(result["output"], "The patch was applied:\nM %s\n" % path, "output")
        check("patch" in result["notice"], "the notice")
        equal(result["sandbox"]["type"], "linuxSeccomp", "sandbox")
        equal(work.read(os.path.relpath(path, work.root)), "new\n", "content")
    work.file("f")
    result = work.server.exec(["apply_patch", body], format="model")
    check("Process exited with code 0" in result["text"], "text %r" % result["text"])
    equal(work.server.programs_by_id, {}, "programs")


@working()
def a_command_whose_patch_does_not_fit_ends_with_1(work):
    work.file("f")
    result = work.server.exec(["apply_patch", replacing("f", "other", "new")])
    equal((result["state"], result["exitCode"]), ("completed", 1), brief(result, 400))
    check("other" in result["output"] and "read the file again" in result["output"], "output %r" % result)
    error = work.server.exec_refused(replacing("f", "old", "new"), kind="invalidParams")
    check("apply_patch" in error["message"] + error["data"].get("hint", ""), "message %r" % error)
    equal(work.read("f"), "old\n", "content")


@working(policy="never")
def other_commands_with_a_patch_in_them_are_commands(work):
    script = "apply_patch <<'EOF'\n%sEOF\n" % replacing("f", "old", "new")
    for other in (script + "echo more", "echo first; " + script, "apply_patch", "cat " + script[12:]):
        work.file("f")
        reply = work.server.reply(work.server.exec_later(other))
        notice = reply.get("result", {}).get("notice", "")
        check("patch" not in notice, "%r was taken for a patch" % other)


def scripts_with(first, second):
    """Returns scripts that apply two patches, or one of them twice, each with other commands."""
    here = "apply_patch <<'EOF'\n%sEOF\n" % first
    return {
        here + "cat f": "new\n",
        "cat <<'EOF' | apply_patch && cat f\n%sEOF\n" % first: "new\n",
        "apply_patch '%s' && cat f" % first: "new\n",
        "apply_patch \"%s\"; cat f" % first: "new\n",
        "for n in 1; do apply_patch <<'EOF'\n%sEOF\ndone; cat f" % first: "new\n",
        here + "apply_patch <<'EOF'\n%sEOF\ncat f" % second: "newer\n",
        "mkdir -p sub; cd sub; cp ../f f; " + here + "cat f; cat ../f": "new\nold\n",
    }


@working()
def apply_patch_is_a_program_that_any_script_can_use(work):
    patches = [replacing("f", "old", "new"), replacing("f", "new", "newer")]
    for sandbox in (CONFINED, UNCONFINED):
        work.server.call("session/configure", {"sandbox": sandbox})
        for script, content in scripts_with(*patches).items():
            work.file("f")
            result = work.server.exec(script)
            check(result["output"].endswith(content), "%r: %s" % (script, brief(result, 600)))
            shutil.rmtree(os.path.join(work.root, "sub"), ignore_errors=True)


@working()
def what_apply_patch_cannot_do_in_a_script_is_told_and_not_done(work):
    work.file("f")
    result = work.server.exec("apply_patch '%s'; echo $?; ls" % replacing("f", "other", "new"))
    check("\n1\n" in result["output"], "not told: %s" % brief(result, 400))
    equal(work.read("f"), "old\n", "content")
    result = work.server.exec("apply_patch a b; echo $?")
    check("usage: apply_patch" in result["output"] and "2\n" in result["output"], brief(result, 400))
    outside = adding(work.outside + "/f", "text")
    result = work.server.exec("apply_patch '%s'; echo $?" % outside)
    check(result["output"].endswith("1\n"), "outside: %s" % brief(result, 400))
    equal(read_tree(work.outside), {}, "the tree outside")


@working()
def a_command_that_is_a_patch_is_asked_about_as_one(work):
    asked = work.server.exec_later(["apply_patch", adding(work.outside + "/f", "text")])
    question = work.server.question()
    equal(question["kind"], "patch", "kind")
    work.server.answer(question, "denied")
    work.server.error(asked, kind="denied")
    equal(read_tree(work.outside), {}, "the tree")


@working()
def what_codex_makes_of_a_patch_through_fs_is_made_here_too(work):
    """The trees are those that a real Codex made with fs/* from the same patches."""
    work.file("keep", "one\ntwo\nthree\n")
    work.file("gone", "bye\n")
    work.file("old/name", "alpha\nbeta\n")
    work.apply(
        patch(
            "*** Update File: keep", "@@", " one", "-two", "+TWO \u20ac", " three",
            "*** Add File: sub/dir/new", "+fresh",
            "*** Delete File: gone",
            "*** Update File: old/name", "*** Move to: new/name", "@@", " alpha", "-beta", "+gamma",
        )
    )
    tree = {"keep": "one\nTWO \u20ac\nthree\n".encode(), "sub/dir/new": b"fresh\n", "new/name": b"alpha\ngamma\n"}
    equal(read_tree(work.root), tree, "the tree")
    work.refused(patch("*** Update File: keep", "@@", "-nope", "+yes", "*** Update File: missing", "@@", "-a", "+b"), "invalidParams")
    equal(read_tree(work.root), tree, "the tree after what does not fit")
    work.server.exec("apply_patch <<'EOF'\n%sEOF\n" % replacing("keep", "one", "ONE"))
    equal(work.read("keep"), "ONE\nTWO \u20ac\nthree\n", "content")


# Refusals


@working()
def what_does_not_fit_changes_nothing_and_names_the_line(work):
    work.file("one")
    work.file("two")
    text = patch(
        "*** Update File: one", "@@", "-old", "+new",
        "*** Update File: two", "@@", "-other", "+new",
    )
    error = work.refused(text, "invalidParams")
    check("line 7" in error["message"] and "other" in error["message"], "message %r" % error)
    equal((work.read("one"), work.read("two")), ("old\n", "old\n"), "contents")
    work.refused("no patch", "invalidParams")
    work.refused(patch(), "invalidParams")
    work.refused(replacing("missing", "old", "new"), "notFound")
    equal(work.events(), [], "events")


@working(policy="never")
def where_nobody_may_be_asked_what_lies_outside_is_refused(work):
    error = work.refused(adding(work.outside + "/f", "text"), "denied")
    check(work.outside in error["message"], "message %r" % error["message"])
    work.apply(adding("f", "text"))
    equal((read_tree(work.outside), work.read("f")), ({}, "text\n"), "trees")


@working(approvals=False)
def a_client_that_cannot_ask_is_refused_what_needs_a_question(work):
    error = work.refused(adding(work.outside + "/f", "text"), "denied")
    check("capabilities.approvals" in error["message"], "message %r" % error["message"])
    equal(read_tree(work.outside), {}, "the tree")


# Questions


@working()
def a_question_shows_the_files_and_what_changes(work):
    path = os.path.join(work.outside, "f")
    asked = work.apply_later(adding(path, "te\x1bxt"), justification="because")
    question = work.server.question()
    equal(question["kind"], "patch", "kind")
    (file,) = question["files"]
    equal((file["path"], file["change"], file["addedLines"]), (path, "add", 1), "the file")
    check("te\\x1bxt" in file["diff"] and "\x1b" not in file["diff"], "the diff %r" % file["diff"])
    equal(question["display"]["command"], "A " + path, "command")
    equal(question["display"]["justification"], "because", "justification")
    equal(read_tree(work.outside), {}, "before the answer")
    work.server.answer(question, "approved")
    equal(work.server.result(asked)["decidedBy"], "client", "decidedBy")
    equal(read_tree(work.outside), {"f": b"te\x1bxt\n"}, "after the answer")


@working()
def a_denial_changes_nothing(work):
    asked = work.apply_later(adding(work.outside + "/f", "text"))
    work.server.answer(work.server.question(), "denied", reason="not there")
    check("not there" in work.server.error(asked, kind="denied")["message"], "the reason")
    equal(read_tree(work.outside), {}, "the tree")
    events = [row["event"] for row in work.home.audit()]
    check("question" in events and "decision" in events and "start" not in events, "audit %s" % events)


@working()
def a_session_approval_is_for_each_file_and_no_other(work):
    first, second = work.outside + "/first", work.outside + "/second"
    both = patch("*** Add File: " + first, "+1", "*** Add File: " + second, "+2")
    asked = work.apply_later(both)
    work.server.answer(work.server.question(), "approvedForSession", scope="session")
    work.server.result(asked)
    result = work.apply(replacing(second, "2", "two"))
    equal(result["decidedBy"], "grant", "decidedBy")
    more = patch("*** Update File: " + first, "@@", "-1", "+one", "*** Add File: " + work.outside + "/third", "+3")
    asked = work.apply_later(more)
    work.server.answer(work.server.question("a question about the third"), "denied")
    work.server.error(asked, kind="denied")
    equal(read_tree(work.outside), {"first": b"1\n", "second": b"two\n"}, "the tree")
    listed = [info["command"] for info in work.server.approvals()]
    equal(sorted(listed), ["apply_patch " + first, "apply_patch " + second], "approvals")


@working()
def what_git_and_agents_obey_is_asked_about_also_in_the_workspace(work):
    work.server.call("session/configure", {"sandbox": UNCONFINED})
    for name in (".git/hooks/pre-commit", ".codex/config.toml", "sub/.git/config"):
        asked = work.apply_later(adding(name, "text"))
        work.server.answer(work.server.question("a question about " + name), "denied")
        work.server.error(asked, kind="denied")
    work.server.call("session/configure", {"sandbox": CONFINED})
    asked = work.apply_later(adding(".agents/x", "text"))
    work.server.answer(work.server.question("a question in the sandbox"), "approved")
    work.server.result(asked)
    equal(work.read(".agents/x"), "text\n", "content")


@working()
def a_link_that_leads_out_is_where_it_leads(work):
    os.symlink(work.outside, os.path.join(work.root, "link"))
    with open(os.path.join(work.outside, "f"), "w") as file:
        file.write("old\n")
    os.symlink(os.path.join(work.outside, "f"), os.path.join(work.root, "to-f"))
    for name in ("link/new", "to-f", os.path.relpath(work.outside, work.root) + "/other"):
        text = replacing(name, "old", "new") if name == "to-f" else adding(name, "new")
        asked = work.apply_later(text)
        question = work.server.question("a question about " + name)
        check(question["files"][0]["path"].startswith(work.outside + "/"), "path %s" % question["files"])
        work.server.answer(question, "denied")
        work.server.error(asked, kind="denied")
    equal(read_tree(work.outside), {"f": b"old\n"}, "the tree")


@working()
def what_changes_while_a_person_thinks_is_not_overwritten(work):
    path = os.path.join(work.outside, "f")
    with open(path, "w") as file:
        file.write("old\nmore\n")
    asked = work.apply_later(replacing(path, "old", "new"))
    question = work.server.question()
    with open(path, "w") as file:
        file.write("old\nless\n")
    work.server.answer(question, "approved")
    work.server.error(asked, kind="changed")
    with open(path) as file:
        equal(file.read(), "old\nless\n", "content")
    equal([p["outcome"] for m, p in work.server.patch_events if m == "patch/end"], ["failed"], "end")


@working()
def a_cancelled_patch_withdraws_its_question(work):
    asked = work.apply_later(adding(work.outside + "/f", "text"))
    question = work.server.question()
    work.server.notify("$/cancelRequest", {"id": asked})
    work.server.error(asked, kind="cancelled")
    work.server.wait_withdrawn(question)
    equal(read_tree(work.outside), {}, "the tree")


@working()
def an_abort_is_of_commands_and_patches(work):
    patched = work.apply_later(adding(work.outside + "/f", "text"))
    first = work.server.question()
    command = work.server.exec_later("touch x", sandboxPermissions="requireEscalated")
    second = work.server.question()
    work.server.answer(second, "abort")
    work.server.error(command, kind="denied")
    work.server.error(patched, kind="denied")
    work.server.wait_withdrawn(first)


@working(sandbox=UNCONFINED)
def of_two_patches_of_one_file_one_is_applied_and_whole(work):
    for number in range(10):
        os.mkdir(os.path.join(work.root, "r%d" % number))
        texts = {
            name: patch("*** Add File: p/shared", "+same", "*** Add File: " + name, "+own")
            for name in ("one", "other")
        }
        asked = {
            name: work.apply_later(text, workdir="r%d" % number) for name, text in texts.items()
        }
        applied = [name for name, one in asked.items() if "result" in work.server.reply(one)]
        want = {name: b"own\n" for name in applied}
        if applied:
            want["p/shared"] = b"same\n"
        check(applied, "none of two was applied")
        equal(read_tree(os.path.join(work.root, "r%d" % number)), want, "the tree")


@test
def the_choice_that_the_server_was_given_is_for_patches_too(scene):
    server = exec_server(scene, "--sandbox", "require")
    path = os.path.join(server.home.project, "f")
    error = server.error(server.request("patch/apply", {"patch": adding(path, "x")}), kind="denied")
    check("--sandbox require" in error["data"]["hint"], "hint %r" % error)
    server.call("session/configure", {"sandbox": CONFINED, "approvalPolicy": "on-request"})
    outside = adding("/var/tmp/execward-test-never", "x")
    equal(server.call("patch/check", {"patch": outside})["decision"], "forbidden", "decision")
    server.error(server.request("patch/apply", {"patch": outside}), kind="denied")
    server = exec_server(scene, "--sandbox", "forbid", sandbox=CONFINED, home=server.home)
    server.error(server.request("patch/apply", {"patch": adding(path, "x")}), kind="sandboxUnavailable")
    check(not os.path.exists(path), "it was applied")


@working()
def a_patch_of_many_files_is_approved_once_only(work):
    names = ["%s/%d" % (work.outside, number) for number in range(51)]
    asked = work.apply_later(patch(*(line for name in names for line in ("*** Add File: " + name, "+x"))))
    question = work.server.question()
    equal({decision for decision, _ in question.offers()}, {"approved", "denied", "abort"}, "offers")
    work.server.answer(question, "approved")
    work.server.result(asked)
    equal(len(read_tree(work.outside)), 51, "files")


@working()
def no_more_patches_than_the_limit_wait(work):
    asked = [work.apply_later(adding(work.outside + "/f%d" % n, "text")) for n in range(64)]
    for _ in asked:
        work.server.question()
    work.refused(adding("inside", "text"), "limit")
    work.server.notify("$/cancelRequest", {"id": asked[0]})
    work.server.error(asked[0], kind="cancelled")
    work.apply(adding("inside", "text"))
    equal(read_tree(work.root), {"inside": b"text\n"}, "the tree")


@working()
def a_cancel_of_a_patch_at_work_undoes_it_or_comes_too_late(work):
    before = {"d%d/f" % i: b"old\n" + b"line\n" * 5000 for i in range(30)}
    after = {path: data.replace(b"old", b"new") for path, data in before.items()}
    text = patch(*(line for path in before for line in ("*** Update File: " + path, "@@", "-old", "+new")))
    for _ in range(8):
        write_tree(work.root, before)
        events = len(work.server.patch_events)
        asked = work.apply_later(text)
        work.server.wait(lambda n=events: len(work.server.patch_events) > n, "patch/begin")
        work.server.notify("$/cancelRequest", {"id": asked})
        reply = work.server.reply(asked)
        eventually(work.is_tidy, "the end of the patch")
        equal(read_tree(work.root), after if "result" in reply else before, "the tree")


@working(policy="untrusted")
def an_untrusting_policy_asks_and_the_sandbox_stays(work):
    asked = work.apply_later(adding("f", "text"))
    work.server.answer(work.server.question(), "approved")
    equal(work.server.result(asked)["sandbox"]["type"], "linuxSeccomp", "sandbox")
    equal(work.read("f"), "text\n", "content")


# Interrupted patches


@test
def a_server_that_is_killed_leaves_the_old_tree_or_the_new_one(scene):
    outside = os.path.realpath(tempfile.mkdtemp(prefix="execward-test-", dir="/var/tmp"))
    home = Home(scene)
    try:
        before = {"d%d/f" % i: b"old %d\n" % i + b"line\n" * 2000 for i in range(12)}
        after = {path: data.replace(b"old", b"new") for path, data in before.items()}
        parts = []
        for path in before:
            number = int(path[1:].split("/")[0])
            parts += ["*** Update File: " + path, "@@", "-old %d" % number, "+new %d" % number]
        for delay in range(14):
            shutil.rmtree(home.project)
            os.makedirs(home.project + "/.git")
            write_tree(home.project, before)
            work = Work(scene, outside, home=home, sandbox=UNCONFINED)
            work.server.may_be_cut = True
            work.apply_later(patch(*parts))
            end_at(work, delay)
            kill_quietly(work.server.worker())
            work.server.exit_status()
            work = Work(scene, outside, home=home, sandbox=UNCONFINED)
            eventually(work.is_tidy, "what the next server does")
            tree = read_tree(home.project)
            check(tree in (before, after), "a tree in between after %d" % delay)
            work.server.end()
    finally:
        shutil.rmtree(outside, ignore_errors=True)


def end_at(work, moment):
    """Waits for one of several moments in a patch."""

    def has_ended():  # the journal exists only for some milliseconds
        return any(method == "patch/end" for method, _ in work.server.patch_events)

    def has_journal():
        return os.path.isdir(work.journals) and os.listdir(work.journals)

    if moment < 4:
        eventually(lambda: has_ended() or has_journal(), "a journal")
    wanted = 3 * (moment - 4)

    def has_come():
        staged = [path for path in read_tree(work.root) if ".execward-" in path]
        return len(staged) >= wanted or has_ended()

    with contextlib.suppress(FileNotFoundError):  # names appear and disappear
        eventually(has_come, "the moment")


if __name__ == "__main__":
    main()

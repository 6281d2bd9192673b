"""execward patch: patches from a shell, in real trees, and patches that are killed."""

import base64
import glob
import json
import os
import signal
import subprocess
import sys

sys.path.insert(0, os.path.abspath(__file__ + "/../../.."))
from support.client import REPOSITORY, check, equal, within
from support.patch_stress import Stress, read_tree
from support.runner import main, test

CASES = sorted(glob.glob(os.path.join(REPOSITORY, "tests", "patches", "*.json")))
HELLO = "*** Add File: hello\n+hello\n"


def whole(changes):
    return "*** Begin Patch\n%s*** End Patch\n" % changes


def patch(scene, *arguments, text="", **variables):
    """Runs the subcommand in scene.path('work')."""
    os.makedirs(scene.path("work"), exist_ok=True)
    environment = dict(os.environ, HOME=scene.directory, XDG_STATE_HOME=scene.path("state"))
    return subprocess.run(
        [scene.command[0], "patch", *arguments],
        cwd=scene.path("work"),
        env=dict(environment, **variables),
        input=text.encode(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        timeout=within(30),
    )


def done(scene, *arguments, text="", **variables):
    """Checks that it succeeded without a word on stderr. Returns the output."""
    run = patch(scene, *arguments, text=text, **variables)
    equal((run.returncode, run.stderr.decode()), (0, ""), "status and errors")
    return run.stdout.decode()


def refused(scene, *arguments, text="", status=1, **variables):
    """Checks that it failed. Returns the text on stderr."""
    run = patch(scene, *arguments, text=text, **variables)
    equal(run.returncode, status, "status")
    equal(run.stdout, b"", "output")
    return run.stderr.decode()


def write(scene, files):
    for path, content in files.items():
        place = scene.path("work", path)
        os.makedirs(os.path.dirname(place), exist_ok=True)
        with open(place, "wb") as file:
            file.write(content)


def tree(scene):
    """Returns all files and directories."""
    files = {}
    for directory, _, names in os.walk(scene.path("work")):
        for name in names:
            path = os.path.join(directory, name)
            with open(path, "rb") as file:
                files[os.path.relpath(path, scene.path("work"))] = file.read()
    return files


def journals(scene):
    place = scene.path("state", "execward", "patches")
    return os.listdir(place) if os.path.isdir(place) else []


def bytes_of(content):
    return content.encode() if isinstance(content, str) else base64.b64decode(content["base64"])


def play(scene, case):
    lines = case["patch"]
    text = lines if isinstance(lines, str) else "".join(line + "\n" for line in lines)
    before = {path: bytes_of(content) for path, content in case["before"].items()}
    subprocess.run(["rm", "-rf", scene.path("work")], check=True)
    write(scene, before)
    if "error" in case:
        part = case["error"]
        for action in ("check", "apply"):
            said = refused(scene, action, text=text)
            # The system's message for a missing file differs from that of the tree in memory.
            check(part in said or "No such file or directory" in said, "no '%s' in: %s" % (part, said))
        equal(tree(scene), before, "files after a refusal")
        return
    looked = json.loads(done(scene, "check", "--json", text=text))
    equal(tree(scene), before, "files after a check")
    equal(json.loads(done(scene, "apply", "--json", text=text)), looked, "what apply tells")
    after = {path: bytes_of(content) for path, content in case["after"].items()}
    equal(tree(scene), after, "files afterwards")
    for path, matches in case.get("matches", {}).items():
        real = os.path.realpath(scene.path("work", path))
        found = [file["matches"] for file in looked["files"] if file["path"] == real]
        equal(found, [matches], "matches of " + path)


@test
def the_value_of_an_option_is_never_the_action(scene):
    write(scene, {"patch": whole(HELLO).encode(), "apply/patch": whole(HELLO).encode()})
    before = tree(scene)

    for option in (["--directory", "apply"], ["--dir", "apply"], ["--directory=apply"]):
        check("+hello" in done(scene, *option, "check", "patch"), "no change shown: %s" % option)
        equal(tree(scene), before, "files after a check with %s" % option)


@test
def test_each_patch_of_the_corpus_makes_what_it_is_said_to_make(scene):
    check(len(CASES) >= 60, "only %d cases" % len(CASES))
    for path in CASES:
        with open(path, encoding="utf-8") as file:
            case = json.load(file)
        try:
            play(scene, case)
        except Exception as error:
            raise type(error)("%s: %s" % (os.path.basename(path), error)) from error
    equal(journals(scene), [], "journals")


@test
def test_apply_prints_a_line_for_each_file(scene):
    write(scene, {"a": b"1\n", "b": b"1\n", "c": b"1\n"})
    changes = (
        "*** Update File: a\n-1\n+2\n*** Update File: b\n*** Move to: d/b\n-1\n+2\n"
        "*** Delete File: c\n" + HELLO
    )
    printed = done(scene, "apply", text=whole(changes))
    equal(printed, "M a\nR b -> d/b\nD c\nA hello\n", "summary")
    equal(tree(scene), {"a": b"2\n", "d/b": b"2\n", "hello": b"hello\n"}, "files")


@test
def test_check_shows_diff_and_what_did_not_fit_exactly(scene):
    write(scene, {"a": b"1\n  2\n3\n"})
    printed = done(scene, "check", text=whole("*** Update File: a\n@@ 1\n-2\n+two\n"))
    check("M a (+1 -1)\n--- a\n+++ a\n" in printed, printed)
    check("-  2\n+  two\n" in printed, printed)
    note = "note: chunk 1 of a fits at line 2 if blanks at both ends of lines are disregarded\n"
    check(note in printed, printed)
    equal(tree(scene), {"a": b"1\n  2\n3\n"}, "files")
    equal(journals(scene), [], "journals")


@test
def test_a_patch_comes_from_a_file_or_from_stdin(scene):
    scene.file("patch", whole(HELLO))
    equal(done(scene, "apply", scene.path("patch")), "A hello\n", "from a file")
    equal(done(scene, "apply", "-", text=whole("*** Delete File: hello\n")), "D hello\n", "from -")
    said = refused(scene, "apply", scene.path("missing"))
    check("cannot read" in said and "No such file" in said, said)
    said = refused(scene, "apply", text="")
    check("the patch is empty" in said, said)


@test
def test_paths_are_relative_to_the_directory_and_stay_below_the_roots(scene):
    write(scene, {"sub/x": b"", "other/x": b""})
    done(scene, "apply", "--directory", "sub", text=whole(HELLO))
    check(os.path.exists(scene.path("work", "sub", "hello")), "it is somewhere else")
    above = whole("*** Add File: ../other/y\n+y\n")
    said = refused(scene, "apply", "--directory", "sub", text=above)
    check("leads to" in said and "--root" in said, said)
    done(scene, "apply", "--directory", "sub", "--root", "other", text=above)
    said = refused(scene, "apply", "--root", "other", text=whole(HELLO))
    check("outside of" in said, said)
    said = refused(scene, "apply", "--root", "nowhere", text=whole(HELLO))
    check("--root nowhere: No such file or directory" in said, said)


@test
def test_what_does_not_fit_changes_nothing_and_is_explained(scene):
    write(scene, {"a": b"1\n", "b": b"1\n"})
    before = tree(scene)
    for action in ("check", "apply"):
        said = refused(
            scene, action, text=whole("*** Update File: a\n-1\n+2\n*** Update File: b\n-x\n+y\n")
        )
        check(said.startswith("execward: b: line 6: "), said)
    equal(tree(scene), before, "files")
    equal(journals(scene), [], "journals")


@test
def test_names_cannot_write_on_the_terminal(scene):
    said = refused(scene, "apply", text=whole("*** Delete File: a\x1b[2Jb\n"))
    check("\x1b" not in said and "\\x1b" in said, said)


@test
def test_usage_is_told_with_status_2(scene):
    for arguments in ([], ["undo"], ["apply", "a", "b"], ["recover", "a"], ["apply", "--nonsense"]):
        run = patch(scene, *arguments)
        equal(run.returncode, 2, "status of %s" % arguments)
        check(run.stderr, "nothing is said")
    for arguments in (["--help"], ["apply", "--help"]):
        printed = done(scene, *arguments)
        check("Exit status:" in printed and "*** Begin Patch" in printed, printed)


@test
def test_the_example_of_the_help_can_be_applied(scene):
    printed = done(scene, "--help")
    example = printed[printed.index("  *** Begin Patch"):printed.index("  EOF\n")]
    write(scene, {"src/main.c": b"int main(void)\n{\n    return 1;\n}\n"})
    text = "".join(line[2:] + "\n" for line in example.splitlines())
    equal(done(scene, "apply", text=text), "M src/main.c\nA docs/NEWS\n", "summary")


@test
def test_without_a_place_for_journals_nothing_is_applied(scene):
    scene.file("state-file", "")
    said = refused(
        scene, "apply", text=whole(HELLO), XDG_STATE_HOME=scene.path("state-file")
    )
    check("journal" in said, said)
    equal(tree(scene), {}, "files")


@test
def test_a_killed_patch_is_put_right_by_the_next_command_and_told(scene):
    stress = Stress(scene.command[0], scene.directory, 1)
    for _ in range(300):
        stress.kill_near(stress.first_is_new)
        if os.listdir(stress.journals):
            break
    child = stress.start("recover")
    printed, errors = child.communicate()
    equal((child.returncode, errors), (0, b""), "status and errors")
    check(b"file0\n" in printed and printed.split(b" ")[0] in (b"undone", b"finished"), printed)
    check(read_tree(stress.root)[0] in (stress.before, stress.after), "it is neither old nor new")


@test
def test_a_journal_that_cannot_be_read_is_told_and_kept(scene):
    token = "0123456789abcdef" * 2
    scene.file("state/execward/patches/" + token, "something newer\n")
    said = refused(scene, "recover")
    check(token in said, said)
    run = patch(scene, "apply", text=whole(HELLO))
    equal(run.returncode, 0, "status of an apply all the same")
    equal(journals(scene), [token], "journals")


@test
def test_of_two_patches_at_once_one_is_applied_as_a_whole(scene):
    names = ["d%d/f%d" % (number % 3, number) for number in range(12)]
    for _ in range(30):
        write(scene, {name: b"old\n" for name in names})
        texts = {}
        for word, order in (("A", names), ("B", names[::-1])):
            texts[word] = whole(
                "".join("*** Update File: %s\n-old\n+%s\n" % (name, word) for name in order)
            )
        environment = dict(os.environ, XDG_STATE_HOME=scene.path("state"))
        children = [
            subprocess.Popen(
                [scene.command[0], "patch", "apply", scene.file("patch" + word, text)],
                cwd=scene.path("work"), env=environment,
                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            )
            for word, text in texts.items()
        ]
        statuses = sorted(child.wait(within(30)) for child in children)
        equal(statuses, [0, 1], "statuses")
        equal(sorted(tree(scene)), sorted(names), "files")
        equal(len(set(tree(scene).values())), 1, "different contents")


@test
def test_signals_of_a_terminal_leave_all_or_nothing(scene):
    stress = Stress(scene.command[0], scene.directory, 2)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        stress.kill_near(stress.staged, number)
        files = read_tree(stress.root)[0]
        check(files in (stress.before, stress.after), "after signal %d: %s" % (number, sorted(files)))
        equal(os.listdir(stress.journals), [], "journals")


@test
def test_kills_at_any_moment_leave_all_or_nothing(scene):
    stress = Stress(scene.command[0], scene.directory, 3)
    rounds = 0
    while rounds < 60 or (stress.counts["journal"] <= 5 and rounds < 600):
        stress.round()  # on a busy machine more kills come too late
        rounds += 1
    check(stress.counts["journal"] > 5, "too few were killed on their way: %s" % stress.counts)


if __name__ == "__main__":
    main()

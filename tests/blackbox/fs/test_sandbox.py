"""fs/* with a sandbox: a request has exactly the rights of a program in that sandbox."""

import contextlib
import ctypes
import os
import shutil
import sys
import threading
import time

sys.path.insert(0, os.path.abspath(__file__ + "/../../.."))
from support import machines
from support.client import (
    check,
    equal,
    eventually,
    file_uri,
    is_alive,
    kill_quietly,
    program_of,
    within,
)
from support.files import (
    CODES,
    MOST_AT_ONCE,
    Files,
    Held,
    block,
    can_hold,
    content,
    copying,
    on,
    part,
    picture,
    put,
    temporaries,
    walking,
    writing,
)
from support.runner import main
from support.sandboxes import (
    READ_ONLY,
    READS_ALL,
    WRITES_WORKSPACE,
    at,
    both_forms,
    keeps_walks,
    matching,
    mode,
    permissions,
    sandbox_test,
)

REFUSALS = ("permissionDenied", "readOnly")
ROUNDS, FEWEST_ROUNDS = 200, 60  # of a race
TIME_FOR_ROUNDS = within(25)
AT_FDCWD, RENAME_EXCHANGE = -100, 2


def confined(site, sandbox=None):
    """Returns the methods in a sandbox that may write the workspace."""
    return Files(site.server, sandbox=sandbox or both_forms(site.workspace)["mode"])


def hiding(site, *places):
    """Returns a sandbox that may write the workspace, but neither read nor write these paths in it.
    """
    entries = [READS_ALL, WRITES_WORKSPACE, *[at(place, "deny") for place in places]]
    return permissions(entries, roots=[site.workspace])


def refusal(answer, what, kinds=REFUSALS):
    """Expects an error about missing rights."""
    check("error" in answer, "not refused: %s: %s" % (what, str(answer)[:200]))
    kind = answer["error"]["data"]["kind"]
    check(kind in kinds, "%s: refused as %s: %s" % (what, kind, answer["error"]["message"]))
    equal(answer["error"]["code"], CODES[kind], "code of %s" % kind)


def refused(files, method, params, kinds=REFUSALS):
    refusal(files.server.reply(files.send(method, params)), "%s %s" % (method, params), kinds)


def everything_that_writes(root, source):
    """Returns a request of each kind that would change something below `root`, where `tree` is."""
    return [
        ("writeFile", writing(root + "/new", b"x")),
        ("writeFile", writing(root + "/file", b"x")),
        ("createDirectory", on(root + "/new/directory")),
        ("createDirectory", on(root + "/new", recursive=False)),
        ("remove", on(root + "/file")),
        ("remove", on(root + "/tree")),
        ("copy", copying(source, root + "/new")),
        ("copy", copying(source, root + "/file")),
        ("copy", copying(root + "/tree", root + "/new", recursive=True)),
        ("open", on(root + "/file", handleId="w", mode="replace")),
        ("open", on(root + "/new", handleId="w", mode="replace")),
    ]


def plant(root):
    """Creates files to be changed."""
    os.makedirs(os.path.join(root, "tree", "inner"), exist_ok=True)
    put(os.path.join(root, "file"), b"old")
    put(os.path.join(root, "tree", "inner", "file"), b"old")


# Allowed and refused requests


@sandbox_test
def inside_everything_works_and_outside_nothing_is_changed(site):
    source = put(site.inside("source"), b"source")
    plant(site.outside)
    before = picture(site.outside)
    for name, sandbox in both_forms(site.workspace).items():
        files, root = confined(site, sandbox), site.inside(name.replace(" ", "-"))
        files.call("createDirectory", on(root + "/a/b"))
        files.write(root + "/a/file", name.encode())
        equal(content(root + "/a/file"), name.encode(), "content")
        files.write(root + "/a/file", b"replaced")
        equal(files.read(root + "/a/file"), b"replaced", "read")
        files.call("copy", copying(root + "/a", root + "/c", recursive=True))
        files.call("copy", copying(site.beyond("file"), root + "/from-outside"))
        equal(content(root + "/from-outside"), b"old", "copy from outside")
        equal(files.call("getMetadata", on(root + "/c/file"))["size"], 8, "size")
        found = sorted(one["path"][len(file_uri(root)) :] for one in files.walk(root)["entries"])
        equal(found, ["/a", "/a/b", "/a/file", "/c", "/c/b", "/c/file", "/from-outside"], "walk")
        files.call("remove", on(root + "/c"))
        check(not os.path.exists(root + "/c"), "it is still there")
        equal(files.read(site.beyond("file")), b"old", "what may be read outside")
        for method, params in everything_that_writes(site.outside, source):
            refused(files, method, params)
            equal(site.litter(), [], "litter after %s" % method)
        equal(picture(site.outside), before, "outside, with " + name)


@sandbox_test
def a_sandbox_without_writable_roots_writes_nowhere(site):
    plant(site.workspace)
    source = put(site.inside("source"), b"source")
    before = picture(site.workspace)
    for sandbox in (mode(READ_ONLY, policyCwd=site.workspace), permissions([READS_ALL])):
        files = confined(site, sandbox)
        equal(files.read(site.inside("file")), b"old", "content")
        for method, params in everything_that_writes(site.workspace, source):
            refused(files, method, params)
        equal(picture(site.workspace), before, "the workspace")


@sandbox_test
def names_that_are_not_text_work_in_a_sandbox_too(site):
    files = confined(site)
    path = os.path.join(os.fsencode(site.workspace), b"caf\xe9\n\xff")
    files.write(path, b"content")
    equal((content(path), files.read(path)), (b"content", b"content"), "content")
    equal(files.call("canonicalize", on(path))["path"], file_uri(os.path.realpath(path)), "path")


@sandbox_test
def a_denied_path_cannot_be_read_by_any_way(site):
    secret, plain = site.inside("secret"), put(site.inside("plain"), b"plain")
    os.makedirs(secret + "/deep")
    put(secret + "/file", b"very secret")
    put(secret + "/deep/name-that-is-secret", b"very secret")
    alone = put(site.inside("alone"), b"very secret")
    files = confined(site, hiding(site, secret, alone))
    equal(files.read(plain), b"plain", "what is not denied")
    # Created while no sandbox exists that could have seen them.
    os.symlink(secret, site.inside("link"))
    os.symlink(secret + "/file", site.inside("link-to-file"))
    os.symlink("alone", site.inside("link-to-alone"))
    ways = [secret + "/file", alone, "link/file", "link-to-file", "link-to-alone", "link/../secret/file"]
    for number, way in enumerate(ways):
        path = site.inside(way)
        for method, params in (
            ("readFile", on(path)),
            ("open", on(path, handleId="h%d" % number)),
            ("copy", copying(path, site.inside("copy"))),
            ("writeFile", writing(path, b"new")),
            ("open", on(path, handleId="w%d" % number, mode="replace")),
        ):
            refused(files, method, params, (*REFUSALS, "notFound", "wrongKind", "ioFailed"))
    for way in (secret, site.inside("link")):
        answer = site.server.reply(files.send("readDirectory", on(way)))
        check("file" not in str(answer.get("result")), "names are told: %s" % answer)
        copy = files.send("copy", copying(way, site.inside("copied"), recursive=True))
        site.server.reply(copy)
        check(not os.path.exists(site.inside("copied", "file")), "the tree was copied")
    for follow in (False, True):
        told = str(files.walk(site.workspace, follow=follow))
        check("secret/file" not in told and "name-that-is" not in told, "a walk tells of it")
    files.server.reply(files.send("remove", on(secret)))
    equal(content(secret + "/file"), b"very secret", "content")
    equal(content(alone), b"very secret", "content of the other")


@sandbox_test
def a_pattern_that_denies_is_heeded(site):
    put(site.inside("key.pem"), b"very secret")
    os.makedirs(site.inside("d"))
    put(site.inside("d", "other.pem"), b"very secret")
    put(site.inside("d", "plain"), b"plain")
    entries = [READS_ALL, WRITES_WORKSPACE, matching(site.inside("**", "*.pem"), "deny")]
    files = confined(site, permissions(entries, roots=[site.workspace]))
    for path in ("key.pem", "d/other.pem"):
        refused(files, "readFile", on(site.inside(path)))
        refused(files, "writeFile", writing(site.inside(path), b"new"))
        equal(content(site.inside(path)), b"very secret", "content")
    equal(files.read(site.inside("d", "plain")), b"plain", "another")


@sandbox_test
def a_link_out_of_the_workspace_is_no_way_to_write_there(site):
    plant(site.outside)
    put(site.inside("source"), b"source")
    os.symlink(site.outside, site.inside("link"))
    os.symlink(site.beyond("file"), site.inside("link-to-file"))
    os.symlink(site.beyond("new"), site.inside("dangling"))
    before = picture(site.outside)
    files = confined(site)
    for method, params in everything_that_writes(site.inside("link"), site.inside("source")):
        refused(files, method, params)
    for name in ("link-to-file", "dangling"):
        refused(files, "writeFile", writing(site.inside(name), b"new"))
        refused(files, "copy", copying(site.inside("source"), site.inside(name)))
        refused(files, "open", on(site.inside(name), handleId="w", mode="replace"))
    equal(picture(site.outside), before, "outside")
    files.call("remove", on(site.inside("link")))
    check(not os.path.lexists(site.inside("link")), "the link itself was not removed")
    equal(picture(site.outside), before, "outside after the removal of the link")


# A sandbox that may write in /tmp protects the repositories of all tests.
@sandbox_test(alone=True)
def what_is_written_to_tmp_is_refused_or_really_there(site):
    path = "/tmp/execward-test-%s" % os.path.basename(site.outside)
    for name, sandbox in both_forms(site.workspace).items():
        answer = site.server.reply(confined(site, sandbox).send("writeFile", writing(path, b"x")))
        refusal(answer, "writing to /tmp with %s" % name)
        check(not os.path.exists(path), "it is there all the same")
    try:
        shared = mode(policyCwd=site.workspace, sharedTmp=True)
        confined(site, shared).write(path, b"x")
        equal(content(path), b"x", "content with a /tmp that is shared")
    finally:
        with contextlib.suppress(OSError):
            os.unlink(path)


@sandbox_test
def nothing_is_written_to_what_goes_with_the_sandbox(site):
    run, own = "/run/user/%d" % os.getuid(), "execward-test-%s" % os.path.basename(site.outside)
    for directory in ["/dev", "/dev/shm"] + [run] * os.path.isdir(run):
        path = "%s/%s" % (directory, own)
        for name, sandbox in both_forms(site.workspace).items():
            answer = confined(site, sandbox).send("writeFile", writing(path, b"x"))
            refusal(site.server.reply(answer), "writing to %s with %s" % (directory, name))
            check(not os.path.exists(path), "it is there all the same")
        shared = confined(site, permissions([READS_ALL, at("/dev/shm", "write")]))
        if directory == "/dev/shm":
            shared.write(path, b"x")
            equal(content(path), b"x", "content where the policy grants it")
            os.unlink(path)


# Protected paths


@sandbox_test
def protected_names_that_are_missing_cannot_be_made(site):
    put(site.inside("source"), b"source")
    os.makedirs(site.inside("tree"))
    names, forms = (".git", ".agents", ".codex"), both_forms(site.workspace).values()
    for name, sandbox in zip(names, forms, strict=True):
        files, path, through = confined(site, sandbox), site.inside(name), site.inside("to" + name)
        os.symlink(name, through)
        for method, params in (
            ("writeFile", writing(path, b"x")),
            ("writeFile", writing(path + "/config", b"x")),
            ("writeFile", writing(through + "/config", b"x")),
            ("createDirectory", on(path + "/hooks")),
            ("createDirectory", on(through + "/hooks")),
            ("createDirectory", on(path, recursive=False)),
            ("copy", copying(site.inside("tree"), path + "/hooks", recursive=True)),
            ("copy", copying(site.inside("source"), path + "/config")),
            ("copy", copying(site.inside("source"), path)),
            ("open", on(path + "/config", handleId="w", mode="replace")),
            ("open", on(path, handleId="w", mode="replace")),
        ):
            refused(files, method, params, (*REFUSALS, "wrongKind", "ioFailed"))
            equal(site.litter(), [], "what is there after %s %s" % (method, params))
        files.server.reply(files.send("remove", on(path)))
        copy = copying(site.inside("tree"), path, recursive=True)
        files.server.reply(files.send("copy", copy))
        equal(site.litter(), [], "what is there in the end")


@sandbox_test
def a_protected_directory_is_not_said_to_be_made(site):
    os.mkdir(site.inside("empty"))
    files = confined(site)
    for name in (".git", ".agents", ".codex"):
        path = site.inside(name)
        for method, params in (
            ("createDirectory", on(path)),
            ("copy", copying(site.inside("empty"), path, recursive=True)),
        ):
            answer = files.server.reply(files.send(method, params))
            said = ("result" in answer, os.path.lexists(path))
            equal(said, (False, False), "%s of %s: said to be done, and there" % (method, name))


@sandbox_test
def what_the_sandbox_itself_puts_there_is_not_seen(site):
    more = site.beyond("more")
    os.mkdir(more)
    put(site.inside("file"), b"x")
    entries = [READS_ALL, WRITES_WORKSPACE, at(more, "write")]
    several = permissions(entries, roots=[site.workspace, more])
    for number, sandbox in enumerate([*both_forms(site.workspace).values(), several]):
        files = confined(site, sandbox)
        listed = files.call("readDirectory", on(site.workspace))["entries"]
        equal([one["fileName"] for one in listed], ["file"], "names")
        walked = [one["path"] for one in files.walk(site.workspace)["entries"]]
        equal(walked, [file_uri(os.path.realpath(site.inside("file")))], "a walk")
        for name in (".git", ".agents", ".codex", ".execward"):
            for method in ("getMetadata", "canonicalize", "readDirectory"):
                files.fails("notFound", method, on(site.inside(name)))
            copy = copying(site.inside(name), site.inside("copy"), recursive=True)
            refused(files, "copy", copy, (*REFUSALS, "notFound"))
            equal(files.watch(number, site.inside(name)), True, "watching " + name)
            files.watch(number)
        if sandbox is several:
            files.call("copy", copying(site.workspace, more + "/copy", recursive=True))
            equal(os.listdir(more + "/copy"), ["file"], "names in the copy")


@sandbox_test(needs=["git"])
def protected_names_that_are_there_stay_as_they_are(site):
    site.repository()
    for name in (".agents", ".codex"):
        os.makedirs(site.inside(name))
        put(site.inside(name, "file"), b"old")
    put(site.inside("source"), b"source")
    os.symlink(".git", site.inside("link"))
    os.symlink(".git/hooks", site.inside("hooks"))
    protected = (".git/hooks", ".agents", ".codex")
    before = {name: picture(site.inside(name)) for name in protected}
    before[".git/config"] = content(site.inside(".git/config"))
    forms = both_forms(site.workspace)
    for sandbox in (forms["mode"], forms["permissions"]):
        files = confined(site, sandbox)
        for path in (
            ".git/config",
            "link/config",
            ".git/hooks/pre-commit",
            "link/hooks/pre-commit",
            "hooks/pre-commit",
            ".agents/file",
            ".agents/new",
            ".codex/config.toml",
        ):
            refused(files, "writeFile", writing(site.inside(path), b"new"))
            refused(files, "copy", copying(site.inside("source"), site.inside(path)))
            refused(files, "open", on(site.inside(path), handleId="w", mode="replace"))
        for path in (".git/config", ".git/hooks", ".agents", ".codex", ".git", ".agents/file"):
            check("error" in files.server.reply(files.send("remove", on(site.inside(path)))), path)
        for name in protected:
            equal(picture(site.inside(name)), before[name], name)
        equal(content(site.inside(".git/config")), before[".git/config"], "config")
        equal(files.read(site.inside(".agents", "file")), b"old", "reading it")


@sandbox_test
def a_confined_program_cannot_use_requests_that_come_and_go(site):
    """Their sandboxes use the same placeholders as the program's sandbox, and must not remove them.
    """
    shutil.rmtree(site.repository("r") + "/.git/hooks")
    script = (
        "import os, time\n"
        "os.makedirs('d/x')\nmade = 0\nprint('begun', flush=True)\n"
        "hooks, file = 'r/.git/hooks', 'r/.git/commondir'\n"
        "while not os.path.exists('stop'):\n"
        "    for way in (lambda: os.mkdir(hooks + '/x'), lambda: os.rename('d', hooks),\n"
        "                lambda: os.rmdir(hooks), lambda: open(hooks + '/f', 'w'),\n"
        "                lambda: open(file, 'w'), lambda: os.unlink(file)):\n"
        "        try:\n            way()\n            made += 1\n"
        "        except OSError:\n            pass\n"
        "print('made', made, flush=True)\n"
    )
    sandbox = both_forms(site.workspace)["mode"]
    name = site.python(script, sandbox=sandbox)
    site.server.wait_output(name, b"begun")
    files, end = confined(site, sandbox), time.monotonic() + TIME_FOR_ROUNDS
    for number in range(0, ROUNDS // 2, 4):
        if number >= 20 and time.monotonic() > end:
            break
        requests = [
            ("writeFile", writing(site.inside("f%d" % n), b"x")) for n in range(number, number + 4)
        ]
        ids = files.send_all([*requests, ("writeFile", writing(site.inside("r/.git/config"), b"x"))])
        for one in ids[:-1]:
            files.server.result(one)
        refusal(files.server.reply(ids[-1]), "writing to .git")
    put(site.inside("stop"))
    ended = site.ended(name)
    check("made 0" in ended.text, "what was made: %s" % ended.text)
    eventually(lambda: not site.litter(), "the end of what the sandboxes put there")
    for name in ("hooks", "commondir"):
        check(not os.path.lexists(site.inside("r/.git", name)), "it was left: " + name)
    check(os.path.isdir(site.inside("d", "x")), "the directory was moved")


# Races


class Swapping:
    """Two names exchange their files, again and again, until the end of the block."""

    def __init__(self, one, other):
        self.names = (os.fsencode(one), os.fsencode(other))
        self.libc, self.stop, self.count = ctypes.CDLL(None, use_errno=True), threading.Event(), 0
        self.thread = threading.Thread(target=self.run)

    def run(self):
        one, other = self.names
        while not self.stop.is_set():
            done = self.libc.renameat2(AT_FDCWD, one, AT_FDCWD, other, RENAME_EXCHANGE)
            self.count += done == 0
            self.stop.wait(0.0001)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.stop.set()
        self.thread.join()


def rounds(files, requests_of):
    """Sends the requests of each round at once. Returns every answer by its place in the round. A
    busy machine plays fewer rounds.
    """
    answers, end = [], time.monotonic() + TIME_FOR_ROUNDS
    for number in range(ROUNDS):
        if number >= FEWEST_ROUNDS and time.monotonic() > end:
            break
        ids = files.send_all(requests_of(number))
        answers.append([files.server.reply(one) for one in ids])
    return answers


def both_happened(answers, place, what):
    """Checks that the race had both outcomes."""
    seen = {"result" in answer[place] for answer in answers}
    equal(seen, {True, False}, "whether %s was done, over all rounds" % what)


@sandbox_test(alone=True)
def a_directory_that_becomes_a_link_to_outside_lets_nothing_out(site):
    for root in (site.outside, site.inside("d")):
        os.makedirs(root, exist_ok=True)
        plant(root)
    os.symlink(site.outside, site.inside("link"))
    source = put(site.inside("source"), b"source")
    before, files, d = picture(site.outside), confined(site), site.inside("d")

    def requests(number):
        return [
            ("writeFile", writing(d + "/w%d" % number, b"new")),
            ("createDirectory", on(d + "/m%d/x" % number)),
            ("copy", copying(source, d + "/c%d" % number)),
        ]

    with Swapping(d, site.inside("link")) as swapping:
        answers = rounds(files, requests)
    check(swapping.count > len(answers), "only %d exchanges" % swapping.count)
    equal(picture(site.outside), before, "outside")
    for place, what in enumerate(("writeFile", "createDirectory", "copy")):
        both_happened(answers, place, what)
    equal(site.litter(), [], "litter")
    for name in ("d", "link"):
        equal(temporaries(site.inside(name)), [], "temporary files")


@sandbox_test(alone=True)
def what_is_removed_or_replaced_amid_exchanges_is_never_outside(site):
    for root in (site.outside, site.inside("d")):
        os.makedirs(root, exist_ok=True)
        plant(root)
        for number in range(ROUNDS):
            os.makedirs(os.path.join(root, "r%d" % number, "x"))
            put(os.path.join(root, "h%d" % number), b"old")
    os.symlink(site.outside, site.inside("link"))
    before, files, d = picture(site.outside), confined(site), site.inside("d")

    def requests(number):
        handle = {"handleId": "h%d" % number}
        return [
            ("remove", on(d + "/r%d" % number)),
            ("open", on(d + "/h%d" % number, mode="replace", **handle)),
        ]

    def requests_and_more(number):
        """Also writes and closes the handle that the last round opened."""
        last = {"handleId": "h%d" % (number - 1)}
        return [*requests(number), ("writeBlock", {**part("", 0, b"new"), **last}), ("close", last)]

    with Swapping(d, site.inside("link")):
        opened = rounds(files, requests_and_more)
    equal(picture(site.outside), before, "outside")
    both_happened(opened, 0, "remove")
    both_happened(opened, 1, "open")
    equal(site.litter(), [], "litter")
    equal(temporaries(site.outside), [], "temporary files")


@sandbox_test(alone=True)
def a_directory_that_becomes_a_link_to_a_secret_lets_nothing_be_read(site):
    secret, d = site.inside("secret"), site.inside("d")
    for root, text in ((secret, b"very secret"), (d, b"plain")):
        os.mkdir(root)
        put(root + "/file", text)
    os.symlink(secret, site.inside("link"))
    files = confined(site, hiding(site, secret))

    def requests(number):
        return [
            ("readFile", on(d + "/file")),
            ("copy", copying(d + "/file", site.inside("copy%d" % number))),
        ]

    with Swapping(d, site.inside("link")):
        answers = rounds(files, requests)
    read = {answer[0]["result"]["dataBase64"] for answer in answers if "result" in answer[0]}
    equal(read, {"cGxhaW4="}, "what was read")
    copies = [name for name in os.listdir(site.workspace) if name.startswith("copy")]
    equal({content(site.inside(name)) for name in copies}, {b"plain"}, "what was copied")
    both_happened(answers, 0, "readFile")
    both_happened(answers, 1, "copy")


@sandbox_test(needs=["git"], alone=True)
def a_directory_that_becomes_a_link_to_git_changes_nothing_there(site):
    site.repository()
    d = site.inside("d")
    os.makedirs(d + "/hooks")
    os.symlink(".git", site.inside("link"))
    files = confined(site)

    def state():
        return picture(site.inside(".git/hooks")), content(site.inside(".git/config"))

    before = state()

    def requests(number):
        return [
            ("writeFile", writing(d + "/config", b"%d" % number)),
            ("writeFile", writing(d + "/hooks/h%d" % number, b"#!/bin/sh")),
            ("createDirectory", on(d + "/hooks/d%d" % number)),
        ]

    with Swapping(d, site.inside("link")):
        answers = rounds(files, requests)
    equal(state(), before, "hooks and config")
    both_happened(answers, 0, "writeFile")


# Handles


@sandbox_test
def handles_work_with_the_rights_they_were_opened_with(site):
    plant(site.outside)
    path = put(site.inside("file"), b"0123456789" * 200_000)
    for number, sandbox in enumerate(both_forms(site.workspace).values()):
        files, plain = confined(site, sandbox), Files(site.server)
        files.open("r", path)
        equal(plain.read_block("r", 5, 10), (b"5678901234", False), "block")
        equal(plain.read_block("r", 1_999_999, 10), (b"9", True), "last block")
        files.open("o", site.beyond("file"))
        equal(plain.read_block("o", 0, 10), (b"old", True), "block of a file outside")
        new = site.inside("new%d" % number)
        files.open("w", new, "replace")
        plain.write_block("w", 0, b"begin ")
        plain.write_block("w", 6, b"end")
        check(not os.path.exists(new), "it is there before the close")
        plain.close("w")
        equal(content(new), b"begin end", "content")
        equal(site.litter() + temporaries(site.workspace), [], "what is left behind")
        for name in ("r", "o"):
            plain.close(name)
        for target in ("file", "new"):
            refused(files, "open", on(site.beyond(target), handleId="x", mode="replace"))
        plain.fails("unknownHandle", "readBlock", block("x", 0, 1))


@sandbox_test
def a_handle_that_replaces_keeps_hard_links_and_modes(site):
    path, other = put(site.inside("file"), b"old"), site.inside("other")
    os.chmod(path, 0o750)
    files, plain = confined(site), Files(site.server)
    for linked in (False, True):
        if linked:
            os.link(path, other)
        files.open("w", path, "replace")
        plain.write_block("w", 0, b"new %d" % linked)
        plain.close("w")
        equal(content(path), b"new %d" % linked, "content")
        equal(os.stat(path).st_mode & 0o777, 0o750, "mode")
    equal(content(other), b"new 1", "the other name")


# Requests that are supported


@sandbox_test
def a_server_that_requires_sandboxes_does_nothing_without(site):
    plant(site.workspace)
    before = picture(site.workspace)
    files = Files(site.new_server("--process-sandbox=require"))
    requests = everything_that_writes(site.workspace, site.inside("file"))
    requests += [("readFile", on(site.inside("file"))), ("walk", walking(site.workspace))]
    requests += [(name, on(site.workspace)) for name in ("getMetadata", "canonicalize", "readDirectory")]
    requests.append(("watchMissing", {"watchId": 1, "missing": [file_uri(site.inside("x"))]}))
    off = {"permissions": {"type": "disabled"}, "windowsSandboxLevel": "disabled"}
    for method, params in requests:
        files.fails("denied", method, params)
        files.fails("denied", method, {**params, "sandbox": None})
        files.fails("denied", method, {**params, "sandbox": off})
    equal(picture(site.workspace), before, "the workspace")
    confined(site).write(site.inside("file"), b"new")
    equal(content(site.inside("file")), b"new", "content with a sandbox")
    confined(site).open("h", site.inside("file"))
    equal(files.read_block("h", 0, 9), (b"new", True), "a handle from a sandbox")


@sandbox_test
def a_server_that_forbids_sandboxes_does_nothing_with_one(site):
    plant(site.workspace)
    before = picture(site.workspace)
    site.new_server("--process-sandbox=forbid")
    files = confined(site)
    requests = everything_that_writes(site.workspace, site.inside("file"))
    for method, params in [*requests, ("readFile", on(site.inside("file")))]:
        files.fails("sandboxUnavailable", method, params)
    equal(picture(site.workspace), before, "the workspace")
    Files(site.server).write(site.inside("file"), b"new")
    equal(content(site.inside("file")), b"new", "content without a sandbox")


@sandbox_test
def a_sandbox_that_says_nothing_sensible_is_refused(site):
    files, path = Files(site.server), site.inside("file")
    good = permissions([READS_ALL, WRITES_WORKSPACE], roots=[site.workspace])
    bad = [
        {},
        {**good, "permissions": {"type": "castle"}},
        {**good, "permissions": None},
        permissions([at(site.workspace, "own")], roots=[site.workspace]),
        {"mode": "require", "policy": "castle"},
        1,
        [],
    ]
    for sandbox in bad:
        files.fails("invalidParams", "writeFile", writing(path, b"x", sandbox=sandbox))
    check(not os.path.exists(path), "it was written")


@sandbox_test
def without_bubblewrap_nothing_happens_in_a_sandbox_and_all_without(site):
    if os.geteuid() != 0:
        print("needs root to change what is mounted: skipped")
        return
    plant(site.workspace)
    before = picture(site.workspace)
    lack = machines.without_bubblewrap(site.scene.file("empty"))
    site.new_server(prepare=lack)
    for sandbox in both_forms(site.workspace).values():
        files = confined(site, sandbox)
        for method, params in everything_that_writes(site.workspace, site.inside("file")):
            files.fails("sandboxUnavailable", method, params)
        files.fails("sandboxUnavailable", "readFile", on(site.inside("file")))
        files.fails("sandboxUnavailable", "open", on(site.inside("file"), handleId="h"))
        watched = {"watchId": 1, "missing": [file_uri(site.inside("x"))]}
        files.fails("sandboxUnavailable", "watchMissing", watched)
    equal(picture(site.workspace), before, "the workspace")
    Files(site.server).write(site.inside("file"), b"new")
    equal(content(site.inside("file")), b"new", "content without a sandbox")


@sandbox_test
def best_effort_without_bubblewrap_still_keeps_writes_inside(site):
    """Landlock does it, if the machine has it."""
    if os.geteuid() != 0:
        print("needs root to change what is mounted: skipped")
        return
    plant(site.outside)
    before, source = picture(site.outside), put(site.inside("source"), b"source")
    site.new_server(prepare=machines.without_bubblewrap(site.scene.file("empty")))
    sandbox = {
        "mode": "auto",
        "policy": "workspace-write",
        "policyCwd": site.workspace,
        "enforcement": "best-effort",
    }
    files = confined(site, sandbox)
    asked = files.send("writeFile", writing(site.inside("file"), b"new"))
    if "error" in site.server.reply(asked):
        files.failed("sandboxUnavailable", asked)
        return
    equal(content(site.inside("file")), b"new", "content")
    for method, params in everything_that_writes(site.outside, source):
        refused(files, method, params)
    equal(picture(site.outside), before, "outside")
    equal(temporaries(site.workspace), [], "temporary files")


# Many requests, and the ends of some


@sandbox_test
def many_at_once_are_all_done_and_nothing_is_left(site):
    files = confined(site)
    requests = [("writeFile", writing(site.inside("f%d" % n), b"%d" % n)) for n in range(60)]
    requests += [("writeFile", writing(site.beyond("f%d" % n), b"%d" % n)) for n in range(10)]
    ids = files.send_all(requests)
    for one in ids[:60]:
        equal(site.server.result(one), {}, "result")
    for one in ids[60:]:
        refusal(site.server.reply(one), "writing outside")
    for number in range(60):
        equal(content(site.inside("f%d" % number)), b"%d" % number, "content")
    equal(os.listdir(site.outside), [], "outside")
    equal(site.litter(), [], "litter")
    eventually(lambda: not site.server.zombies(), "the last of its processes collected")


@sandbox_test
def order_holds_between_requests_with_and_without_a_sandbox(site):
    sandbox, path = both_forms(site.workspace)["permissions"], site.inside("file")
    plain = Files(site.server)
    for number in range(10):
        ids = plain.send_all(
            [
                ("writeFile", writing(path, b"first", sandbox=sandbox)),
                ("readFile", on(path)),
                ("writeFile", writing(path, b"second")),
                ("readFile", on(path, sandbox=sandbox)),
                ("remove", on(site.inside(), sandbox=sandbox)),
                ("createDirectory", on(site.inside())),
                ("writeFile", writing(path, b"%d" % number)),
            ]
        )
        for one in (ids[0], ids[2], ids[5], ids[6]):
            site.server.result(one)
        equal(site.server.result(ids[1])["dataBase64"], "Zmlyc3Q=", "the first read")
        equal(site.server.result(ids[3])["dataBase64"], "c2Vjb25k", "the second read")
        equal(content(path), b"%d" % number, "content")


@sandbox_test
def nothing_of_a_sandbox_lives_on_when_a_cancel_is_answered(site):
    files, tree = confined(site), site.inside("tree")
    os.mkdir(tree)
    for name in (".git", ".agents", ".codex", ".execward"):  # so that no placeholders have to be removed
        os.makedirs(site.inside(name + "/inner"))
    for number in range(3000):
        put(tree + "/%d" % number, b"x")
    for number in range(5):
        to = site.inside("copy%d" % number)
        asked = files.send("copy", copying(tree, to, recursive=True))
        eventually(lambda to=to: os.path.exists(to), "the beginning of the copy")
        site.server.notify("$/cancelRequest", {"id": asked})
        reply = site.server.reply(asked)
        there = len(os.listdir(to))
        check("error" in reply or there == 3000, "answer %s with %d files" % (reply, there))
        left = [program_of(pid) or "" for pid in below(site.server.pid) if not keeps_walks(pid)]
        left = [name for name in left if os.path.basename(name) in ("bwrap", "execward-init")]
        equal(left, [], "what lives on")


@sandbox_test
def idle_file_processes_make_room_for_a_sandbox(site):
    """Idle file processes live for a while; a request must not wait until they end."""
    plain, files = Files(site.server), confined(site)
    files.write(site.inside("file"), b"0")
    for one in plain.send_all([("getMetadata", on("/"))] * (2 * MOST_AT_ONCE)):
        site.server.result(one)
    began = time.monotonic()
    asked = files.send("writeFile", writing(site.inside("file"), b"1"))
    site.server.result(asked)
    check(time.monotonic() - began < within(9), "it waited until they were gone")  # they end after ten seconds
    equal(content(site.inside("file")), b"1", "content")


def sandboxes_that_hang_hold_up_nothing_else(site):
    files, plain = confined(site), Files(site.server)
    slow = put(site.inside("slow"), b"slow")
    with Held(slow) as hold:
        ids = [files.send("readFile", on(slow)) for _ in range(4)]
        for _ in ids:
            hold.wait()
        plain.write(site.inside("other"), b"x")
        equal(plain.read(site.inside("other")), b"x", "a file without a sandbox")
        equal(site.works("echo here"), "here\n", "a confined program")
        site.server.notify("$/cancelRequest", {"id": ids[0]})
        files.failed("cancelled", ids[0])
        files.write(site.inside("other"), b"y")
        hold.close()
    for one in ids[1:]:
        equal(site.server.result(one)["dataBase64"], "c2xvdw==", "content")
    equal(site.litter(), [], "litter")


def the_server_ends_while_a_sandbox_hangs(site):
    slow = put(site.inside("slow"), b"old")
    for way in ("end of input", "kill"):
        server = site.new_server()
        files = confined(site)
        with Held(slow) as hold:
            files.send("writeFile", writing(slow, b"new"))
            hold.wait()
            processes = below(server.pid)
            if way == "kill":
                server.may_be_cut = True
                kill_quietly(server.worker())
                server.exit_status()
            else:
                equal(server.end(), 0, "exit status")
            eventually(lambda p=processes: not any(map(is_alive, p)), "the end after the " + way)
            hold.close()
        equal(content(slow), b"old", "content after the " + way)
        if way == "kill":  # the next server cleans up
            site.new_server()
            equal(confined(site).read(slow), b"old", "content")
        eventually(lambda: not site.litter(), "the end of what it put there, after the " + way)


def below(pid):
    """Returns all descendants."""
    parents = {}
    for name in os.listdir("/proc"):
        with contextlib.suppress(OSError, ValueError, IndexError):
            with open("/proc/%d/stat" % int(name)) as file:
                parents[int(name)] = int(file.read().rsplit(")", 1)[1].split()[1])
    found, more = set(), {pid}
    while more:
        found |= more
        more = {child for child, parent in parents.items() if parent in more} - found
    return found - {pid}


if can_hold():
    sandbox_test(sandboxes_that_hang_hold_up_nothing_else)
    sandbox_test(the_server_ends_while_a_sandbox_hangs)


@sandbox_test(alone=True)
def descriptors_and_processes_do_not_pile_up(site):
    files = confined(site)

    def some(count):
        requests = []
        for number in range(count):
            requests += [
                ("writeFile", writing(site.inside("f%d" % number), b"x")),
                ("readFile", on(site.beyond("none"))),
                ("open", on(site.inside("f%d" % number), handleId="h%d" % number)),
            ]
        for one in files.send_all(requests):
            site.server.reply(one)
        for number in range(count):
            Files(site.server).close("h%d" % number)

    some(10)
    before = site.server.descriptors()
    some(60)
    check(site.server.descriptors() <= before + 4, "descriptors pile up")
    own = set(site.server.own_pids())
    eventually(lambda: len(below(site.server.pid) - own) <= MOST_AT_ONCE, "the end of sandboxes")
    eventually(lambda: not site.server.zombies(), "the last of its processes collected")
    equal(site.litter(), [], "litter")


if __name__ == "__main__":
    main()

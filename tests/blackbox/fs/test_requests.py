"""fs/*: reads and writes, their order, and the files after a failure."""

import contextlib
import ctypes
import json
import os
import resource
import shutil
import signal
import socket
import stat
import struct
import sys
import threading
import time

sys.path.insert(0, os.path.abspath(__file__ + "/../../.."))
from support import machines
from support.client import (
    PATIENCE,
    Failure,
    check,
    encoded,
    equal,
    eventually,
    file_uri,
    is_alive,
    kill_quietly,
)
from support.files import (
    LARGEST_CONTENT,
    MOST_AT_ONCE,
    MOST_REQUESTS,
    Files,
    Held,
    can_hold,
    content,
    copying,
    file_processes,
    make_deep,
    on,
    picture,
    put,
    temporaries,
    walking,
    writing,
)
from support.runner import main, test

ODD_NAMES = (b"caf\xe9 \xff", b"new\nline", b"100% #?;&+", "\u65e5\u672c\u8a9e".encode(), b"\\x41", b"-rf")
PATHS = ("readFile", "getMetadata", "canonicalize", "readDirectory", "createDirectory", "remove")
MS_RDONLY, MS_NODEV, MS_REMOUNT = 1, 4, 32
PR_CAPBSET_DROP = 24


def scene_files(scene, *flags, **options):
    return Files(scene.server(*flags, **options))


def mode_of(path):
    return stat.S_IMODE(os.lstat(path).st_mode)


# Existing files


@test
def what_the_server_can_do_with_files_is_said_at_the_start(scene):
    initialized = scene.server().initialized
    equal(initialized["capabilities"]["files"], True, "capabilities.files")
    said = initialized["environmentInfo"]["capabilities"]
    for name in ("fsWatchMissing", "sandboxedFileStreaming", "fileWriteStreaming", "networkProxyLaunch"):
        equal(said.get(name), True, name)


@test
def every_byte_comes_back_at_sizes_around_all_borders(scene):
    files = scene_files(scene)
    path = os.fsencode(scene.path("file"))
    for size in (0, 1, 2, 3, 147455, 147456, 147457, 262144, 1 << 20, (1 << 20) + 1, 3_000_001):
        data = os.urandom(size)
        files.write(path, data)
        check(content(path) == data, "%d bytes are not what was written" % size)
        check(files.read(path) == data, "%d bytes are not what is there" % size)


@test
def names_that_are_not_text_round_trip(scene):
    files = scene_files(scene)
    root = os.path.realpath(os.fsencode(scene.path("odd")))
    os.mkdir(root)
    for name in ODD_NAMES:
        path = os.path.join(root, name, b"in " + name)
        files.call("createDirectory", on(os.path.dirname(path)))
        files.write(path, name)
        equal(content(path), name, "content of %r" % name)
        equal(files.read(path), name, "read %r" % name)
        equal(files.call("getMetadata", on(path))["size"], len(name), "size of %r" % name)
        equal(files.call("canonicalize", on(path))["path"], file_uri(path), "uri of %r" % name)
        files.call("copy", copying(path, path + b".copy"))
        equal(content(path + b".copy"), name, "copy of %r" % name)
    found = {entry["path"]: entry["kind"] for entry in files.walk(root)["entries"]}
    want = {}
    for name in ODD_NAMES:
        inner = os.path.join(root, name, b"in " + name)
        want[file_uri(os.path.dirname(inner))] = "directory"
        want[file_uri(inner)] = want[file_uri(inner + b".copy")] = "file"
    equal(found, want, "what fs/walk finds")
    for uri in found:
        files.server.call("fs/getMetadata", {"path": uri})
    for name in ODD_NAMES:
        files.call("remove", on(os.path.join(root, name)))
    equal(os.listdir(root), [], "what is left")


@test
def names_in_a_directory_are_told_with_their_kinds(scene):
    files, root = scene_files(scene), scene.path("kinds")
    os.makedirs(root + "/directory")
    put(root + "/file")
    for link, target in (("to-file", "file"), ("to-directory", "directory"), ("to-nowhere", "none")):
        os.symlink(target, os.path.join(root, link))
    os.mkfifo(root + "/pipe")
    listed = files.call("readDirectory", on(root))["entries"]
    got = {one["fileName"]: (one["isDirectory"], one["isFile"]) for one in listed}
    want = {
        "directory": (True, False),
        "file": (False, True),
        "to-file": (False, True),
        "to-directory": (True, False),
        "to-nowhere": (False, False),
        "pipe": (False, False),
    }
    equal(got, want, "entries")
    equal(len(listed), len(want), "number of entries")


@test
def metadata_tells_of_the_target_and_that_there_is_a_link(scene):
    files, path = scene_files(scene), put(scene.path("file"), b"12345")
    os.utime(path, ns=(0, 1_234_567_891_234_000_000))
    os.symlink("file", scene.path("link"))
    plain = files.call("getMetadata", on(path))
    equal(plain["modifiedAtMs"], 1_234_567_891_234, "modifiedAtMs")
    linked = files.call("getMetadata", on(scene.path("link")))
    equal(linked, {**plain, "isSymlink": True}, "metadata through a link")
    os.mkfifo(scene.path("pipe"))
    pipe = files.call("getMetadata", on(scene.path("pipe")))
    kinds = (pipe["isDirectory"], pipe["isFile"], pipe["isSymlink"])
    equal(kinds, (False, False, False), "kinds of a pipe")
    os.symlink("none", scene.path("dangling"))
    files.fails("notFound", "getMetadata", on(scene.path("dangling")))


@test
def canonicalize_resolves_links_and_dots(scene):
    files, root = scene_files(scene), os.path.realpath(scene.path())
    os.makedirs(root + "/a/b")
    put(root + "/a/b/file")
    os.symlink("a/b", root + "/short")
    os.symlink(root + "/short/file", root + "/absolute")
    os.symlink("loop", root + "/loop")
    want = file_uri(root + "/a/b/file")
    for path in ("/short/file", "/absolute", "/a/./b//file", "/a/b/../b/file", "/../%s/absolute" % root):
        asked = root + path if not path.startswith("/..") else path
        equal(files.call("canonicalize", on(asked))["path"], want, "canonical form of " + path)
    equal(files.call("canonicalize", on("/"))["path"], "file:///", "the root")
    files.fails("notFound", "canonicalize", on(root + "/a/none"))
    files.fails("ioFailed", "canonicalize", on(root + "/a/b/file/x"))
    check("error" in files.server.reply(files.send("canonicalize", on(root + "/loop"))), "a loop")


@test
def a_pipe_or_a_socket_is_refused_and_never_waited_for(scene):
    files, pipe, place = scene_files(scene), scene.path("pipe"), scene.path("socket")
    os.mkfifo(pipe)
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(place)
    put(scene.path("file"), b"x")
    with listener:
        for path in (pipe, "/dev/zero", scene.path()):
            files.fails("wrongKind", "readFile", on(path))
            files.fails("wrongKind", "open", on(path, handleId="h"))
        for path in (pipe, place, scene.path()):
            files.fails("wrongKind", "writeFile", writing(path, b"lost"))
            files.fails("wrongKind", "open", on(path, handleId="h", mode="replace"))
            files.fails("wrongKind", "copy", copying(scene.path("file"), path))
        check("error" in files.server.reply(files.send("readFile", on(place))), "a socket was read")
        check(stat.S_ISFIFO(os.lstat(pipe).st_mode), "the pipe was replaced")
        check(stat.S_ISSOCK(os.lstat(place).st_mode), "the socket was replaced")


@test
def what_is_missing_or_wrong_has_its_own_kind_and_changes_nothing(scene):
    files, root = scene_files(scene), scene.path("tree")
    os.makedirs(root + "/full")
    put(root + "/file", b"old")
    put(root + "/full/file", b"old")
    before = picture(root)
    none = root + "/none"
    for method in ("readFile", "getMetadata", "canonicalize", "readDirectory"):
        files.fails("notFound", method, on(none))
    files.fails("notFound", "walk", walking(none))
    files.fails("notFound", "writeFile", writing(none + "/file", b"x"))
    files.fails("notFound", "copy", copying(none, root + "/new"))
    files.fails("notFound", "copy", copying(root + "/file", none + "/new"))
    files.fails("notFound", "remove", on(none, force=False))
    files.fails("notFound", "createDirectory", on(none + "/below", recursive=False))
    files.fails("ioFailed", "createDirectory", on(root + "/full", recursive=False))
    files.fails("ioFailed", "createDirectory", on(root + "/file"))
    files.fails("ioFailed", "createDirectory", on(root + "/file/below"))
    files.fails("ioFailed", "readDirectory", on(root + "/file"))
    files.fails("ioFailed", "remove", on(root + "/full", recursive=False))
    files.fails("wrongKind", "copy", copying(root + "/full", root + "/new"))
    files.fails("wrongKind", "copy", copying(root + "/full", root + "/full/in", recursive=True))
    files.fails("wrongKind", "copy", copying(root + "/full", root + "/full", recursive=True))
    files.fails("wrongKind", "copy", copying(root + "/file", root + "/file"))
    files.fails("wrongKind", "copy", copying(root + "/file", root + "/full"))
    files.fails("wrongKind", "remove", on("/"))
    for params in ({}, {"path": "relative"}, {"path": "http://x/y"}, {"path": 1}):
        for method in PATHS:
            files.fails("invalidParams", method, params)
    files.fails("invalidParams", "writeFile", on(root + "/file", dataBase64="="))
    equal(picture(root), before, "what is there")


@test
def odd_paths_are_answered(scene):
    files, root = scene_files(scene), os.path.realpath(scene.path("tree"))
    os.mkdir(root)
    uri = file_uri(root)
    for method in PATHS:
        files.fails("invalidParams", method, {"path": uri + "/a%00b"})
        files.fails("invalidParams", method, {"path": ""})
    for path in ("/" + "n" * 256, "/n" * 3000):
        for method in ("readFile", "getMetadata", "canonicalize", "readDirectory"):
            answer = files.server.reply(files.send(method, on(root + path)))
            check("error" in answer, "%s of a path too long: %s" % (method, answer))
    files.fails("ioFailed", "createDirectory", on(root + "/" + "n" * 256))
    equal(os.listdir(root), [], "what was made of them")
    files.server.call("fs/createDirectory", {"path": uri + "/a/b/"})
    files.server.call("fs/writeFile", {"path": uri + "//a/./b/../file", "dataBase64": "eA=="})
    equal(content(root + "/a/file"), b"x", "content")
    listed = files.server.call("fs/readDirectory", {"path": uri + "/a/"})["entries"]
    equal(sorted(one["fileName"] for one in listed), ["b", "file"], "names")
    equal(files.server.call("fs/getMetadata", {"path": root + "/a/file"})["size"], 1, "plain path")
    check(files.read("/proc/version").startswith(b"Linux"), "a file whose size is not told")


@test
def a_file_system_that_cannot_be_written_says_so(scene):
    if os.geteuid() != 0:
        print("needs root to mount: skipped")
        return
    root = scene.path("tree")
    os.makedirs(root + "/directory")
    path = put(root + "/file", b"old")

    def mount():
        machines.own_mounts()
        machines.cover(root, root)
        flags = machines.MS_BIND | MS_REMOUNT | MS_RDONLY
        machines.must(machines.LIBC.mount(None, root.encode(), None, flags, None), "remount")

    files = scene_files(scene, prepare=mount)
    for method, params in (
        ("writeFile", writing(path, b"new")),
        ("writeFile", writing(root + "/new", b"new")),
        ("createDirectory", on(root + "/new")),
        ("remove", on(path)),
        ("remove", on(root + "/directory")),
        ("copy", copying(path, root + "/new")),
        ("copy", copying(root + "/directory", root + "/new", recursive=True)),
        ("open", on(path, handleId="h", mode="replace")),
    ):
        files.fails("readOnly", method, params)
    equal(files.read(path), b"old", "content")


@test
def with_links_forbidden_none_in_the_path_is_followed(scene):
    files, root = scene_files(scene), scene.path("tree")
    os.makedirs(root + "/real/below")
    put(root + "/real/file", b"old")
    os.symlink("file", root + "/real/link")
    os.symlink("real", root + "/through")
    os.symlink("none", root + "/dangling")
    before = picture(root)
    no = {"followSymlinks": False}
    for path in (root + "/real/link", root + "/through/file"):
        files.fails("wrongKind", "readFile", on(path, **no))
        files.fails("wrongKind", "writeFile", writing(path, b"new", **no))
        files.fails("wrongKind", "getMetadata", on(path, **no))
    files.fails("wrongKind", "writeFile", writing(root + "/dangling", b"new", **no))
    for path in ("/through/new", "/through/below", "/through", "/dangling"):
        files.fails("wrongKind", "createDirectory", on(root + path, **no))
    files.fails("wrongKind", "remove", on(root + "/through/file", **no))
    equal(picture(root), before, "what is there")
    # Without a link in the path they work as usual.
    files.write(root + "/real/new", b"new", **no)
    equal(files.read(root + "/real/new", **no), b"new", "content")
    files.call("createDirectory", on(root + "/real/a/b", **no))
    files.call("remove", on(root + "/through", **no))
    check(os.path.isdir(root + "/real/a/b"), "the directory was not made")
    check(not os.path.lexists(root + "/through"), "the link itself was not removed")


@test
def writing_through_links_reaches_their_end_and_keeps_them(scene):
    files, root = scene_files(scene), scene.path("tree")
    os.makedirs(root + "/a")
    put(root + "/a/file", b"old")
    os.symlink("a/file", root + "/one")
    os.symlink(root + "/one", root + "/two")
    os.symlink("a/new", root + "/dangling")
    os.symlink("loop", root + "/loop")
    files.write(root + "/two", b"through two")
    equal(content(root + "/a/file"), b"through two", "content at the end")
    files.write(root + "/dangling", b"made")
    equal(content(root + "/a/new"), b"made", "content of the new file")
    files.call("copy", copying(root + "/a/new", root + "/two"))
    equal(content(root + "/a/file"), b"made", "content after the copy")
    for name in ("one", "two", "dangling"):
        check(os.path.islink(os.path.join(root, name)), "%s is no link any more" % name)
    check("error" in files.server.reply(files.send("writeFile", writing(root + "/loop", b""))), "loop")
    files.call("remove", on(root + "/two"))
    check(os.path.islink(root + "/one"), "more than the link was removed")


# Replacing


@test
def readers_see_the_old_content_or_the_new(scene):
    files, path, other = scene_files(scene), scene.path("file"), scene.path("other")
    size = 3 << 20
    put(path, b"0" * size)
    put(other, b"2" * size)
    seen, stop = set(), threading.Event()

    def look():
        while not stop.is_set():
            data = content(path)
            seen.add((len(data), data.count(data[:1]), data[:1]))

    reader = threading.Thread(target=look)
    reader.start()
    try:
        end, number = time.monotonic() + PATIENCE, 0
        while number < 12 or (len(seen) < 2 and time.monotonic() < end):  # if the reader is slow
            files.write(path, b"%d" % (number % 2) * size)
            files.call("copy", copying(other, path))
            number += 1
    finally:
        stop.set()
        reader.join()
    odd = [one for one in seen if one[:2] != (size, size)]
    equal(odd, [], "contents that are neither old nor new (length, bytes like the first, first)")
    check(len(seen) > 1, "the reader never saw a change")
    equal(sorted(os.listdir(scene.path())), sorted_names(scene, "file", "other"), "files")


def sorted_names(scene, *names):
    """Returns these names, and those of the files of the test machinery."""
    own = [name for name in os.listdir(scene.path()) if name.startswith("stderr-")]
    return sorted([*names, *own])


@test
def a_replaced_file_keeps_mode_owner_and_attributes(scene):
    files, path = scene_files(scene), put(scene.path("file"), b"old")
    os.chmod(path, 0o751)
    owner = (1234, 4321) if os.geteuid() == 0 else (os.getuid(), os.getgid())
    os.chown(path, *owner)
    attributed = True
    try:
        os.setxattr(path, "user.kept", b"value")
    except OSError:
        attributed = False
    first = os.stat(path)
    files.write(path, b"new content")
    second = os.stat(path)
    equal((content(path), mode_of(path)), (b"new content", 0o751), "content and mode")
    equal((second.st_uid, second.st_gid), owner, "owner")
    check(second.st_ino != first.st_ino, "it was written in place")
    if attributed:
        equal(os.getxattr(path, "user.kept"), b"value", "the attribute")


@test
def rights_that_content_had_do_not_pass_to_other_content(scene):
    files, path = scene_files(scene), put(scene.path("program"), b"old")
    os.chmod(path, 0o6755)
    files.call("copy", copying(path, scene.path("copy")))
    equal(mode_of(scene.path("copy")), 0o755, "mode of a copy")
    files.write(path, b"new")
    equal(mode_of(path), 0o755, "mode of a file with new content")
    os.link(path, scene.path("linked"))
    os.chmod(path, 0o6755)
    files.write(path, b"newer")
    if os.geteuid() != 0:  # root's writes keep the bits, with any program
        equal(mode_of(path), 0o755, "mode of a file that was written in place")
    capable = put(scene.path("capable"), b"old")
    try:
        os.setxattr(capable, "security.capability", struct.pack("<5I", 0x02000001, 1 << 10, 0, 0, 0))
    except OSError:
        print("files can be given no capabilities here: skipped")
        return
    for data in (b"new", b""):
        files.write(capable, data)
        equal("security.capability" in os.listxattr(capable), False, "capabilities with %r" % data)


@test
def a_file_that_grows_too_large_for_the_server_keeps_its_old_content(scene):
    """RLIMIT_FSIZE sends SIGXFSZ to the writer."""
    bound = (1 << 20, 1 << 20)
    files = scene_files(scene, prepare=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, bound))
    path, linked = put(scene.path("file"), b"old"), put(scene.path("linked"), b"old")
    os.link(linked, scene.path("other"))
    for target in (path, linked):
        answer = files.server.reply(files.send("writeFile", writing(target, bytes(2 << 20))))
        check("error" in answer, "2 MiB were written where 1 MiB is the limit")
        equal(content(target), b"old", "content")
        files.write(target, b"new")
        equal(content(target), b"new", "content of what fits")
    equal(temporaries(scene.path()), [], "temporary files")


@test
def a_new_file_has_the_mode_that_the_servers_umask_gives(scene):
    for umask, want in ((0o022, 0o644), (0o077, 0o600)):
        files = scene_files(scene, prepare=lambda umask=umask: os.umask(umask) and None)
        path = scene.path("new-%o" % umask)
        files.write(path, b"x")
        equal(mode_of(path), want, "mode with umask %o" % umask)


@test
def a_file_with_further_names_is_written_in_place(scene):
    files, path, other = scene_files(scene), put(scene.path("one"), b"long old content"), scene.path("two")
    os.link(path, other)
    inode = os.stat(path).st_ino
    for data in (b"new", b"and longer than it was before" * 10000, b""):
        files.write(path, data)
        equal((content(other) == data, os.stat(path).st_ino), (True, inode), "both names are one file")
    source = put(scene.path("source"), b"copied")
    files.call("copy", copying(source, other))
    equal((content(path), os.stat(other).st_ino), (b"copied", inode), "the file after the copy")


@test
def a_file_that_is_mounted_over_another_is_written_all_the_same(scene):
    """No file can replace a mount point."""
    under, over = put(scene.path("under"), b"under"), put(scene.path("over"), b"old")
    if os.geteuid() != 0:
        print("needs root to mount: skipped")
        return

    def mount():
        machines.own_mounts()
        machines.cover(under, over)

    files = scene_files(scene, prepare=mount)
    files.write(under, b"new")
    equal((content(over), content(under)), (b"new", b"under"), "contents")
    equal(temporaries(scene.path()), [], "temporary files")


@test
def trees_are_copied_with_modes_and_links_and_into_what_is_there(scene):
    files, root = scene_files(scene), scene.path("tree")
    os.makedirs(root + "/from/a/b")
    os.makedirs(root + "/to/a")
    put(root + "/from/a/file", b"new")
    put(root + "/from/a/b/program", b"#!")
    os.chmod(root + "/from/a/b/program", 0o755)
    os.chmod(root + "/from/a/b", 0o750)
    os.symlink("../none", root + "/from/a/link")
    os.symlink("/etc", root + "/from/outside")
    put(root + "/to/a/file", b"old")
    put(root + "/to/stays", b"stays")
    source = picture(root + "/from")
    files.call("copy", copying(root + "/from", root + "/new", recursive=True))
    equal(picture(root + "/new"), source, "the copy")
    files.call("copy", copying(root + "/from", root + "/to", recursive=True))
    merged = picture(root + "/to")
    equal(merged.pop("stays")[2], b"stays", "what was there and is not in the source")
    equal(merged, source, "the rest")
    os.mkfifo(root + "/from/pipe")
    files.fails("wrongKind", "copy", copying(root + "/from", root + "/other", recursive=True))


@test
def a_deep_and_wide_tree_is_removed_and_links_in_it_lead_nowhere(scene):
    files, root, kept = scene_files(scene), scene.path("tree"), scene.path("kept")
    os.makedirs(kept)
    put(kept + "/file", b"kept")
    make_deep(root, 1000, link=kept)
    for number in range(500):
        put(root + "/file%d" % number)
    files.call("remove", on(root))
    check(not os.path.lexists(root), "the tree is still there")
    equal(content(kept + "/file"), b"kept", "what links led to")
    files.call("remove", on(root))


# Walking


@test
def a_big_tree_is_walked_as_far_as_was_asked(scene):
    files, root = scene_files(scene), os.path.realpath(scene.path("tree"))
    for number in range(30):
        os.makedirs(root + "/d%02d/inner" % number)
        for name in range(10):
            put(root + "/d%02d/f%d" % (number, name))
    want = [file_uri(os.path.join(root, path)) for path in picture(root)]
    whole = files.walk(root)
    equal(sorted(one["path"] for one in whole["entries"]), sorted(want), "all paths")
    equal((whole["truncated"], whole["errors"]), (False, []), "state")
    for options, most in (({"entries": 100}, 100), ({"directories": 5}, None), ({"entries": 0}, 0)):
        part = files.walk(root, **options)
        equal(part["truncated"], True, "truncated with %s" % options)
        paths = [one["path"] for one in part["entries"]]
        equal(paths, [one["path"] for one in whole["entries"]][: len(paths)], "a beginning")
        check(most is None or len(paths) == most, "%d entries with %s" % (len(paths), options))
    exact = files.walk(root, entries=len(want), directories=61)
    equal((len(exact["entries"]), exact["truncated"]), (len(want), False), "exactly as many")
    shallow = files.walk(root, depth=0)
    equal((len(shallow["entries"]), shallow["truncated"]), (30, False), "depth 0")


@test
def a_walk_that_finds_more_than_fits_says_so(scene):
    files, root = scene_files(scene), scene.path("tree")
    deep = os.path.join(root, *["n" * 250] * 8)
    os.makedirs(deep)
    for number in range(2500):
        os.mknod("%s/%d" % (deep, number))
    result = files.walk(root, entries=50_000)
    equal(result["truncated"], True, "truncated")
    size = sum(len(one["path"]) for one in result["entries"])
    check(3 << 20 < size < 5 << 20, "%d bytes of paths" % size)


@test
def a_walk_goes_through_links_when_asked_and_ends_in_a_loop(scene):
    files, root = scene_files(scene), os.path.realpath(scene.path("tree"))
    os.makedirs(root + "/a/.hidden")
    put(root + "/a/.hidden/file")
    put(root + "/a/file")
    os.symlink("..", root + "/a/up")
    os.symlink("file", root + "/a/to-file")
    os.symlink("none", root + "/a/dangling")

    def names(**options):
        result = files.walk(root, **options)
        equal((result["truncated"], result["errors"]), (False, []), "state")
        return sorted(one["path"][len(file_uri(root)) + 1 :] for one in result["entries"])

    plain = ["a", "a/.hidden", "a/.hidden/file", "a/file"]
    equal(names(), plain, "without following")
    equal(names(prune=True), ["a", "a/file"], "without what is hidden")
    followed = names(follow=True, depth=64)
    equal([name for name in followed if name.count("up") > 1], [], "rounds of a loop")
    check(set(plain) < set(followed), "following finds less: %s" % followed)


@test
def bounds_of_a_walk_that_are_too_large_are_refused(scene):
    files = scene_files(scene)
    files.walk(scene.path(), depth=64, directories=10_000, entries=50_000)
    for options in ({"depth": 65}, {"directories": 10_001}, {"entries": 50_001}):
        files.fails("limit", "walk", walking(scene.path(), **options))
    equal(files.walk(put(scene.path("file"))), {"entries": [], "errors": [], "truncated": False}, "file")


@test
def what_belongs_to_somebody_else_is_refused_and_a_walk_goes_on(scene):
    if os.geteuid() != 0:
        print("needs root to give files to somebody else: skipped")
        return
    files, root = scene_files(scene, prepare=without_overriding), os.path.realpath(scene.path("tree"))
    for name in ("closed/inner", "open"):
        os.makedirs(os.path.join(root, name))
    secret, shared = put(root + "/secret", b"old"), put(root + "/shared", b"old and long")
    put(root + "/open/file")
    for path, mode in (("closed", 0o700), ("secret", 0o600), ("shared", 0o666), ("open", 0o755)):
        os.chmod(os.path.join(root, path), mode)
        os.chown(os.path.join(root, path), 65534, 65534)
    os.chown(root, 65534, 65534)

    result = files.walk(root)
    bad = [one["path"] for one in result["errors"]]
    equal(bad, [file_uri(root + "/closed")], "paths in errors")
    check(file_uri(root + "/open/file") in [one["path"] for one in result["entries"]], "the rest")
    for method, params in (
        ("readFile", on(secret)),
        ("writeFile", writing(secret, b"new")),
        ("writeFile", writing(root + "/new", b"new")),
        ("remove", on(root + "/open/file")),
        ("remove", on(root + "/secret")),
        ("createDirectory", on(root + "/new")),
        ("readDirectory", on(root + "/closed")),
        ("getMetadata", on(root + "/closed/inner")),
        ("copy", copying(shared, root + "/new")),
        ("open", on(secret, handleId="h")),
        ("open", on(root + "/new", handleId="h", mode="replace")),
    ):
        files.fails("permissionDenied", method, params)
    equal(content(secret), b"old", "content of what is closed")
    files.write(shared, b"new")
    equal(content(shared), b"new", "a file that can be written, in a directory that cannot")
    owned = put(scene.path("owned"), b"old and long")
    os.chmod(owned, 0o666)
    os.chown(owned, 65534, 65534)
    files.write(owned, b"new")
    equal((content(owned), os.stat(owned).st_uid), (b"new", 65534), "content and owner that stays")


def without_overriding():
    """Drops root's capabilities to override owners and modes, and to change owners."""
    for capability in range(4):  # CAP_CHOWN, CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH, CAP_FOWNER
        machines.must(machines.LIBC.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0), "drop")


# Sizes


@test
def content_beyond_the_limit_is_refused_with_a_hint_to_open_it(scene):
    files, path = scene_files(scene), put(scene.path("file"))
    os.truncate(path, LARGEST_CONTENT + 1)
    error = files.fails("limit", "readFile", on(path))
    check("fs/open" in error["message"] + error["data"].get("hint", ""), "no hint: %s" % error)
    os.truncate(path, LARGEST_CONTENT)
    message = files.call("readFile", on(path))
    equal(len(message["dataBase64"]), LARGEST_CONTENT // 3 * 4, "length of the base64")


@test
def the_largest_content_is_written_and_more_is_refused(scene):
    files, path = scene_files(scene), put(scene.path("file"), b"old")
    largest = LARGEST_CONTENT - (1 << 10)  # in base64 the rest of the message needs space, too
    files.write(path, bytes(largest))
    equal(os.path.getsize(path), largest, "size")
    put(path, b"old")
    params = writing(path, bytes(LARGEST_CONTENT + 1))
    files.server.send({"jsonrpc": "2.0", "id": 9, "method": "fs/writeFile", "params": params})
    equal(files.server.next_error()["data"]["kind"], "limit", "kind of the refusal")
    equal(content(path), b"old", "content after the refusal")


@test
def echo_goes_ahead_of_a_big_file(scene):
    server = scene.server()
    files, path = Files(server), scene.path("big")
    put(path, os.urandom(1 << 20) * 40)
    server.start("cat", ["cat"], pipeStdin=True)
    for attempt in range(10):  # on a busy machine the file may be read before cat is
        seen = []

        def look(message, seen=seen):
            if message.get("method") == "process/output":
                seen.append("output")
            elif message.get("id") == big:
                seen.append("big")

        big = server.expect(server.new_id(), "fs/readFile", on(path))
        server.listener = look
        read = {"jsonrpc": "2.0", "id": big, "method": "fs/readFile", "params": on(path)}
        server.send(read)
        for number in range(10):
            server.write("cat", b"echo %d %d\n" % (attempt, number))
            server.wait_output("cat", b"echo %d %d\n" % (attempt, number))
        data = server.result(big)["dataBase64"]
        equal(len(data), len(encoded(bytes(40 << 20))), "length of the answer")
        if seen[0] == "output":
            break
    check("big" in seen and seen.index("big") >= 1, "no echo came before the big answer: %s" % seen)
    server.terminate("cat")
    server.wait_closed("cat")


@test
def a_directory_with_more_names_than_can_be_told_is_refused(scene):
    if os.geteuid() != 0:
        print("needs root to mount a file system that is quick: skipped")
        return
    place = scene.path("quick")
    os.mkdir(place)
    files = scene_files(scene, prepare=lambda: own_disk(place, 1 << 20))
    script = "import os, sys\nos.chdir(sys.argv[1])\nfor n in range(200_000): os.mknod(str(n))"
    files.server.start_python("fill", script, place)
    equal(files.server.finished("fill"), (0, b""), "filling the directory")
    listed = files.call("readDirectory", on(place))["entries"]
    equal(len({one["fileName"] for one in listed}), 200_000, "names")
    files.call("createDirectory", on(place + "/one more"))
    files.fails("limit", "readDirectory", on(place))
    part = files.walk(place, entries=50_000)
    equal((len(part["entries"]), part["truncated"]), (50_000, True), "a walk")


@test(alone=True)
def a_client_that_does_not_read_makes_the_server_keep_little(scene):
    server = scene.server()
    files, path = Files(server), put(scene.path("file"), bytes(8 << 20))
    files.read(path)
    before = server.resident_bytes()
    server.stop_reading()
    ids = files.send_all([("readFile", on(path))] * 80)
    server.wait_idle(1)
    grown = server.resident_bytes() - before
    bound = 320 << 20  # all answers together have 850 MiB
    check(grown < bound or server.is_sanitized(), "the server has grown by %d bytes" % grown)
    server.resume_reading()
    for one in ids:
        equal(len(server.result(one)["dataBase64"]), 11184812, "length")


# Order


@test
def overlapping_requests_take_effect_in_the_order_of_their_arrival(scene):
    files, root = scene_files(scene), scene.path("tree")
    requests, want = [], []
    for number in range(40):
        text = b"%d" % number * (200_000 if number % 3 else 1)
        requests += [
            ("remove", on(root)),
            ("createDirectory", on(root + "/a")),
            ("writeFile", writing(root + "/a/file", text)),
            ("copy", copying(root + "/a", root + "/b", recursive=True)),
            ("readFile", on(root + "/b/file")),
            ("writeFile", writing(root + "/a/file", b"late")),
            ("readFile", on(root + "/b/file")),
            ("readDirectory", on(root)),
        ]
        want.append(encoded(text))
    ids = files.send_all(requests)
    for number in range(40):
        answers = [files.server.result(one) for one in ids[number * 8 : number * 8 + 8]]
        check(answers[4]["dataBase64"] == want[number], "the first read of round %d" % number)
        check(answers[6]["dataBase64"] == want[number], "the second read of round %d" % number)
        names = sorted(one["fileName"] for one in answers[7]["entries"])
        equal(names, ["a", "b"], "names in round %d" % number)


@test
def the_last_of_many_pipelined_writes_wins(scene):
    files, path = scene_files(scene), scene.path("file")
    for _ in range(5):
        sizes = [1 << 20, 10, 300_000, 0, 700_000, 1]
        requests = [
            ("writeFile", writing(path, b"%d" % number * size)) for number, size in enumerate(sizes)
        ]
        ids = files.send_all([*requests, ("readFile", on(path)), ("getMetadata", on(path))])
        for one in ids:
            files.server.result(one)
        equal(files.server.result(ids[-2])["dataBase64"], encoded(b"5"), "what was read after them")
        equal(files.server.result(ids[-1])["size"], 1, "size after them")
        equal(content(path), b"5", "content")


def a_file_that_hangs_holds_up_only_what_overlaps(scene):
    server = scene.server()
    files, root = Files(server), os.path.realpath(scene.path("tree"))
    os.mkdir(root)
    slow, quick = put(root + "/slow", b"slow"), put(root + "/quick", b"quick")
    server.start("cat", ["cat"], pipeStdin=True)
    with Held(slow) as hold:
        reading = files.send("readFile", on(slow))
        hold.wait()
        behind = [
            files.send("writeFile", writing(slow, b"new")),
            files.send("remove", on(slow)),
            files.send("readFile", on(slow)),
        ]
        above = files.send("remove", on(root))
        later = files.send("createDirectory", on(root + "/later"))
        put(scene.path("aside"), b"1")
        equal(files.call("getMetadata", on(scene.path("aside")))["size"], 1, "another path")
        files.write(scene.path("aside"), b"2")
        equal(files.read(scene.path("aside")), b"2", "another file")
        server.write("cat", b"echo\n")
        server.wait_output("cat", b"echo\n")
        equal(server.run_shell("other", "echo here"), (0, b"here\n"), "a start meanwhile")
        waiting = [reading, *behind, above, later]
        equal([one for one in waiting if server.is_answered(one)], [], "answers that are too early")
        check(os.path.exists(quick), "a later request took effect first")
        hold.close()
    equal(server.result(reading)["dataBase64"], encoded(b"slow"), "what was read")
    for one in (*behind[:2], above, later):
        server.result(one)
    files.failed("notFound", behind[2])
    equal(sorted(os.listdir(root)), ["later"], "what is there in the end")
    server.terminate("cat")
    server.wait_closed("cat")


def reads_of_one_file_run_side_by_side(scene):
    files, slow = scene_files(scene), put(scene.path("slow"), b"slow")
    with Held(slow) as hold:
        ids = [files.send("readFile", on(slow)) for _ in range(4)]
        for _ in ids:
            hold.wait()
        hold.close()
    for one in ids:
        equal(files.server.result(one)["dataBase64"], encoded(b"slow"), "content")


def a_request_that_hangs_can_be_cancelled(scene):
    server = scene.server()
    files, slow = Files(server), put(scene.path("slow"), b"old")
    with Held(slow) as hold:
        for method, params in (
            ("readFile", on(slow)),
            ("writeFile", writing(slow, b"new")),
            ("copy", copying(slow, scene.path("copy"))),
            ("copy", copying(put(scene.path("x"), b"new"), slow)),
            ("open", on(slow, handleId="h")),
            ("open", on(slow, handleId="h", mode="replace")),
        ):
            working = files.send(method, params)
            pid = hold.wait()
            waiting = files.send("writeFile", writing(slow, b"never"))
            server.notify("$/cancelRequest", {"id": waiting})
            files.failed("cancelled", waiting)
            check(not server.is_answered(working), "%s did not hang" % method)
            server.notify("$/cancelRequest", {"id": working})
            files.failed("cancelled", working)
            eventually(lambda pid=pid: not is_alive(pid), "the end of who hung")
            hold.release()
        hold.close()
    equal(files.read(slow), b"old", "content")
    check(not os.path.exists(scene.path("copy")), "a copy was made")
    equal(temporaries(scene.path()), [], "temporary files")
    files.open("h", slow)
    files.close("h")
    server.notify("$/cancelRequest", {"id": 123456})
    server.answers()


def as_many_as_may_hang_and_the_rest_waits(scene):
    server = scene.server()
    files = Files(server)
    slow = [put(scene.path("slow%d" % number), b"slow") for number in range(MOST_AT_ONCE)]
    holds = [Held(path) for path in slow]
    try:
        ids = [files.send("readFile", on(path)) for path in slow]
        for hold in holds:
            hold.wait()
        waiting = files.send("readFile", on(put(scene.path("quick"), b"quick")))
        equal(server.run_shell("p", "echo here"), (0, b"here\n"), "a start meanwhile")
        check(not server.is_answered(waiting), "more run side by side than is said")
        holds[3].close()
        equal(server.result(waiting)["dataBase64"], encoded(b"quick"), "the one that waited")
        server.notify("$/cancelRequest", {"id": ids[5]})
        files.failed("cancelled", ids[5])
        equal(files.read(scene.path("quick")), b"quick", "another one")
    finally:
        for hold in holds:
            hold.close()
    for number, one in enumerate(ids):
        if number != 5:
            server.result(one)


def a_large_read_that_hangs_midway_holds_up_no_other(scene):
    files, slow = scene_files(scene), put(scene.path("slow"), b"s" * (4 << 20))
    other = put(scene.path("other"), b"o" * (4 << 20))
    with Held(slow, Held.ACCESS) as hold:
        reading = files.send("readFile", on(slow))
        for _ in range(12):
            hold.wait()
            hold.release()
        hold.wait()
        equal(files.read(scene.path("other")) == content(other), True, "another large file")
        check(not files.server.is_answered(reading), "the read did not hang")
        hold.close()
    equal(len(files.server.result(reading)["dataBase64"]), len(encoded(bytes(4 << 20))), "length")


def requests_that_wait_are_bounded_in_number_and_in_size(scene):
    server = scene.server()
    files, slow = Files(server), put(scene.path("slow"), b"old")
    aside = put(scene.path("aside"), b"aside")
    with Held(slow) as hold:
        files.send("writeFile", writing(slow, b"first"))
        hold.wait()
        params = writing(slow, bytes(44 << 20))
        large = [files.send("writeFile", params) for _ in range(3)]
        files.failed("limit", large[2])
        equal(files.read(aside), b"aside", "a small one meanwhile")
        for one in large[:2]:
            server.notify("$/cancelRequest", {"id": one})
            files.failed("cancelled", one)
        ids = files.send_all([("readFile", on(slow))] * MOST_REQUESTS)
        files.failed("limit", ids[-1])
        files.fails("limit", "readFile", on(aside))
        server.answers()
        server.notify("$/cancelRequest", {"id": ids[100]})
        files.failed("cancelled", ids[100])
        equal(files.read(aside), b"aside", "in the place of what was cancelled")
        hold.close()
    for one in [*ids[:100], *ids[101:-1]]:
        equal(server.result(one)["dataBase64"], encoded(b"first"), "content")


def the_end_of_input_comes_while_a_file_hangs(scene):
    server = scene.server()
    files, slow = Files(server), put(scene.path("slow"), b"old")
    with Held(slow) as hold:
        hanging = files.send("writeFile", writing(slow, b"new"))
        pid = hold.wait()
        server.close_input()
        equal(server.exit_status(), 0, "exit status")
        eventually(lambda: not is_alive(pid), "the end of who hung")
        hold.close()
    check("error" in server.reply(hanging) if server.is_answered(hanging) else True, "an answer")
    equal(content(slow), b"old", "content")


if can_hold():
    test(a_file_that_hangs_holds_up_only_what_overlaps)
    test(reads_of_one_file_run_side_by_side)
    test(a_request_that_hangs_can_be_cancelled)
    test(as_many_as_may_hang_and_the_rest_waits)
    test(a_large_read_that_hangs_midway_holds_up_no_other)
    test(requests_that_wait_are_bounded_in_number_and_in_size)
    test(the_end_of_input_comes_while_a_file_hangs)


@test
def cancelled_writes_leave_the_old_content_or_the_new(scene):
    server = scene.server()
    files, root = Files(server), scene.path("tree")
    os.mkdir(root)
    outcomes = set()
    for number in range(50):
        path = put(root + "/f", b"old")
        writing_id = files.send("writeFile", writing(path, b"new" * (1 + number % 7 * 200_000)))
        server.notify("$/cancelRequest", {"id": writing_id})
        answer = server.reply(writing_id)
        got = content(path)
        if "result" in answer:
            check(got[:3] == b"new", "answered, and yet the content is old")
        else:
            files.failed("cancelled", writing_id)
        outcomes.add("result" in answer)
        whole = got in (b"old", b"new" * (len(got) // 3)) and (got == b"old" or len(got) % 600000 == 3)
        check(whole, "neither old nor new: %d bytes" % len(got))
        equal(os.listdir(root), ["f"], "files in round %d" % number)
    check(False in outcomes, "nothing was cancelled")


@test
def cancelled_writes_leave_no_other_file(scene):
    """A file has two names only for a short moment, so the test makes many attempts."""
    server = scene.server()
    files, root = Files(server), scene.path("tree")
    os.mkdir(root)
    requests = [("writeFile", writing("%s/f%d" % (root, n % 8), b"x")) for n in range(64)]
    outcomes = set()
    for number in range(150):
        ids = files.send_all(requests)
        time.sleep(number % 10 * 0.0003)  # not a wait: it chooses another moment each time
        cancels = [{"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": one}} for one in ids]
        server.send_bytes(b"".join(server.framing.wrap(json.dumps(one).encode()) for one in cancels))
        outcomes |= {"result" in server.reply(one) for one in ids}
    check(False in outcomes, "nothing was cancelled")
    equal(temporaries(root), [], "temporary files")


# Ends


@test(alone=True)  # the server waits for it for some seconds only
def what_was_asked_before_the_end_of_input_is_done_and_answered(scene):
    server = scene.server()
    files, root = Files(server), scene.path("tree")
    requests = [("createDirectory", on(root))]
    requests += [("writeFile", writing("%s/f%d" % (root, n), b"%d" % n)) for n in range(20)]
    ids = files.send_all([*requests, ("readDirectory", on(root))])
    server.close_input()
    equal(server.exit_status(), 0, "exit status")
    server.wait(lambda: all(server.is_answered(one) for one in ids) or server.ended, "answers")
    for one in ids:
        server.result(one)
    for number in range(20):
        equal(content("%s/f%d" % (root, number)), b"%d" % number, "content %d" % number)
    equal(len(server.result(ids[-1])["entries"]), 20, "entries")


@test(alone=True)  # the server waits for it for some seconds only
def what_was_asked_before_a_shutdown_is_answered_and_done_if_that_is_said(scene):
    server, root = scene.server(), scene.path("tree")
    os.mkdir(root)
    requests = [("fs/writeFile", writing("%s/f%d" % (root, n), b"%d" % n)) for n in range(20)]
    ids = server.request_at_once([*requests, ("shutdown", {})])
    server.result(ids[-1])
    server.notify("exit")
    equal(server.exit_status(), 0, "exit status")
    for number, one in enumerate(ids[:-1]):
        path = "%s/f%d" % (root, number)
        if "result" in server.reply(one) or os.path.exists(path):
            equal(content(path), b"%d" % number, "content %d" % number)
    equal(temporaries(root), [], "temporary files")


@test
def the_worker_is_killed_amid_writes_and_every_file_is_whole(scene):
    seen = set()
    for number in range(8):
        root = scene.path("tree%d" % number)
        os.mkdir(root)
        for name in range(8):
            put("%s/f%d" % (root, name), b"old")
        size = 300_000 if number % 2 else 1
        seen |= killed_amid_writes(scene.server(), root, size, after=1 + number * 6)
        for name in temporaries(root):  # after a SIGKILL between two system calls
            data = content(os.path.join(root, name))
            check(len(data) == size and len(set(data)) == 1, "%s is not whole" % name)
    check(False in seen, "no write was done before the kill")


def killed_amid_writes(server, root, size, after):
    """Kills the worker after this number of answers. Returns the set of whether files are old."""
    server.may_be_cut = True
    files, answers = Files(server), []
    server.listener = answers.append
    requests = [
        ("writeFile", writing("%s/f%d" % (root, n % 8), b"%d" % (n // 8) * size)) for n in range(64)
    ]

    def send():
        with contextlib.suppress(Failure):  # the server ends in the middle of it
            files.send_all(requests)

    worker, sender = server.worker(), threading.Thread(target=send)
    sender.start()
    server.wait(lambda: len(answers) >= after, "%d answers" % after)
    processes = file_processes(server)
    kill_quietly(worker)
    eventually(lambda: not any(map(is_alive, processes)), "the end of the file processes")
    check(server.exit_status() != 0, "the end of the worker is told as a success")
    sender.join()
    seen = set()
    for name in range(8):
        data = content("%s/f%d" % (root, name))
        seen.add(data == b"old")
        whole = data == b"old" or (len(data) == size and len(set(data)) == 1)
        check(whole, "file %d is neither old nor new: %d bytes" % (name, len(data)))
    return seen


@test
def file_processes_end_with_the_server(scene):
    for way in ("end of input", signal.SIGTERM, signal.SIGKILL):
        server = scene.server()
        files = Files(server)
        for one in files.send_all([("getMetadata", on("/"))] * 6):
            server.result(one)
        processes = file_processes(server)
        check(processes, "there is no file process")
        if way == "end of input":
            equal(server.end(), 0, "exit status")
        else:
            server.may_be_cut = True
            os.kill(server.pid, way)
            server.exit_status()
        eventually(lambda p=processes: not any(map(is_alive, p)), "their end after %s" % way)


@test
def idle_file_processes_go_away_and_come_back(scene):
    server = scene.server()
    files = Files(server)
    for one in files.send_all([("getMetadata", on("/"))] * 6):
        server.result(one)
    check(file_processes(server), "there is no file process")
    eventually(lambda: not file_processes(server), "the end of idle ones")
    equal(files.call("getMetadata", on("/"))["isDirectory"], True, "afterwards")
    eventually(lambda: not server.zombies(), "the last of its processes collected")


@test
def a_file_process_that_is_killed_fails_its_request_alone(scene):
    server = scene.server()
    files, path = Files(server), put(scene.path("file"), b"x")
    equal(files.read(path), b"x", "before")
    for _ in range(20):
        for pid in file_processes(server):
            kill_quietly(pid)
        for message_id in files.send_all([("readFile", on(path))] * 4):
            answer = server.reply(message_id)
            if "error" in answer:
                files.failed("ioFailed", message_id)
        equal(eventually_read(files, path), b"x", "afterwards")


def eventually_read(files, path):
    """Returns the content, once requests no longer reach a process that was just killed."""
    for _ in range(20):
        answer = files.server.reply(files.send("readFile", on(path)))
        if "result" in answer:
            return files.read(path)
    raise Failure("every request fails")


@test(alone=True)
def descriptors_and_processes_do_not_pile_up(scene):
    server = scene.server()
    files, path = Files(server), put(scene.path("file"), b"x")

    def round_of_all(number):
        requests = [
            ("readFile", on(path)),
            ("readFile", on(scene.path("none"))),
            ("writeFile", writing(path, b"%d" % number)),
            ("open", on(path, handleId="r")),
            ("readBlock", {"handleId": "r", "offset": 0, "len": 10}),
            ("close", {"handleId": "r"}),
            ("open", on(path, handleId="w", mode="replace")),
            ("writeBlock", {"handleId": "w", "offset": 0, "chunk": ""}),
            ("close", {"handleId": "w"}),
            ("open", on(scene.path("none", "x"), handleId="n", mode="replace")),
            ("watchMissing", {"watchId": 1, "missing": [file_uri(scene.path("a%d" % number))]}),
            ("readDirectory", on("/")),
        ]
        for one in files.send_all(requests):
            server.reply(one)

    def open_ones():
        return server.descriptors(), [
            len(os.listdir("/proc/%d/fd" % pid)) for pid in sorted(file_processes(server))
        ]

    for number in range(20):
        round_of_all(number)
    before = open_ones()
    for number in range(180):
        round_of_all(number)
    after = open_ones()
    check(after[0] <= before[0] + 8, "descriptors of the server: %s, then %s" % (before, after))
    check(max(after[1]) <= max(before[1]) + 2, "of file processes: %s, then %s" % (before, after))
    check(len(after[1]) <= MOST_AT_ONCE, "%d file processes" % len(after[1]))
    eventually(lambda: not server.zombies(), "the last of its processes collected")


@test
def many_requests_at_once_are_refused_by_number_and_none_is_lost(scene):
    server = scene.server()
    files, path = Files(server), put(scene.path("file"), b"x")
    ids = files.send_all([("writeFile", writing(path, b"%d" % n)) for n in range(1500)])
    done = refused = 0
    for one in ids:
        if "result" in server.reply(one):
            done += 1
        else:
            files.failed("limit", one)
            refused += 1
    check(done >= 1024, "only %d were done, %d were refused" % (done, refused))
    equal(files.read(path)[:1].isdigit(), True, "content afterwards")


# A server without some part


@test
def with_few_descriptors_opens_are_refused_and_the_server_goes_on(scene):
    few = (80, 80)
    server = scene.server(prepare=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, few))
    files, path = Files(server), put(scene.path("file"), b"x")
    for mode in ("read", "replace"):
        requests = [("open", on(path, handleId="h%d" % n, mode=mode)) for n in range(150)]
        opened = []
        for number, one in enumerate(files.send_all(requests)):
            if "result" in server.reply(one):
                opened.append("h%d" % number)
            else:
                files.failed("limit", one)
        check(10 < len(opened) < 150, "%d files were opened" % len(opened))
        server.answers()
        for name in opened:
            files.close(name)
        files.write(path, b"y")
        equal(files.read(path), b"y", "content afterwards")
        equal(server.run_shell("p-" + mode, "echo here"), (0, b"here\n"), "a start afterwards")


@test
def without_execward_init_requests_fail_and_programs_run(scene):
    # Outside of its build directory the server uses the installed one.
    copy = shutil.copy(scene.command[0], scene.path("execward"))
    scene.command = [copy, *scene.command[1:]]
    files = scene_files(scene)
    asked = files.send("getMetadata", on("/"))
    if "result" in files.server.reply(asked):
        print("it is installed: skipped")
        return
    error = files.failed("ioFailed", asked)
    check("execward-init" in error["message"] + error["data"].get("hint", ""), "hint: %s" % error)
    for one in files.send_all([("writeFile", writing(scene.path("f%d" % n), b"")) for n in range(40)]):
        files.failed("ioFailed", one)
    check(not os.path.exists(scene.path("f0")), "it was written")
    equal(files.server.run_shell("p", "echo here"), (0, b"here\n"), "a program")
    eventually(lambda: not files.server.zombies(), "the last of its processes collected")


# A full disk


def own_disk(place, size):
    """Gives the calling process a small file system of its own."""
    machines.own_mounts()
    options = ctypes.c_char_p(b"size=%d" % size)
    result = machines.LIBC.mount(b"none", place.encode(), b"tmpfs", MS_NODEV, options)
    machines.must(result, "mount")


@test
def a_full_disk_leaves_the_old_content(scene):
    if os.geteuid() != 0:
        print("needs root to mount: skipped")
        return
    place = scene.path("disk")
    os.mkdir(place)
    files = scene_files(scene, prepare=lambda: own_disk(place, 1 << 20))
    path, linked = place + "/file", place + "/linked"
    big = put(scene.path("big"), bytes(3 << 20))
    files.write(path, b"old" * 10)
    files.write(linked, b"old" * 10)
    equal(os.listdir(place), [], "the disk is seen outside")
    done = files.server.run_shell("link", "ln %s %s.too" % (linked, linked))
    equal(done, (0, b""), "making a hard link")
    for target in (path, linked):
        files.fails("diskFull", "writeFile", writing(target, bytes(3 << 20)))
        files.fails("diskFull", "copy", copying(big, target))
        files.open("h", target, "replace")
        for number in range(6):
            params = {"handleId": "h", "offset": number << 19, "chunk": encoded(bytes(1 << 19))}
            files.server.reply(files.send("writeBlock", params))
        check("error" in files.server.reply(files.send("close", {"handleId": "h"})), "closed well")
        equal(files.read(target), b"old" * 10, "old content of " + target)
    files.fails("diskFull", "writeFile", writing(place + "/new", bytes(3 << 20)))
    listed = files.call("readDirectory", on(place))["entries"]
    names = sorted(one["fileName"] for one in listed)
    equal(names, ["file", "linked", "linked.too"], "files on the disk")
    files.write(path, bytes(500_000))
    equal(len(files.read(path)), 500_000, "size of what fits")


if __name__ == "__main__":
    main()

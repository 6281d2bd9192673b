"""fs/open, fs/readBlock, fs/writeBlock and fs/close: files in blocks."""

import os
import sys

sys.path.insert(0, os.path.abspath(__file__ + "/../../.."))
from support.client import check, decoded, encoded, equal
from support.files import (
    LARGEST_BLOCK,
    MOST_HANDLES,
    Files,
    Held,
    block,
    can_hold,
    content,
    on,
    part,
    picture,
    put,
    temporaries,
    writing,
)
from support.runner import main, test


def opening(path, handle, mode="read"):
    return on(path, handleId=handle, mode=mode)


# Reading


@test
def a_file_larger_than_any_message_is_read_in_blocks(scene):
    files, path, size = Files(scene.server()), scene.path("big"), (100 << 20) + 7
    with open(path, "wb") as file:
        for number in range(100):
            file.seek(number << 20)
            file.write(b"%08d" % number)
        file.truncate(size)
    files.open("h", path)
    offset = count = 0
    while True:
        data, is_end = files.read_block("h", offset)
        if offset < 100 << 20:
            equal(data[:8], b"%08d" % count, "beginning of block %d" % count)
        offset, count = offset + len(data), count + 1
        equal(is_end, len(data) < LARGEST_BLOCK, "eof of block %d" % count)
        if is_end:
            break
    equal((offset, count), (size, 101), "bytes and blocks")
    files.close("h")


@test
def blocks_around_the_end_of_a_file(scene):
    files, path = Files(scene.server()), put(scene.path("file"), b"0123456789")
    files.open("h", path)
    for offset, length, want in (
        (0, 10, (b"0123456789", False)),
        (0, 11, (b"0123456789", True)),
        (9, 1, (b"9", False)),
        (10, 1, (b"", True)),
        (5, LARGEST_BLOCK, (b"56789", True)),
        (1 << 40, 1, (b"", True)),
        ((1 << 63) - 1, 1, (b"", True)),
        ((1 << 64) - 1, LARGEST_BLOCK, (b"", True)),
    ):
        equal(files.read_block("h", offset, length), want, "block at %d of %d" % (offset, length))
    with open(path, "ab") as file:
        file.write(b"more")
    equal(files.read_block("h", 10, 100), (b"more", True), "what came later")
    os.truncate(path, 3)
    equal(files.read_block("h", 0, 100), (b"012", True), "after it was cut")


@test
def a_length_out_of_bounds_is_refused_and_the_handle_stays(scene):
    files, path = Files(scene.server()), put(scene.path("file"), b"x")
    files.open("h", path)
    for length in (0, LARGEST_BLOCK + 1, 1 << 32, (1 << 64) - 1):
        files.fails("limit", "readBlock", block("h", 0, length))
    for wrong in ({"offset": -1}, {"len": -1}, {"len": "1"}, {"offset": 1.5}):
        files.fails("invalidParams", "readBlock", {**block("h", 0, 1), **wrong})
    files.fails("wrongKind", "writeBlock", part("h", 0, b"y"))
    equal(files.read_block("h", 0, 1), (b"x", False), "block")
    equal(content(path), b"x", "content")


@test
def an_open_file_outlives_its_name(scene):
    files, path = Files(scene.server()), put(scene.path("file"), b"old")
    files.open("h", path)
    files.write(path, b"new")
    files.open("i", path)
    files.call("remove", on(path))
    equal(files.read_block("h", 0, 9), (b"old", True), "the first file")
    equal(files.read_block("i", 0, 9), (b"new", True), "the second file")
    check(not os.path.exists(path), "the name is still there")


# Names


@test
def names_of_handles_are_the_clients_affair(scene):
    files = Files(scene.server())
    names = ["", " ", "h\u00e4ndle", "\u0000", "../x", "n" * 1024]
    for number, name in enumerate(names):
        files.open(name, put(scene.path("f%d" % number), b"%d" % number))
    for number, name in enumerate(names):
        files.fails("handleExists", "open", opening(scene.path("f0"), name))
        equal(files.read_block(name, 0, 1)[0], b"%d" % number, "block of %r" % name)
    for name in names:
        files.close(name)
        files.close(name)
        files.fails("unknownHandle", "readBlock", block(name, 0, 1))
        files.fails("unknownHandle", "writeBlock", part(name, 0, b""))
    files.fails("invalidParams", "open", opening(scene.path("f0"), "n" * 1025))
    files.fails("invalidParams", "open", opening(scene.path("f0"), "h", "append"))


@test
def a_name_is_free_after_an_open_that_failed(scene):
    files, path = Files(scene.server()), scene.path("file")
    for mode, place in (("read", path), ("replace", scene.path("none", "file"))):
        files.fails("notFound", "open", opening(place, "h", mode))
        files.fails("unknownHandle", "readBlock", block("h", 0, 1))
        files.close("h")
    put(path, b"x")
    files.open("h", path)
    equal(files.read_block("h", 0, 1)[0], b"x", "block")


@test
def requests_on_a_handle_may_be_sent_before_it_is_open(scene):
    files, path = Files(scene.server()), put(scene.path("file"), b"0123456789")
    server = files.server
    for _ in range(30):
        ids = files.send_all(
            [
                ("open", opening(path, "h")),
                ("readBlock", block("h", 3, 4)),
                ("close", {"handleId": "h"}),
                ("readBlock", block("h", 0, 1)),
                ("open", opening(path, "h", "replace")),
                ("writeBlock", part("h", 0, b"01234")),
                ("writeBlock", part("h", 5, b"56789")),
                ("close", {"handleId": "h"}),
                ("readFile", on(path)),
                ("open", opening(path, "h")),
                ("readBlock", block("h", 0, 10)),
                ("close", {"handleId": "h"}),
            ]
        )
        equal(server.result(ids[1]), {"chunk": encoded(b"3456"), "eof": False}, "first block")
        files.failed("unknownHandle", ids[3])
        equal(server.result(ids[8])["dataBase64"], encoded(b"0123456789"), "content")
        equal(decoded(server.result(ids[10])["chunk"]), b"0123456789", "second block")
        for number in (0, 2, 4, 5, 6, 7, 9, 11):
            server.result(ids[number])


@test
def requests_behind_an_open_that_fails_are_answered(scene):
    files, path = Files(scene.server()), scene.path("none")
    for _ in range(20):
        ids = files.send_all(
            [
                ("open", opening(path, "h")),
                ("readBlock", block("h", 0, 1)),
                ("close", {"handleId": "h"}),
                ("open", opening(put(scene.path("file"), b"x"), "h")),
                ("readBlock", block("h", 0, 1)),
                ("close", {"handleId": "h"}),
            ]
        )
        files.failed("notFound", ids[0])
        files.failed("unknownHandle", ids[1])
        files.server.reply(ids[2])
        equal(files.server.result(ids[4])["chunk"], encoded(b"x"), "block of the next of that name")
        files.server.result(ids[5])


@test
def no_more_handles_than_the_limit(scene):
    files, path = Files(scene.server()), put(scene.path("file"), b"x")
    requests = [("open", opening(path, "h%d" % number)) for number in range(MOST_HANDLES)]
    for one in files.send_all(requests):
        files.server.result(one)
    for mode in ("read", "replace"):
        files.fails("limit", "open", opening(path, "more", mode))
    files.fails("handleExists", "open", opening(path, "h7"))
    equal(files.read_block("h511", 0, 1), (b"x", False), "the last one")
    files.close("h7")
    files.open("more", path)
    before = files.server.descriptors()
    for one in files.send_all([("close", {"handleId": "h%d" % n}) for n in range(MOST_HANDLES)]):
        files.server.result(one)
    check(files.server.descriptors() <= before - MOST_HANDLES + 2, "descriptors stay open")


# Replacing


@test
def new_content_is_seen_by_nobody_until_it_is_closed(scene):
    files, root = Files(scene.server()), scene.path("tree")
    os.mkdir(root)
    for name in ("old", "new"):
        path = os.path.join(root, name)
        if name == "old":
            put(path, b"old content")
            os.chmod(path, 0o640)
        before = picture(root)
        files.open("h", path, "replace")
        equal(picture(root), before, "after open")
        for number in (2, 0, 1):
            files.write_block("h", number * LARGEST_BLOCK, b"%d" % number * LARGEST_BLOCK)
            equal(picture(root), before, "after a block")
        files.fails("wrongKind", "readBlock", block("h", 0, 1))
        files.close("h")
        want = b"".join(b"%d" % number * LARGEST_BLOCK for number in range(3))
        check(content(path) == want, "the content is not what was written")
    equal(os.stat(root + "/old").st_mode & 0o777, 0o640, "mode")
    equal(sorted(os.listdir(root)), ["new", "old"], "files")


@test
def gaps_read_as_zeros_and_an_empty_replacement_is_empty(scene):
    files, path = Files(scene.server()), put(scene.path("file"), b"old")
    files.open("h", path, "replace")
    files.write_block("h", 3_000_000, b"end")
    files.write_block("h", 0, b"begin")
    files.write_block("h", 1_000, b"")
    files.close("h")
    equal(content(path).replace(b"\0", b""), b"beginend", "content without zeros")
    equal(os.path.getsize(path), 3_000_003, "size")
    files.open("h", path, "replace")
    files.close("h")
    equal(content(path), b"", "content")


@test
def a_block_out_of_bounds_is_refused_and_the_handle_stays(scene):
    files, path = Files(scene.server()), put(scene.path("file"), b"old")
    files.open("h", path, "replace")
    files.fails("limit", "writeBlock", part("h", 0, bytes(LARGEST_BLOCK + 1)))
    files.fails("invalidParams", "writeBlock", {"handleId": "h", "offset": 0, "chunk": "="})
    files.fails("invalidParams", "writeBlock", {"handleId": "h", "offset": -1, "chunk": ""})
    files.write_block("h", 0, b"new")
    files.close("h")
    equal(content(path), b"new", "content")


@test
def a_close_after_a_block_that_failed_keeps_the_old_content(scene):
    """An incomplete file must not replace a complete one."""
    files, path = Files(scene.server()), put(scene.path("file"), b"old")
    ids = files.send_all(
        [
            ("open", opening(path, "h", "replace")),
            ("writeBlock", part("h", 0, b"new")),
            ("writeBlock", part("h", (1 << 63) - 2, b"beyond any file")),
            ("close", {"handleId": "h"}),
        ]
    )
    check("error" in files.server.reply(ids[2]), "a block beyond any file was written")
    check("error" in files.server.reply(ids[3]), "fs/close tells of no failure")
    equal(content(path), b"old", "content")
    files.fails("unknownHandle", "writeBlock", part("h", 0, b""))


@test
def several_replacements_of_one_file_end_in_the_order_of_their_closes(scene):
    files, path = Files(scene.server()), put(scene.path("file"), b"old")
    for name in ("a", "b", "c"):
        files.open(name, path, "replace")
        files.write_block(name, 0, name.encode())
    for name in ("b", "c", "a"):
        files.close(name)
        equal(content(path), name.encode(), "content after the close of " + name)
    equal(temporaries(scene.path()), [], "temporary files")


@test
def a_replacement_that_is_never_closed_leaves_nothing(scene):
    root = scene.path("tree")
    os.mkdir(root)
    put(root + "/file", b"old")
    os.link(put(root + "/linked", b"old"), root + "/other")
    before = picture(root)
    for way in ("end of input", "kill"):
        server = scene.server()
        files = Files(server)
        for name in ("file", "linked", "new"):
            files.open(name, os.path.join(root, name), "replace")
            files.write_block(name, 0, b"new content")
        equal(picture(root), before, "while it is open")
        if way == "kill":
            server.may_be_cut = True
            os.kill(server.worker(), 9)
            server.exit_status()
        else:
            equal(server.end(), 0, "exit status")
        equal(picture(root), before, "after the " + way)


@test
def a_replacement_goes_to_the_directory_it_was_opened_in(scene):
    files, root = Files(scene.server()), scene.path("tree")
    os.makedirs(root + "/a")
    put(root + "/a/file", b"old")
    files.open("h", root + "/a/file", "replace")
    files.write_block("h", 0, b"new")
    os.rename(root + "/a", root + "/moved")
    os.makedirs(root + "/a")
    put(root + "/a/file", b"another")
    files.close("h")
    equal(content(root + "/a/file"), b"another", "another file of that name")
    equal(content(root + "/moved/file"), b"new", "the file that was opened")


@test
def what_has_happened_to_the_name_meanwhile(scene):
    files, root = Files(scene.server()), scene.path("tree")
    os.makedirs(root)

    def open_one(name):
        path = put(os.path.join(root, name), b"old")
        files.open(name, path, "replace")
        files.write_block(name, 0, b"new")
        os.unlink(path)
        return path

    open_one("removed")
    files.close("removed")
    equal(content(root + "/removed"), b"new", "a file that was removed")
    os.mkdir(open_one("directory"))
    check("error" in files.server.reply(files.send("close", {"handleId": "directory"})), "closed")
    check(os.path.isdir(root + "/directory"), "the directory is gone")
    put(scene.path("target"), b"target")
    os.symlink(scene.path("target"), open_one("link"))
    files.server.reply(files.send("close", {"handleId": "link"}))
    equal(content(scene.path("target")), b"target", "what a link that came later leads to")
    equal(temporaries(root), [], "temporary files")


@test
def a_replacement_through_a_link_keeps_the_link_and_hard_links_stay_one_file(scene):
    files, root = Files(scene.server()), scene.path("tree")
    os.makedirs(root + "/a")
    put(root + "/a/file", b"old")
    os.symlink("a/file", root + "/link")
    files.open("h", root + "/link", "replace")
    files.write_block("h", 0, b"new")
    files.close("h")
    equal((content(root + "/a/file"), os.readlink(root + "/link")), (b"new", "a/file"), "link")
    os.link(root + "/a/file", root + "/hard")
    inode = os.stat(root + "/hard").st_ino
    files.open("h", root + "/a/file", "replace")
    files.write_block("h", 0, b"longer than before")
    equal(content(root + "/hard"), b"new", "before the close")
    files.close("h")
    equal(content(root + "/hard"), b"longer than before", "after the close")
    equal(os.stat(root + "/a/file").st_ino, inode, "inode")


@test
def programs_get_no_open_file(scene):
    server = scene.server()
    files, path = Files(server), put(scene.path("file"), b"x")
    for number in range(20):
        files.open("r%d" % number, path)
        files.open("w%d" % number, path, "replace")
    equal(server.run_shell("p", "ls /proc/self/fd | wc -l"), (0, b"4\n"), "descriptors of ls")


# Order, and files that hang


@test
def blocks_and_closes_take_effect_in_order_when_pipelined(scene):
    files, path = Files(scene.server()), put(scene.path("file"), b"old")
    for number in range(20):
        requests = [("open", opening(path, "h", "replace"))]
        requests += [("writeBlock", part("h", 0, b"%03d" % n * 1000)) for n in range(30)]
        requests += [
            ("close", {"handleId": "h"}),
            ("readFile", on(path)),
            ("writeFile", writing(path, b"%d" % number)),
            ("open", opening(path, "r%d" % number)),
            ("readBlock", block("r%d" % number, 0, 9)),
        ]
        ids = files.send_all(requests)
        for one in ids:
            files.server.result(one)
        equal(files.server.result(ids[32])["dataBase64"], encoded(b"029" * 1000), "content")
        equal(files.server.result(ids[35])["chunk"], encoded(b"%d" % number), "block")


def an_open_that_hangs_can_be_closed_and_cancelled(scene):
    server = scene.server()
    files, slow = Files(server), put(scene.path("slow"), b"slow")
    with Held(slow) as hold:
        ids = files.send_all(
            [
                ("open", opening(slow, "h")),
                ("readBlock", block("h", 0, 4)),
                ("close", {"handleId": "h"}),
            ]
        )
        hold.wait()
        files.open("h", put(scene.path("quick"), b"quick"))
        equal(files.read_block("h", 0, 5), (b"quick", False), "the next of that name")
        equal([one for one in ids if server.is_answered(one)], [], "answers that are too early")
        hold.release()
        equal(server.result(ids[1])["chunk"], encoded(b"slow"), "block of the one that hung")
        server.result(ids[2])

        ids = files.send_all([("open", opening(slow, "i")), ("readBlock", block("i", 0, 4))])
        hold.wait()
        files.fails("handleExists", "open", opening(slow, "i"))
        server.notify("$/cancelRequest", {"id": ids[0]})
        files.failed("cancelled", ids[0])
        files.failed("unknownHandle", ids[1])
        hold.release()
        hold.close()
    files.open("i", slow)
    equal(files.read_block("i", 0, 4), (b"slow", False), "after all")
    equal(files.read_block("h", 0, 5), (b"quick", False), "the other")


def a_block_that_hangs_can_be_cancelled_and_the_handle_stays(scene):
    server = scene.server()
    files, slow = Files(server), put(scene.path("slow"), b"slow")
    files.open("i", put(scene.path("quick"), b"quick"))
    with Held(slow, Held.ACCESS) as hold:
        files.open("h", slow)  # by then it is known whether reads of it can be held
        reading = files.send("readBlock", block("h", 0, 4))
        hold.wait()
        waiting = files.send("readBlock", block("h", 1, 1))
        equal(files.read_block("i", 0, 5), (b"quick", False), "another handle")
        check(not server.is_answered(reading), "it did not hang")
        server.notify("$/cancelRequest", {"id": waiting})
        files.failed("cancelled", waiting)
        server.notify("$/cancelRequest", {"id": reading})
        files.failed("cancelled", reading)
        hold.release()
        hold.close()
    equal(files.read_block("h", 0, 4), (b"slow", False), "afterwards")


if can_hold():
    test(an_open_that_hangs_can_be_closed_and_cancelled)
    test(a_block_that_hangs_can_be_cancelled_and_the_handle_stays)


if __name__ == "__main__":
    main()

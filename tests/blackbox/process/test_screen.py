"""process/screen: what a terminal shows, now and after earlier output."""

import os
import shutil
import sys
import xml.etree.ElementTree

sys.path.insert(0, os.path.abspath(__file__ + "/../../.."))
from support.client import PYTHON, check, equal, eventually, within
from support.runner import Scene, main, test
from support.screens import is_there, screen, tests_with_screens, text, wait_screen

KEPT = 1 << 20  # bytes of output
GO_ON = "read line; "  # waits for the client

with_screens = tests_with_screens(Scene.server)


def printing(*texts):
    """A script that prints these texts and waits for a line of input after each."""
    return "stty -echo -opost; " + "".join("printf '%s'; %s" % (one, GO_ON) for one in texts)


@test
def without_the_library_the_answer_says_so(scene):
    server = scene.server()
    if is_there(server):
        return
    server.start_shell("a", "read line", tty=True)
    error = server.refused("process/screen", {"processId": "a"}, -32602, "invalidParams")
    check("no screens" in error["message"], error)
    params = server.start_params("b", ["true"], tty=True, answerQueries=True)
    server.refused("process/start", params, -32602, "invalidParams")


@with_screens
def rows_cursor_title_and_size_are_told(server):
    script = printing("one\\r\\n\\033[5;3Htwo\\033]2;the title\\007\\033[?25l")
    server.start_shell("a", script, tty=True, size={"rows": 7, "cols": 30})
    result = wait_screen(server, "a", "two")
    equal(text(result), "one\n\n\n\n  two", "the text")
    equal(result["cursor"], {"row": 4, "col": 5, "visible": False}, "the cursor")
    equal(result["title"], "the title", "the title")
    equal(result["size"], {"rows": 7, "cols": 30}, "the size")
    equal((result["alternate"], result["complete"]), (False, True), "alternate, complete")
    equal(len(result["rows"]), 7, "rows")


@with_screens
def the_alternate_screen_comes_and_goes(server):
    script = printing("main\\033[?1049h\\033[Hinside", "\\033[?1049l")
    server.start_shell("a", script, tty=True)
    check(wait_screen(server, "a", "inside")["alternate"], "not told")
    server.write("a", b"\n")
    check(not wait_screen(server, "a", "main")["alternate"], "still told")


@with_screens
def only_changed_rows_are_sent(server):
    script = printing("one\\r\\ntwo\\r\\nthree", "\\033[2;1HTWO")
    server.start_shell("a", script, tty=True, size={"rows": 5, "cols": 20})
    first = wait_screen(server, "a", "three")
    again = screen(server, "a", sinceVersion=first["version"])
    equal((again["rows"], again["version"]), ([], first["version"]), "nothing has changed")
    server.write("a", b"\n")
    changed = eventually(
        lambda: screen(server, "a", sinceVersion=first["version"])["rows"], "a change"
    )
    equal(changed, [{"row": 1, "text": "TWO"}], "the rows")
    equal(len(screen(server, "a", sinceVersion=1 << 60)["rows"]), 5, "rows since a version to come")
    equal(len(screen(server, "a", sinceVersion=0)["rows"]), 5, "rows since the beginning")


@with_screens
def cells_have_styles(server):
    script = printing("\\033[1;31mred\\033[0m \\346\\274\\242 \\033[7;48;2;1;2;3mx\\033[0m")
    server.start_shell("a", script, tty=True)
    wait_screen(server, "a", "x")
    cells = screen(server, "a", format="cells")["rows"][0]["cells"]
    equal(
        cells,
        [
            {"col": 0, "width": 3, "text": "red", "foreground": "1", "bold": True},
            {"col": 3, "width": 4, "text": " \u6f22 "},
            {"col": 7, "width": 1, "text": "x", "background": "#010203", "reverse": True},
        ],
        "the cells",
    )


@with_screens
def a_picture_is_one_harmless_file(server):
    title = "</title><script>alert(1)</script>"
    script = printing("<b>&amp; \\342\\200\\256tercles \\342\\200\\213\\033]2;%s\\007" % title)
    server.start_shell("a", script, tty=True, size={"rows": 3, "cols": 40})
    wait_screen(server, "a", "tercles")
    result = screen(server, "a", format="svg")
    equal(result["rows"], [], "rows")
    root = xml.etree.ElementTree.fromstring(result["svg"])
    names = {element.tag.rpartition("}")[2] for element in root.iter()}
    check(names <= {"svg", "title", "g", "rect", "text"}, names)
    texts = "".join(element.text or "" for element in root.iter() if element.tag.endswith("}text"))
    check("<b>&amp; tercles" in texts, texts)
    equal(root.find("{*}title").text, title, "the title")
    check("href" not in result["svg"] and "url(" not in result["svg"], "it needs other files")


@with_screens
def earlier_screens_can_be_seen(server):
    script = printing("first", "\\033[2J\\033[Hsecond")
    server.start_shell("a", script, tty=True)
    wait_screen(server, "a", "first")
    before = screen(server, "a")["offset"]
    server.write("a", b"\n")
    wait_screen(server, "a", "second")
    for number in (before, before - 2):
        result = screen(server, "a", atOffset=number)
        equal(text(result), "first"[: 5 - before + number], "the screen after %d bytes" % number)
        equal((result["offset"], result["version"]), (number, 0), "offset, version")
    chunks = server.read("a")["chunks"]
    seq = chunks[0]["seq"]
    check("first" in text(screen(server, "a", afterSeq=seq)), "not after its first piece")
    for wrong in (
        {"atOffset": 1 << 40},
        {"afterSeq": 1 << 40},
        {"afterSeq": seq, "atOffset": 1},
        {"atOffset": 1, "sinceVersion": 1},
        {"sinceversion": 1},
        {"format": "png"},
    ):
        server.refused("process/screen", {"processId": "a", **wrong}, -32602, "invalidParams")


@with_screens
def a_new_size_counts_from_its_place_in_the_output(server):
    script = printing("a" * 30, "b" * 30)
    server.start_shell("a", script, tty=True, size={"rows": 5, "cols": 40})
    wait_screen(server, "a", "a" * 30)
    middle = screen(server, "a")["offset"]
    server.call("process/resize", {"processId": "a", "size": {"rows": 6, "cols": 20}})
    server.write("a", b"\n")
    result = wait_screen(server, "a", "b")
    wait_screen(server, "a", "b" * 20)
    equal(result["size"], {"rows": 6, "cols": 20}, "the size")
    again = screen(server, "a", atOffset=screen(server, "a")["offset"])
    equal(text(again), text(screen(server, "a")), "the same by a replay")
    earlier = screen(server, "a", atOffset=middle - 1)
    equal(earlier["size"], {"rows": 5, "cols": 40}, "the earlier size")


@with_screens
def what_is_no_terminal_has_no_screen(server):
    server.start_shell("pipes", "read line", pipeStdin=True)
    error = server.refused("process/screen", {"processId": "pipes"}, -32600, "notATerminal")
    check("tty" in error["data"]["hint"], error)
    server.refused("process/screen", {"processId": "nobody"}, -32600, "unknownProcess")
    server.start_shell("large", "read line", tty=True, size={"rows": 1001, "cols": 2})
    server.refused("process/screen", {"processId": "large"}, -32600, "limit")
    server.call("process/resize", {"processId": "large", "size": {"rows": 10, "cols": 20}})


@with_screens
def a_screen_stays_after_the_end(server):
    server.run_shell("a", "printf 'last words'; exit 3", tty=True)
    equal(text(screen(server, "a")), "last words", "the screen")


@with_screens
def output_without_its_beginning_is_said_to_be_so(server):
    script = "stty -opost; printf 'lost\\r\\n'; head -c %d /dev/zero | tr '\\0' x; printf '\\r\\n%%s' end"
    server.start_shell("a", script % (2 * KEPT) + "; read line", tty=True)
    server.wait_output("a", b"end")
    result = wait_screen(server, "a", "end")
    equal(result["complete"], False, "complete")
    equal(result["offset"], 2 * KEPT + 11, "offset")
    server.refused("process/screen", {"processId": "a", "atOffset": 3}, -32602, "invalidParams")


@with_screens
def a_screen_that_is_looked_at_misses_nothing(server):
    """Much more output than is kept comes between two looks."""
    lines = 2 * KEPT // 8
    script = (
        "stty -opost -echo; printf 'top\\033[2;5r\\033[2;1H'; read line; "
        "yes '\r1234567' | head -n %d; printf done; read line" % lines
    )
    server.start_shell("a", script, tty=True, size={"rows": 6, "cols": 20})
    wait_screen(server, "a", "top")
    server.write("a", b"\n")
    server.wait_output("a", b"done")
    result = wait_screen(server, "a", "done")
    equal((result["complete"], result["rows"][0]["text"]), (True, "top"), "complete, its first row")


@with_screens
def a_flood_that_nobody_looks_at_is_not_kept_up(server):
    """After 4 MiB without a look, the screen is made anew: what was above the flood is gone."""
    script = (
        "stty -opost -echo; printf 'top\\033[2;5r\\033[2;1H'; read line; "
        "yes '\r123456789012345' | head -c %d; printf done; read line" % (6 * KEPT)
    )
    server.start_shell("a", script, tty=True, size={"rows": 6, "cols": 20})
    before = wait_screen(server, "a", "top")
    server.write("a", b"\n")
    server.wait_output("a", b"done")
    result = wait_screen(server, "a", "done")
    check(not result["complete"] and result["rows"][0]["text"] != "top", "it was kept up")
    check(result["version"] > before["version"], "a version was used again")


@with_screens
def more_screens_are_looked_at_than_are_kept_up(server):
    for i in range(20):
        server.start_shell("p%d" % i, printing("number %d" % i), tty=True)
    for _ in range(2):
        for i in range(20):
            wait_screen(server, "p%d" % i, "number %d" % i)


def start_dense(server, name, count=60000):
    """Starts a program whose output takes long to draw."""
    writes = "import sys; sys.stdout.write(\"\\033#8\\033[J\" * %d)" % count
    script = "stty -opost; %s -c '%s'; printf end; read line" % (PYTHON, writes)
    server.start_shell(name, script, tty=True, size={"rows": 1000, "cols": 100})
    server.wait_output(name, b"end")


@with_screens
def a_long_replay_can_be_cancelled(server):
    start_dense(server, "a")
    first, second = server.request_at_once([("process/screen", {"processId": "a"})] * 2)
    server.notify("$/cancelRequest", {"id": second})
    server.error(second, -32800, "cancelled")
    server.call("environment/status")  # the loop goes on meanwhile
    check(not server.is_answered(first), "it was no long replay")
    server.notify("$/cancelRequest", {"id": first})
    server.error(first, -32800, "cancelled")


@with_screens
def a_long_replay_does_not_hold_up_others(server):
    start_dense(server, "a")
    start_dense(server, "b", count=20)
    long, short = (server.request("process/screen", {"processId": name}) for name in "ab")
    check("end" in text(server.result(short)), "no screen")
    check(not server.is_answered(long), "it was no long replay")
    server.notify("$/cancelRequest", {"id": long})
    server.error(long, -32800, "cancelled")


@with_screens
def a_long_replay_does_not_hold_up_the_end(server):
    start_dense(server, "a")
    request = server.request("process/screen", {"processId": "a"})
    equal(server.end(), 0, "exit status")
    server.error(request, -32600, "shuttingDown")


QUERIES = "stty raw -echo; printf '\\033[3;7H\\033[6n\\033[c\\033[5n'; printf go; exec cat -v"


@with_screens
def queries_are_answered_if_the_client_wants_it(server):
    server.start_shell("a", QUERIES, tty=True, answerQueries=True)
    server.wait_output("a", b"^[[3;7R^[[?1;2c^[[0n")
    server.write("a", b"typed")
    server.wait_output("a", b"typed")
    check("typed" in text(screen(server, "a")), "no screen")


@with_screens
def queries_are_not_answered_otherwise(server):
    server.start_shell("a", QUERIES, tty=True)
    wait_screen(server, "a", "go")
    server.write("a", b"typed")
    server.wait_output("a", b"typed")
    check(b"R" not in server.output("a") and b"c^" not in server.output("a"), "an answer came")


@with_screens
def only_a_terminal_answers_queries(server):
    params = server.start_params("a", ["true"], tty=False, answerQueries=True)
    error = server.refused("process/start", params, -32602, "invalidParams")
    equal(error["data"]["path"], "answerQueries", "path")
    params = server.start_params("a", ["true"], tty=True, answerQueries=True,
                                 size={"rows": 2000, "cols": 2})
    server.refused("process/start", params, -32600, "limit")
    server.run_shell("a", "true", tty=True, answerQueries=True)  # the name is free


@with_screens
def a_flood_of_queries_is_bounded(server):
    script = "stty raw -echo; yes '\033[6n' | head -c 400000; printf end; sleep 600"
    server.start_shell("a", script, tty=True, answerQueries=True)
    server.wait_output("a", b"end")
    check("end" in text(screen(server, "a")), "no screen")


def seen_in(program, argv, keys, shows):
    """A test of a real program: what it shows after these keys."""

    def run(scene):
        server = scene.server()
        if not is_there(server) or shutil.which(program) is None:
            return
        path = scene.file("poem.txt", "".join("line %d\n" % i for i in range(100)))
        environment = {"TERM": "xterm-256color", "LANG": "C.UTF-8", "HOME": scene.directory}
        server.start("a", [word.replace("FILE", path) for word in argv], tty=True, env=environment)
        wait_screen(server, "a", shows[0])
        server.write("a", keys)
        result = wait_screen(server, "a", shows[1])
        check(text(screen(server, "a", atOffset=result["offset"])) == text(result), "a replay differs")

    run.__name__ = "%s_is_seen" % program
    test(run)


seen_in("vim", ["vim", "-u", "NONE", "-i", "NONE", "-n", "FILE"], b"Gohello\x1b", ("line 1", "hello"))
seen_in("less", ["less", "FILE"], b"G", ("line 1", "line 99"))
seen_in("nano", ["nano", "--ignorercfiles", "FILE"], b"hello", ("line 1", "helloline 0"))
seen_in("htop", ["htop", "-d", "600"], b"\x1bOP", ("PID", "htop"))
seen_in("dialog", ["dialog", "--msgbox", "a message", "8", "30"], b"\t", ("a message", "OK"))


@test(alone=True)
def floods_that_nobody_looks_at_cost_nothing(scene):
    """The time of the worker for the same floods, with terminals that nobody has looked at."""
    server = scene.server()
    if not is_there(server):
        return
    script = "stty raw; head -c %d /dev/zero | tr '\\0' x" % (4 << 20)

    def cost(name, look):
        server.start_shell(name, GO_ON + script + "; printf done; " + GO_ON, tty=True)
        if look:
            screen(server, name)
        before = server.busy_seconds()
        server.write(name, b"\n")
        server.wait_output(name, b"done")
        return server.busy_seconds() - before

    cost("first", False)
    unseen = min(cost("unseen%d" % i, False) for i in range(3))
    seen = min(cost("seen%d" % i, True) for i in range(3))
    check(unseen < seen + within(0.1), "unseen %.3f s, seen %.3f s" % (unseen, seen))
    check(unseen < within(2), "unseen %.3f s" % unseen)


if __name__ == "__main__":
    main()

"""execward screen: the last screen of a recorded session."""

import os
import sys
import xml.dom.minidom

sys.path.insert(0, os.path.abspath(__file__ + "/../../.."))
from support.client import check, equal
from support.runner import main, test


def run(scene, *arguments):
    return scene.once("screen", *arguments)


def recorded(scene, **scripts):
    """Returns the path of a recording in which these processes have run in terminals."""
    path = scene.path("session.transcript")
    server = scene.server("--record", path)
    for name, script in scripts.items():
        server.start_shell(name, script, tty=True, size={"rows": 5, "cols": 30})
        server.wait_closed(name)
    return path


@test
def the_last_screen_is_told_as_text(scene):
    path = recorded(scene, a="printf '\\033[31mold\\033[2J\\033[Hnew <b>\\033[3;2Hrow'")
    done = run(scene, path)
    equal((done.returncode, done.stdout, done.stderr), (0, "new <b>\n\n row\n", ""), "text")


@test
def the_last_screen_is_told_as_a_picture(scene):
    path = recorded(scene, a="printf '\\033]0;</title><script>\\007<b>bold'")
    target = scene.path("screen.svg")
    equal(run(scene, "--svg", "-o", target, path).returncode, 0, "status")
    with open(target, encoding="utf-8") as file:
        picture = file.read()
    check("&lt;b&gt;bold" in picture and "<script" not in picture, picture)
    xml.dom.minidom.parseString(picture)


@test
def of_several_terminals_one_is_chosen(scene):
    path = recorded(scene, a="echo from a", b="echo from b")
    equal(run(scene, "--process=b", path).stdout, "from b\n", "text")
    for arguments, words in (
        ((path,), "2 processes"),
        (("--process=c", path), "these have one: a, b"),
        ((scene.path("nothing"),), "cannot read"),
        (("-o", scene.path("no/where"), "--process=a", path), "cannot write"),
    ):
        done = run(scene, *arguments)
        equal((done.returncode, done.stdout), (1, ""), "status of %s" % (arguments,))
        check(words in done.stderr, done.stderr)


main()

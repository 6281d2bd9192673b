"""Keys by name, and pastes."""

import os
import shutil
import sys

sys.path.insert(0, os.path.abspath(__file__ + "/../../.."))
from support.client import check, equal
from support.exec import exec_server
from support.runner import main, test

# Shows what it reads, key by key. It can set modes of the terminal first.
SHOW = "stty raw -echo; printf '%s'; echo go; exec cat -v"


def shown(server, process_id, want, **params):
    """Types, and waits until the program has shown this."""
    result = server.stdin(process_id, quietMs=20, yieldTimeMs=1000, **params)
    output = server.gather(process_id, want, result["output"])
    check(output.strip() == want, "output %r, not %r" % (output, want))


@test
def keys_arrive_as_a_terminal_sends_them(scene):
    server = exec_server(scene)
    process_id = server.left_running(SHOW % "", shows="go", tty=True)
    shown(server, process_id, "^M^C^[x^[[Z^[[A^[[15~", keys=[
        "enter", "ctrl-c", "alt-x", "shift-tab", "up", "f5"
    ])
    shown(server, process_id, "textpaste^[[B", chars="text", paste="paste", keys=["down"])
    typed = [text for text in server.program(process_id).interactions if text]
    equal(typed[-1], "*" * 12, "it is typed without an echo")


@test
def keys_follow_the_modes_that_the_program_sets(scene):
    server = exec_server(scene)
    process_id = server.left_running(SHOW % r"\033[?1h\033[?2004h\033=", shows="go", tty=True)
    shown(server, process_id, "^[[200~ab^[[201~^[OA^[Ou", paste="a\x1b[201~b",
          keys=["up", "keypad-5"])


@test
def keys_work_for_processes_too(scene):
    server = exec_server(scene)
    script = "stty raw -echo; printf '\\033[?1h'; echo go; exec cat -v"
    server.start_shell("own", script, tty=True)
    server.wait_output("own", b"go")
    server.call("process/write", {"processId": "own", "chunk": "YQ==", "paste": "b",
                                  "keys": ["up", "enter"]})
    server.wait_output("own", b"ab^[OA^M")
    error = server.refused(
        "process/write", {"processId": "own", "chunk": "", "keys": ["page-upp"]}, -32602,
        "invalidParams",
    )
    check("page-up" in error["message"], "no advice: %s" % error)


@test
def an_unknown_key_types_nothing(scene):
    server = exec_server(scene)
    process_id = server.left_running(SHOW % "", shows="go", tty=True)
    error = server.error(
        server.stdin_later(process_id, "x", keys=["up", "pagedown"]), -32602, "invalidParams"
    )
    check("page-down" in error["message"], "no advice: %s" % error)
    equal(error["data"]["path"], "keys[1]", "path")
    shown(server, process_id, "y", chars="y")


@test
def without_a_terminal_there_is_only_the_interrupt(scene):
    server = exec_server(scene)
    process_id = server.left_running("exec sleep 600")
    server.error(server.stdin_later(process_id, keys=["enter"]), kind="stdinClosed")
    equal(server.last_answer(process_id, keys=["ctrl-c"])["signal"], "SIGINT", "signal")


@test
def an_editor_is_driven_with_keys(scene):
    if shutil.which("vim") is None:
        return
    server = exec_server(scene)
    process_id = server.left_running(["vim", "-u", "NONE", "-N", "file"], tty=True,
                                     env={"TERM": "xterm"}, quietMs=200, yieldTimeMs=10000)
    server.stdin(process_id, keys=["i"])
    server.stdin(process_id, "one\ntwo", keys=["up", "home", "x", "escape"])
    server.last_answer(process_id, ":wq", keys=["enter"])
    with open(os.path.join(server.home.project, "file")) as file:
        equal(file.read(), "xone\ntwo\n", "the file")


if __name__ == "__main__":
    main()

"""exec/screen, and queries to the terminal of a command."""

import os
import sys

sys.path.insert(0, os.path.abspath(__file__ + "/../../.."))
from support.client import check, equal
from support.exec import exec_server
from support.runner import main
from support.screens import screen, tests_with_screens, text, wait_screen

QUERY = "stty raw -echo; printf '\\033[4;2H\\033[6n'; printf go; exec cat -v"

with_screens = tests_with_screens(exec_server)


@with_screens
def a_command_has_a_screen(server):
    process_id = server.left_running(
        "printf 'one\\033[3;3Htwo'; read line", shows="two", tty=True, size={"rows": 4, "cols": 20}
    )
    result = wait_screen(server, process_id, "two", method="exec/screen")
    equal(text(result), "one\n\n  two", "the text")
    delta = server.program(process_id).deltas[-1]
    earlier = screen(server, process_id, "exec/screen", afterSeq=delta[0])
    equal(text(earlier), text(result), "after the last piece")
    server.refused("exec/screen", {"processId": process_id, "rows": 3}, -32602, "invalidParams")


@with_screens
def a_command_with_pipes_has_none(server):
    process_id = server.left_running("exec sleep 600")
    server.refused("exec/screen", {"processId": process_id}, -32600, "notATerminal")
    server.refused("exec/screen", {"processId": "nobody"}, -32600, "unknownProcess")


@with_screens
def answers_to_queries_are_no_typing(server):
    process_id = server.left_running(QUERY, shows="^[[4;2R", tty=True, answerQueries=True)
    server.stdin(process_id, "typed", quietMs=20)
    equal([text for text in server.program(process_id).interactions if text], ["*****"], "typed")


@with_screens
def queries_are_left_alone_otherwise(server):
    process_id = server.left_running(QUERY, shows="go", tty=True)
    wait_screen(server, process_id, "go", method="exec/screen")
    output = server.gather(process_id, "typed", server.stdin(process_id, "typed")["output"])
    check("R" not in output, "an answer came: %r" % output)


@with_screens
def only_a_terminal_answers_queries(server):
    server.exec_refused("true", "invalidParams", -32602, answerQueries=True)


if __name__ == "__main__":
    main()

"""The tool screen of execward mcp: what the terminal of a program shows."""

import os
import sys

sys.path.insert(0, os.path.abspath(__file__ + "/../../.."))
from support.client import check, equal
from support.mcp import LEGACY, MODERN, McpClient
from support.runner import main, test

# Takes the whole screen, writes over what it wrote before, names itself, and waits.
DRAWS = r"printf '\033[?1049h\033[2;3Hold\033[2;3Hnew\033[4;1Hend\033]2;a \007\033[?25l'; read x"


def client_with_screen(scene, **options):
    """Returns None where execward was built without libvterm."""
    client = McpClient(scene, **options)
    is_there = "screen" in [tool["name"] for tool in client.result("tools/list")["tools"]]
    if not is_there:
        print("SKIP the tool screen: built without libvterm")
    return client if is_there else None


@test
def a_drawn_screen_is_told_as_it_looks(scene):
    for era in (LEGACY, MODERN):
        client = client_with_screen(scene, era=era)
        if client is None:
            return
        process = client.call("run_command", command=DRAWS, tty=True, until_text="end")["id"]
        client.call("wait", id=process, until_input=True)
        shown = client.call("screen", id=process)
        equal(shown["text"], "\n  new\n\nend", "text")
        equal((shown["id"], shown["rows"], shown["columns"]), (process, 24, 80), "size")
        equal((shown["cursor_row"], shown["cursor_column"], shown["cursor_visible"]), (3, 3, False), "cursor")
        equal((shown["alternate"], shown["title"], shown["complete"]), (True, "a ", True), "the rest")
        client.end()


@test
def the_last_screen_stays_after_the_end(scene):
    client = client_with_screen(scene)
    if client is None:
        return
    told = client.call("run_command", command=r"printf '10%%\r100%%\n'; exec cat", tty=True, until_text="100%")
    client.call("stop_process", id=told["id"])
    equal(client.call("screen", id=told["id"])["text"], "100%", "text")


@test
def what_has_no_screen_says_how_to_get_one(scene):
    client = client_with_screen(scene)
    if client is None:
        return
    process = client.call("run_command", command="sleep 1000", background=True)["id"]
    failed = client.failed("screen", id=process)
    check("tty" in failed, failed)
    check("exec/" not in failed and "processId" not in failed, failed)
    check("list_processes" in client.failed("screen", id="7"), "an unknown process")


if __name__ == "__main__":
    main()

"""The tools of execward mcp: what each tells, and what it does not do."""

import os
import re
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.abspath(__file__ + "/../../.."))
from support.client import PATIENCE, check, equal, eventually, within
from support.exec import Home
from support.mcp import MODERN, McpClient
from support.runner import main, test

ERAS = ("2024-11-05", "2025-06-18", "2025-11-25", MODERN)


@test
def a_command_tells_its_exit_code_output_and_place(scene):
    for era in ERAS:
        client = McpClient(scene, era=era)
        told = client.call("run_command", command="echo out; echo err >&2; exit 7")
        equal(
            (told["state"], told["exit_code"], told["output"], told["cwd"], told["sandbox"]),
            ("completed", 7, "out\nerr\n", client.home.project, "workspace-write"),
            "the result in %s" % era,
        )
        client.end()


@test
def the_text_says_the_same_as_the_structured_part(scene):
    client = McpClient(scene)
    answer = client.wait(client.call_later("run_command", command="echo seen; exit 3"))["result"]
    text = answer["content"][0]["text"]
    for part in ("state: completed", "exit_code: 3", "output:\nseen", "id: 1000"):
        check(part in text, "%r is not in %r" % (part, text))


@test
def an_argv_needs_no_shell_and_gets_its_input(scene):
    client = McpClient(scene)
    told = client.call("run_command", argv=["cat", "-"], stdin="$HOME\n")
    equal(told["output"], "$HOME\n", "output")


@test
def long_output_keeps_its_start_and_end_and_pages_give_the_rest(scene):
    client = McpClient(scene)
    told = client.call("run_command", command="seq 1 50000")
    check(told["output"].startswith("1\n2\n"), "the start: %r" % told["output"][:40])
    check(told["output"].endswith("49999\n50000\n"), "the end: %r" % told["output"][-40:])
    elision = re.search(r"\n\[… (\d+) bytes left out …\]\n", told["output"])
    shown = len(told["output"]) - len(elision[0])
    whole = "".join("%d\n" % n for n in range(1, 50001))
    equal(shown + int(elision[1]), len(whole), "bytes shown and left out")
    equal(told["omitted_bytes"], int(elision[1]), "omitted_bytes")
    pages, after = "", 0
    while True:
        page = client.call("read_output", id=told["id"], after=after)
        if not page["output"]:
            break
        pages += page["output"]
        after = page["next_after"]
    check(pages == whole, "the pages are not the output: %d bytes of %d" % (len(pages), len(whole)))


@test
def long_output_full_of_escapes_says_what_is_missing(scene):
    client = McpClient(scene)
    script = r"for i in $(seq 3000); do printf '\033[38;5;%dm\033[1m%d\033[0m\033[0m\n' 7 $i; done"
    told = client.call("run_command", command=script)
    check(told["omitted_bytes"] > 0, "nothing is missing: %s" % told["omitted_bytes"])
    check(told["output"].startswith("1\n2\n"), "the start: %r" % told["output"][:40])
    check(told["output"].endswith("2999\n3000\n"), "the end: %r" % told["output"][-40:])
    check("…" in told["output"], "no mark where something is missing")


@test
def output_without_escapes_and_overwritten_lines_reaches_the_model(scene):
    client = McpClient(scene)
    script = r"printf '10%%\r50%%\r\033[1mdone\033[0m\n\033]0;title\007caf\303\251\n'"
    equal(client.call("run_command", command=script)["output"], "done\ncafé\n", "output")


@test
def a_long_command_becomes_a_handle_and_is_not_ended(scene):
    client = McpClient(scene)
    client.call("run_command", command="mkfifo gate")
    told = client.call("run_command", command="read x < gate; echo over", timeout_ms=0)
    equal(told["state"], "running", "state")
    check("read_output" in told["next"], "next: %r" % told["next"])
    with open(client.home.project + "/gate", "w") as gate:
        gate.write("go\n")
    output = ""
    while "over" not in output:
        output += client.call("read_output", id=told["id"], wait_ms=20000)["output"]


@test
def a_program_in_the_background_is_typed_to_and_read(scene):
    client = McpClient(scene)
    told = client.call(
        "run_command", command="stty -echo; echo ready; read n; echo hello-$n", background=True, tty=True
    )
    output = told["output"]
    while "ready" not in output:
        output += client.call("read_output", id=told["id"], wait_ms=10000)["output"]
    rest = client.call("send_input", id=told["id"], text="you\n", wait_ms=20000)
    equal((rest["output"], rest["state"]), ("hello-you\n", "completed"), "the answer")
    equal(client.call("read_output", id=told["id"])["output"], "", "output that was told before")
    again = client.call("read_output", id=told["id"], after=0)
    check("ready" in again["output"] and "hello-you" in again["output"], "all output: %s" % again)


@test
def unread_output_is_told_without_waiting(scene):
    client = McpClient(scene)
    told = client.call("run_command", command="echo one; sleep 1000", background=True)
    seen = told["output"]
    while "one" not in seen:
        seen += client.call("read_output", id=told["id"], wait_ms=10000)["output"]
    client.call("stop_process", id=told["id"], grace_ms=0)


@test
def processes_are_listed_and_stopped_with_their_children(scene):
    client = McpClient(scene)
    script = "setsid sleep 1000 & echo $! ; exec sleep 1001"
    told = client.call("run_command", command=script, background=True)
    rows = client.call("list_processes")["processes"]
    equal([(row["id"], row["state"], row["command"]) for row in rows],
          [(told["id"], "running", script)], "the list")
    stopped = client.call("stop_process", id=told["id"])
    equal((stopped["state"], stopped["signal"]), ("completed", "SIGTERM"), "the end")
    rows = client.call("list_processes")["processes"]
    equal([(row["id"], row["state"]) for row in rows], [(told["id"], "exited")], "the list")


@test
def a_patch_changes_files_and_says_which(scene):
    client = McpClient(scene)
    client.home.file("project/a.txt", "one\ntwo\n", 0o644)
    patch = (
        "*** Begin Patch\n*** Update File: a.txt\n@@\n one\n-two\n+three\n"
        "*** Add File: b.txt\n+new\n*** End Patch\n"
    )
    told = client.call("apply_patch", patch=patch)
    project = client.home.project
    equal(
        [(file["path"], file["change"]) for file in told["changed_files"]],
        [(project + "/a.txt", "update"), (project + "/b.txt", "add")],
        "changed files",
    )
    with open(project + "/a.txt") as file:
        equal(file.read(), "one\nthree\n", "the file")
    text = client.failed("apply_patch", patch=patch)
    check("b.txt" in text or "a.txt" in text, "the error names no file: %r" % text)


@test
def a_patch_that_is_too_large_names_the_limit_and_the_way(scene):
    client = McpClient(scene)
    for text in ("+x" * (5 << 20), "+x\n" * (3 << 20)):
        patch = "*** Begin Patch\n*** Add File: big.txt\n%s\n*** End Patch\n" % text
        told = client.failed("apply_patch", patch=patch)
        check("4194304" in told and "several smaller patches" in told, told)
        check(str(len(patch)) in told, "its size is not told: %s" % told)
    files = "".join("*** Add File: %d\n+x\n" % n for n in range(1001))
    told = client.failed("apply_patch", patch="*** Begin Patch\n%s*** End Patch\n" % files)
    check("1000 files" in told and "several smaller patches" in told, told)
    equal(os.listdir(client.home.project), [".git"], "files")


@test
def a_check_tells_the_decision_and_runs_nothing(scene):
    client = McpClient(scene)
    client.home.rules("[[rule]]\nprefix = ['touch']\ndecision = 'forbidden'\n")
    told = client.call("check_command", command="touch made; ls")
    equal(told["decision"], "forbidden", "decision")
    equal([row["decision"] for row in told["commands"]], ["forbidden", "allow"], "by command")
    check(not os.path.exists(client.home.project + "/made"), "it ran")
    refused = client.call("run_command", command="touch made; ls")
    equal(refused["state"], "not_run", "state of a command that a rule forbids")
    check(not os.path.exists(client.home.project + "/made"), "it ran")


@test
def what_the_sandbox_refused_is_told_with_what_allows_it(scene):
    client = McpClient(scene)
    told = client.call("run_command", command="(exec 3<>/dev/tcp/192.0.2.1/9) 2>/dev/null; exit 0")
    equal(told["denials"][0]["what"], "connect 192.0.2.1:9", "what was refused")
    check("network" in told["denials"][0]["allow"], "what allows it: %s" % told["denials"])


@test
def wrong_arguments_name_the_nearest_one(scene):
    client = McpClient(scene)
    check("nearest is 'command'" in client.refused("run_command", comand="ls"), "no name")
    check("command" in client.refused("run_command"), "no member named")
    check("argv" in client.refused("run_command", command="ls", argv=["ls"]), "both")
    check("timeout_ms" in client.refused("run_command", command="ls", timeout_ms=-1), "range")
    check("id" in client.refused("read_output", after=0), "no id")
    check("text" in client.refused("send_input", id="1"), "nothing to type")
    check("run_command" in client.refused("run", command="ls"), "the tools are not named")
    check("list_processes" in client.failed("read_output", id="7"), "unknown process")
    equal(client.call("run_command", command="echo on")["output"], "on\n", "the next call")


@test
def progress_rises_and_says_the_last_line(scene):
    client = McpClient(scene)
    script = "for i in 1 2 3; do echo step-$i; sleep 1.2; done"
    client.wait(client.call_later("run_command", token="t", command=script))
    reports = client.progress("t")
    check(len(reports) >= 2, "only %d reports" % len(reports))
    equal([r["progress"] for r in reports], list(range(1, len(reports) + 1)), "values")
    equal(reports[0]["message"], "step-1", "message")
    client.call("run_command", command="sleep 1.2")
    equal(len(client.progress("t")), len(reports), "reports after the answer")


@test
def a_cancelled_call_ends_its_wait_and_not_its_program(scene):
    for on_cancel, left in (("keep", True), ("stop", False)):
        client = McpClient(scene)
        call = client.call_later(
            "run_command", command="echo $$ > pid; exec sleep 1000", on_cancel=on_cancel
        )
        path = client.home.project + "/pid"
        eventually(lambda: os.path.exists(path) and os.path.getsize(path), "the start")
        # Until the server knows of the start, a cancel calls it off.
        eventually(lambda: client.call("list_processes")["processes"], "a process")
        client.notify("notifications/cancelled", {"requestId": call, "reason": "enough"})
        rows = client.call("list_processes")["processes"]
        if left:
            equal(rows[0]["state"], "running", "state after the end of the wait")
        else:
            while client.call("list_processes")["processes"][0]["state"] == "running":
                pass
        check(call not in client.answers, "a cancelled call was answered")
        os.unlink(path)
        client.end()


@test
def commands_get_no_keys_of_the_host(scene):
    env = {"ANTHROPIC_API_KEY": "k", "OPENAI_API_KEY": "k", "MY_SECRET": "k"}
    client = McpClient(scene, env=env)
    output = client.call("run_command", command="env")["output"]
    for name in env:
        check(name not in output, "%s reached a command" % name)


def end_of(scene, stop):
    client = McpClient(scene)
    script = "setsid sleep 1000 & echo $! > pids; echo $$ >> pids; exec sleep 1001"
    client.call_later("run_command", command=script)
    path = client.home.project + "/pids"
    eventually(lambda: os.path.exists(path) and open(path).read().count("\n") == 2, "the start")
    stop(client)
    eventually(lambda: client.child.poll() is not None, "the end of the server")
    eventually(lambda: not scene.leftovers(), "the end of all programs")


@test
def nothing_is_left_after_end_of_input(scene):
    end_of(scene, lambda client: client.child.stdin.close())


@test
def nothing_is_left_after_a_signal(scene):
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
        end_of(scene, lambda client: client.child.send_signal(number))


@test
def floods_do_not_hold_up_the_end(scene):
    for stop in (
        lambda client: client.child.stdin.close(),
        lambda client: client.child.send_signal(signal.SIGTERM),
    ):
        client = McpClient(scene)
        for number in range(8):
            client.call_later("run_command", token=number, command="yes", timeout_ms=600000)
        eventually(lambda: len(client.call("list_processes")["processes"]) == 8, "eight floods")
        client.call("run_command", command="sleep 0.5")
        begun = time.monotonic()
        stop(client)
        client.child.wait(PATIENCE)
        took = time.monotonic() - begun
        client.verify = lambda: None  # the last line may be a part of one
        check(took < within(1.5), "the end took %.1f s" % took)
        eventually(lambda: not scene.leftovers(), "the end of all programs")


@test
def the_workspace_is_the_option_or_the_roots_or_the_directory(scene):
    os.makedirs(scene.path("other"))
    other = os.path.realpath(scene.path("other"))
    roots = {"roots": {"uris": ["file:///", "file:////", "file:///./..", "//", "http://x/", "file://" + other]}}
    for flags, capabilities, expected in (
        ((), {}, None),
        ((), roots, other),
        (("--workspace", other), {}, other),
        (("--workspace=.",), roots, None),
    ):
        client = McpClient(scene, *flags, capabilities=capabilities)
        told = client.call("run_command", command="pwd; touch made-here")
        expected = expected or client.home.project
        equal(told["output"], expected + "\n", "directory for %s %s" % (flags, capabilities))
        equal(told["exit_code"], 0, "writing there")
        client.end()


@test
def what_is_no_workspace_is_refused_at_the_start(scene):
    home = Home(scene)
    for flags, cwd in (
        (["--workspace", "//"], home.project),
        (["--workspace", "/etc/passwd"], home.project),
        (["--workspace", scene.path("missing")], home.project),
        ([], "/"),
    ):
        done = subprocess.run(
            [scene.command[0], "mcp", *flags],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            cwd=cwd,
            env=home.environment(),
            timeout=PATIENCE,
        )
        equal((done.returncode, done.stdout), (2, b""), "end with %s in %s" % (flags, cwd))
        check(b"workspace" in done.stderr, done.stderr)


@test
def tools_are_the_same_every_time_and_well_described(scene):
    client = McpClient(scene)
    tools = client.result("tools/list")["tools"]
    equal(client.result("tools/list")["tools"], tools, "the second list")
    names = [tool["name"] for tool in tools]
    drawn = ["screen"] if "screen" in names else []  # not everywhere is there libvterm
    equal(names, ["run_command", "read_output", "wait", *drawn, "send_input", "stop_process",
                  "list_processes", "apply_patch", "check_command"], "tools")
    for tool in tools:
        check(len(tool["description"]) <= 600, "long: %s" % tool["name"])
        equal(tool["inputSchema"]["type"], "object", "inputSchema of %s" % tool["name"])
        equal(tool["outputSchema"]["type"], "object", "outputSchema of %s" % tool["name"])
    read_only = [t["name"] for t in tools if t["annotations"]["readOnlyHint"]]
    equal(read_only, ["read_output", "wait", *drawn, "list_processes", "check_command"], "readOnlyHint")


if __name__ == "__main__":
    main()

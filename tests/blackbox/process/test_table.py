"""The process table: 64 entries, the processes that are pruned to make room, and the list."""

import os
import sys
import time

sys.path.insert(0, os.path.abspath(__file__ + "/../../.."))
from support.client import check, decoded, equal, eventually, is_alive, stat_of, within
from support.runner import main, test

CAPACITY = 64


def start_many(server, names, argv, **options):
    for message_id in [
        server.request("process/start", server.start_params(name, argv, **options))
        for name in names
    ]:
        server.result(message_id)


def numbered(first, last):
    return ["p%d" % number for number in range(first, last)]


def run_many(server, names):
    """Runs the programs one after the other, so that the order of use is known."""
    for name in names:
        server.run(name, ["true"])


@test
def sixty_four_may_live_and_no_more(scene):
    server = scene.server()
    start_many(server, numbered(0, CAPACITY), ["cat"], pipeStdin=True)

    error = server.refused(
        "process/start", server.start_params("more", ["true"]), -32600, "tooManyProcesses"
    )

    check(error["data"].get("hint"), "no way out is named")
    equal(len(server.call("process/list")["processes"]), CAPACITY, "entries")
    check(
        not any(server.process(name).exited for name in numbered(0, CAPACITY)),
        "live work was ended to make room",
    )
    server.write("p63", b"alive")
    server.wait_output("p63", b"alive")


@test
def one_end_makes_room_for_one_start(scene):
    server = scene.server()
    start_many(server, numbered(0, CAPACITY), ["cat"], pipeStdin=True)
    server.call("process/closeStdin", {"processId": "p30"})
    server.wait_closed("p30")

    server.start("more", ["cat"], pipeStdin=True)

    server.refused("process/read", {"processId": "p30"}, -32600, "prunedProcess")
    server.refused(
        "process/start", server.start_params("again", ["true"]), -32600, "tooManyProcesses"
    )


@test
def the_least_recently_used_ended_entry_is_forgotten_first(scene):
    server = scene.server()
    run_many(server, numbered(0, CAPACITY))
    for name in ("p0", "p2"):
        server.read(name)

    run_many(server, ["a", "b", "c"])

    for name in ("p1", "p3", "p4"):
        server.refused("process/read", {"processId": name}, -32600, "prunedProcess")
    for name in ("p0", "p2", "p5", "p63", "a"):
        equal(server.read(name)["exitCode"], 0, "exit code of " + name)
    equal(len(server.call("process/list")["processes"]), CAPACITY, "entries")


@test
def live_entries_are_never_forgotten_however_old(scene):
    server = scene.server()
    start_many(server, numbered(0, 20), ["cat"], pipeStdin=True)
    run_many(server, numbered(20, 200))
    for name in numbered(0, 20):
        equal(server.read(name)["exited"], False, "exited of " + name)
    equal(server.read("p199")["exited"], True, "exited of the newest")
    server.refused("process/read", {"processId": "p20"}, -32600, "prunedProcess")


@test
def the_last_ended_entry_gives_way_when_all_others_live(scene):
    server = scene.server()
    start_many(server, numbered(0, CAPACITY - 1), ["cat"], pipeStdin=True)
    for number in range(5):
        server.run("e%d" % number, ["true"])
    server.refused("process/read", {"processId": "e3"}, -32600, "prunedProcess")
    equal(server.read("e4")["exited"], True, "exited of the newest")


@test
def an_entry_whose_descendants_live_is_kept(scene):
    server = scene.server()
    server.start_shell("parent", "(setsid sleep 600 >/dev/null 2>&1 &) ; exit 0")
    server.wait_closed("parent")
    run_many(server, numbered(0, 80))

    equal(server.read("parent")["closed"], True, "closed")
    left = server.entry("parent")["descendants"]
    equal(len(left), 1, "descendants %s" % left)

    server.terminate("parent")
    eventually(lambda: not any(map(is_alive, left)), "the end of the descendant")
    eventually(
        lambda: server.entry("parent")["descendants"] == [],
        "an entry without descendants",
    )


@test
def a_table_full_of_living_descendants_is_full(scene):
    server = scene.server()
    start_many(
        server, numbered(0, CAPACITY), ["sh", "-c", "(setsid sleep 600 >/dev/null 2>&1 &) ; exit 0"]
    )
    for name in numbered(0, CAPACITY):
        server.wait_closed(name)
    eventually(lambda: len(server.programs()) == CAPACITY, "all daemons")
    server.refused(
        "process/start", server.start_params("more", ["true"]), -32600, "tooManyProcesses"
    )

    server.terminate("p7")
    eventually(
        lambda: server.entry("p7")["descendants"] == [], "an entry without descendants"
    )
    server.start("more", ["true"])
    server.refused("process/read", {"processId": "p7"}, -32600, "prunedProcess")


@test
def a_forgotten_id_is_told_apart_from_one_that_never_was(scene):
    server = scene.server()
    run_many(server, numbered(0, CAPACITY + 1))
    for method, more in (("process/read", {}), ("process/signal", {"signal": "usr1"})):
        server.refused(method, {"processId": "p0", **more}, -32600, "prunedProcess")
        server.refused(method, {"processId": "never", **more}, -32600, "unknownProcess")
    equal(server.write("p0", b"x")["status"], "unknownProcess", "status of a write")
    equal(server.terminate("p0"), {"running": False}, "result of terminate")


@test
def a_forgotten_id_may_be_used_again(scene):
    server = scene.server()
    run_many(server, numbered(0, CAPACITY + 1))
    equal(server.run_shell("p0", "echo again"), (0, b"again\n"), "code and output")
    equal(
        [decoded(chunk["chunk"]) for chunk in server.read("p0")["chunks"]],
        [b"again\n"],
        "what read tells",
    )


@test
def a_start_that_fails_forgets_nobody(scene):
    server = scene.server()
    run_many(server, numbered(0, CAPACITY))
    for _ in range(5):
        server.refused(
            "process/start",
            server.start_params("bad", ["no-such-program"]),
            -32603,
            "spawnNotFound",
        )
    listed = {info["processId"] for info in server.call("process/list")["processes"]}
    check(len(listed) >= CAPACITY - 1 and "bad" not in listed, "entries: %d" % len(listed))


@test
def a_start_that_was_called_off_leaves_its_place_and_its_id_free(scene):
    server = scene.server()
    start_many(server, numbered(0, CAPACITY - 1), ["cat"], pipeStdin=True)
    for number in range(30):
        name = "last%d" % number
        starting = server.request("process/start", server.start_params(name, ["sleep", "600"]))
        server.call("process/terminate", {"processId": name})
        if "result" in server.reply(starting):  # the terminate came too late to cancel the start
            server.wait_closed(name)
        else:
            server.error(starting, -32800, "cancelled")
            server.run(name, ["true"])
        server.run("other%d" % number, ["true"])


@test
def a_client_with_extensions_is_warned_once_per_crossing(scene):
    server = scene.server(capabilities={"extensions": True})

    def warnings():
        server.answers()
        return [params for method, params in server.warnings if method == "execward/warning"]

    start_many(server, numbered(0, 59), ["cat"], pipeStdin=True)
    equal(warnings(), [], "warnings at 59")
    for name in numbered(59, CAPACITY):
        server.start(name, ["cat"], pipeStdin=True)
    told = warnings()
    equal(len(told), 1, "warnings at 64")
    equal((told[0]["live"], told[0]["limit"]), (60, CAPACITY), "live and limit")
    check(told[0]["message"] and told[0]["kind"], "warning: %s" % told[0])

    for name in numbered(0, 10):
        server.call("process/closeStdin", {"processId": name})
        server.wait_closed(name)
    start_many(server, ["q%d" % n for n in range(5)], ["cat"], pipeStdin=True)
    equal(len(warnings()), 1, "warnings at 59 again")
    start_many(server, ["q%d" % n for n in range(5, 10)], ["cat"], pipeStdin=True)
    equal(len(warnings()), 2, "warnings after the second crossing")


@test
def the_list_tells_what_is_there(scene):
    server = scene.server()
    before = time.time() * 1000
    server.start("live", ["cat", "-"], pipeStdin=True, tty=True)
    server.start_shell("ended", "echo x; exit 3")
    server.start_shell("killed", "kill -TERM $$")
    server.start_shell("held", "sleep 600 & exit 0")
    for name in ("ended", "killed"):
        server.wait_closed(name)
    server.wait_exited("held")

    found = {info["processId"]: info for info in server.call("process/list")["processes"]}

    equal(sorted(found), ["ended", "held", "killed", "live"], "ids")
    live = found["live"]
    equal(
        (live["argv"], live["cwd"], live["tty"], live["state"], live["nextSeq"]),
        (["cat", "-"], scene.directory, True, "running", 1),
        "the live one",
    )
    check(
        is_alive(live["pid"]) and before - 5000 < live["startedAtMs"] < before + 60000 * within(1),
        "pid and start: %s" % live,
    )
    check("exitCode" not in live and "signal" not in live, "an end of the live one: %s" % live)
    equal(
        (found["ended"]["state"], found["ended"]["exitCode"], found["ended"]["nextSeq"]),
        ("closed", 3, 4),
        "the ended one",
    )
    equal(
        (found["killed"]["state"], found["killed"]["exitCode"], found["killed"]["signal"]),
        ("closed", 143, "SIGTERM"),
        "the killed one",
    )
    equal(
        (found["held"]["state"], len(found["held"]["descendants"])), ("exited", 1), "the held one"
    )


@test
def the_list_names_descendants_of_a_live_program(scene):
    server = scene.server()
    server.start_shell(
        "p", "sleep 600 & (setsid sleep 600 &) ; sleep 0.1; echo up; read line", pipeStdin=True
    )
    server.wait_output("p", b"up")
    entry = server.entry("p")
    check(entry["pid"] not in entry["descendants"], "the leader is among its descendants")

    def are_all_named():
        entry = server.entry("p")
        named = sorted(entry["descendants"] + [entry["pid"]])
        return len(named) == 3 and named == sorted(server.programs())

    eventually(are_all_named, "the leader and two descendants")


@test
def an_id_that_is_used_again_gets_nothing_of_its_earlier_process(scene):
    server = scene.server()
    for name in ("old", "filler"):
        os.mkfifo(scene.path(name))
    sizes = {"old": 18000, "filler": 60000}
    for name, size in sizes.items():
        script = 'read line <"$0"; head -c $1 /dev/zero'
        server.start(name, ["sh", "-c", script, scene.path(name), str(size)])
    run_many(server, numbered(2, CAPACITY))
    pids = {name: server.entry(name)["pid"] for name in sizes}
    server.stop_reading()
    for name in ("filler", "old"):
        with open(scene.path(name), "w") as fifo:
            fifo.write("go\n")
        eventually(lambda: stat_of(pids[name])[0] == "X", "the end of " + name)

    others = {"other": ["true"], "old": ["echo", "again"], "witness": ["touch", "seen"]}
    _, again, _ = server.request_at_once(
        [("process/start", server.start_params(name, argv)) for name, argv in others.items()]
    )
    eventually(lambda: os.path.exists(scene.path("seen")), "the last of the starts")
    server.resume_reading()

    equal(server.finished("witness")[0], 0, "exit code")
    if "error" in server.reply(again):  # the output of the first program came first
        server.error(again, -32600, "processExists")
        equal(server.finished("old"), (0, bytes(18000)), "code and output of the first")
    else:  # the client's checks compare every message with the reply before it
        equal(server.finished("old"), (0, b"again\n"), "code and output of the second")
    server.answers()


if __name__ == "__main__":
    main()

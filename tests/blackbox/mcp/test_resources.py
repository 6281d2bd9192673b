"""Output, screens and casts as resources in execward mcp: lists, texts, and subscriptions in both eras."""

import os
import sys
import time

sys.path.insert(0, os.path.abspath(__file__ + "/../../.."))
from support.casts import Cast
from support.client import check, equal
from support.mcp import LEGACY, MODERN, PREFIX, McpClient
from support.runner import main, test

ERAS = ("2024-11-05", LEGACY, MODERN)
UPDATED = "notifications/resources/updated"
LIST_CHANGED = "notifications/resources/list_changed"


def uri_of(process, kind="output"):
    return "execward://process/%s/%s" % (process, kind)


def text_of(client, uri, media_type="text/plain"):
    contents = client.result("resources/read", {"uri": uri})["contents"]
    equal([(part["uri"], part["mimeType"]) for part in contents], [(uri, media_type)], "contents")
    return contents[0]["text"]


def kinds_of_terminals(client):
    """Returns the resources of a process with a terminal: no screen without libvterm."""
    has_screen = "screen" in [tool["name"] for tool in client.tools()]
    return ["output", "screen", "cast"] if has_screen else ["output", "cast"]


def notifications(client, method):
    return [m["params"] for m in client.messages if m.get("method") == method]


def gated(client, command):
    """Starts a program that waits before `command`, which may wait at gate2. Returns its id and what lets it go
    on: each gate once, since a second writer could meet the first reader.
    """
    for name in ("gate", "gate2"):
        if not os.path.exists(client.home.project + "/" + name):
            os.mkfifo(client.home.project + "/" + name)
    told = client.call("run_command", command="read go < gate; " + command, timeout_ms=0)

    def go(name="gate"):
        with open(client.home.project + "/" + name, "w") as end:
            end.write("go\n")

    return told["id"], go


def subscription(client, uris, list_changed=False):
    """Subscribes in the manner of the era. Returns the id of a modern subscription."""
    if client.era != MODERN:
        for uri in uris:
            equal(client.result("resources/subscribe", {"uri": uri}), {}, "the answer")
        return None
    wanted = {"resourceSubscriptions": uris, "toolsListChanged": True}
    if list_changed:
        wanted["resourcesListChanged"] = True
    request = client.request("subscriptions/listen", {"notifications": wanted})
    acknowledged = "notifications/subscriptions/acknowledged"
    client.until(lambda: notifications(client, acknowledged), "an acknowledgement")
    agreed = notifications(client, acknowledged)[-1]
    equal(agreed["_meta"][PREFIX + "subscriptionId"], request, "subscriptionId")
    del wanted["toolsListChanged"]
    equal(agreed["notifications"], {k: v for k, v in wanted.items() if v}, "what was agreed to")
    return request


@test
def each_process_has_a_resource_with_all_of_its_output(scene):
    for era in ERAS:
        client = McpClient(scene, era=era)
        equal(client.result("resources/list")["resources"], [], "the list at first")
        first = client.call("run_command", command="printf '\\033[1mout\\033[0m\\n'; exit 3")
        second, go = gated(client, "echo later")
        told = client.result("resources/list")
        rows = {row["uri"]: row for row in told["resources"]}
        equal(sorted(rows), sorted([uri_of(first["id"]), uri_of(second)]), "the list in %s" % era)
        check("exit code 3" in rows[uri_of(first["id"])]["description"], "the end: %s" % rows)
        check("echo later" in rows[uri_of(second)]["title"], "the command: %s" % rows)
        if era == MODERN:
            equal((told["ttlMs"], told["cacheScope"]), (0, "private"), "caching")
        equal(text_of(client, uri_of(first["id"])), "out\n", "the text")
        equal(text_of(client, uri_of(second)), "", "the text of a quiet one")
        go()
        client.call("wait", id=second)
        equal(text_of(client, uri_of(second)), "later\n", "its text then")
        form = client.result("resources/templates/list")["resourceTemplates"]
        equal(
            [row["uriTemplate"] for row in form],
            [uri_of("{id}", kind) for kind in kinds_of_terminals(client)],
            "templates",
        )
        client.end()


@test
def a_terminal_has_a_screen_and_a_cast_too(scene):
    for era in ERAS:
        client = McpClient(scene, era=era)
        kinds = kinds_of_terminals(client)
        command = r"printf 'old\033[1;1Hnew\r\n\033[3;3Hend'; read x; exit 3"
        process = client.call("run_command", command=command, tty=True, until_text="end")["id"]
        rows = {row["uri"]: row for row in client.result("resources/list")["resources"]}
        equal(sorted(rows), sorted(uri_of(process, kind) for kind in kinds), "the list in %s" % era)
        row = rows[uri_of(process, "cast")]
        equal(row["mimeType"], "application/x-asciicast", "type")
        check("runs" in row["description"] and "cast" in row["name"], row)
        if "screen" in kinds:
            equal(text_of(client, uri_of(process, "screen")), "new\n\n  end", "the screen")
        cast = Cast(text_of(client, uri_of(process, "cast"), "application/x-asciicast"))
        equal((cast.size(), cast.data("x")), ((80, 24), ""), "the cast")
        check("old" in cast.data() and cast.data().endswith("end"), "output: %r" % cast.data())
        client.call("send_input", id=process, text="\n")
        client.call("wait", id=process)
        cast = Cast(text_of(client, uri_of(process, "cast"), "application/x-asciicast"))
        equal(cast.data("x"), "3", "the exit status")
        client.end()


@test
def a_process_with_pipes_has_neither(scene):
    for era, code in ((LEGACY, -32002), (MODERN, -32602)):
        client = McpClient(scene, era=era)
        process = client.call("run_command", command="echo x")["id"]
        for kind in ("screen", "cast"):
            error = client.error("resources/read", {"uri": uri_of(process, kind)})
            equal((error["code"], error["data"]["uri"]), (code, uri_of(process, kind)), "error")


@test
def a_subscriber_of_a_screen_is_told_when_it_may_have_changed(scene):
    for era in ERAS:
        client = McpClient(scene, era=era)
        if "screen" not in kinds_of_terminals(client):
            return
        told = client.call("run_command", command="echo ready; exec cat", tty=True, until_text="ready")
        uris = [uri_of(told["id"], kind) for kind in ("screen", "cast")]
        number = subscription(client, uris)
        client.call("send_input", id=told["id"], text="typed\n")
        client.until(lambda: len(notifications(client, UPDATED)) >= 2, "both are told of")
        news = notifications(client, UPDATED)
        equal(sorted({update["uri"] for update in news}), sorted(uris), "what is told of")
        if era == MODERN:
            equal({u["_meta"][PREFIX + "subscriptionId"] for u in news}, {number}, "subscriptionId")
        check("typed" in text_of(client, uris[0]), "the screen")
        client.end()


@test
def reading_takes_nothing_from_other_answers(scene):
    client = McpClient(scene)
    process, go = gated(client, "echo seen; exec sleep 1000")
    go()
    client.call("wait", id=process, until_text="never", timeout_ms=1)
    while not text_of(client, uri_of(process)):
        pass
    again = client.call("wait", id=process, until_text="seen", from_start=True)
    equal(again["ended_by"], "pattern", "the wait")


@test
def long_output_is_given_up_to_what_is_kept(scene):
    client = McpClient(scene)
    told = client.call("run_command", command="seq 1 300000")
    text = text_of(client, uri_of(told["id"]))
    check(text.startswith("[… ") and text.endswith("\n300000\n"), "%r %r" % (text[:80], text[-20:]))
    check(1 << 19 < len(text) <= (1 << 20) + 200, "%d bytes" % len(text))


@test
def what_is_not_there_has_the_code_of_its_era(scene):
    for era, code in ((LEGACY, -32002), (MODERN, -32602)):
        client = McpClient(scene, era=era)
        for uri in (uri_of("7"), "file:///etc/passwd", "execward://process//output", uri_of("1/../2"),
                    "execward://process/output", "execward://process/1000/screen2", ""):
            error = client.error("resources/read", {"uri": uri})
            equal((error["code"], error["data"]["uri"]), (code, uri), "the error for %r" % uri)
        equal(client.error("resources/read")["code"], -32602, "no uri")
        method = "resources/subscribe" if era == MODERN else "subscriptions/listen"
        equal(client.error(method, {"uri": uri_of("7")})["code"], -32601, "the way of the other era")


@test
def a_subscriber_is_told_of_new_output_and_of_the_end(scene):
    for era in ERAS:
        client = McpClient(scene, era=era)
        process, go = gated(client, "echo one; read go < gate2; exit 1")
        client.call("run_command", command="while :; do echo x; sleep 0.1; done", background=True)
        number = subscription(client, [uri_of(process)])
        for gate in ("gate", "gate2"):
            before = len(notifications(client, UPDATED))
            go(gate)
            client.until(lambda: len(notifications(client, UPDATED)) > before, "a notification")
        for params in notifications(client, UPDATED):
            equal(params["uri"], uri_of(process), "what has changed")
            equal(params.get("_meta", {}).get(PREFIX + "subscriptionId"), number, "subscriptionId")
        client.end()


@test
def nothing_is_told_after_a_subscription(scene):
    for era in (LEGACY, MODERN):
        client = McpClient(scene, era=era)
        process, go = gated(client, "echo one; exec sleep 1000")
        number = subscription(client, [uri_of(process)])
        if era == MODERN:
            client.notify("notifications/cancelled", {"requestId": number})
            client.result("tools/list")
        else:
            equal(client.result("resources/unsubscribe", {"uri": uri_of(process)}), {}, "the answer")
        go()
        client.call("wait", id=process, until_text="one")
        client.call("run_command", command="sleep 1.5")
        equal(notifications(client, UPDATED), [], "notifications in %s" % era)
        client.end()


@test
def the_list_changes_with_new_processes(scene):
    for era in (LEGACY, MODERN):
        client = McpClient(scene, era=era)
        if era == MODERN:
            check(client.result("server/discover")["capabilities"]["resources"], "no resources")
            subscription(client, [], list_changed=True)
        else:
            check(client.greeting["capabilities"]["resources"]["listChanged"], "no resources")
        begun = time.monotonic()
        for _ in range(8):
            client.call("run_command", command="true")
        client.until(lambda: notifications(client, LIST_CHANGED), "a notification")
        client.call("run_command", command="sleep 1.5")
        told, most = len(notifications(client, LIST_CHANGED)), time.monotonic() - begun + 1
        check(told <= most, "%d notifications in %.1f s" % (told, most))
        client.end()
    quiet = McpClient(scene, era=MODERN)
    quiet.call("run_command", command="sleep 1.5")
    equal(notifications(quiet, LIST_CHANGED), [], "notifications that nobody asked for")


if __name__ == "__main__":
    main()

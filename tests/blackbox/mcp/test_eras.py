"""Both eras of the Model Context Protocol: how they begin, what each answer has, and errors."""

import json
import os
import sys

sys.path.insert(0, os.path.abspath(__file__ + "/../../.."))
from support.client import check, equal
from support.mcp import ASKS, LEGACY, MODERN, PREFIX, McpClient
from support.runner import main, test


@test
def a_handshake_takes_the_version_of_the_client_if_it_is_known(scene):
    for asked, got in (
        ("2024-11-05", "2024-11-05"),
        ("2025-03-26", "2025-03-26"),
        ("2025-06-18", "2025-06-18"),
        (LEGACY, LEGACY),
        ("1999-01-01", LEGACY),
    ):
        client = McpClient(scene, era=asked)
        equal(client.greeting["protocolVersion"], got, "version for %s" % asked)
        equal(client.greeting["serverInfo"]["name"], "execward", "name")
        check("tools" in client.greeting["capabilities"], "no tools")
        for part in (client.home.project, "sandbox", "no network", "known to destroy something", "human_command"):
            check(part in client.greeting["instructions"], "the instructions lack %r" % part)
        equal(client.result("ping"), {}, "ping")
        client.end()


@test
def the_modern_era_needs_no_handshake(scene):
    client = McpClient(scene, era=MODERN)
    found = client.result("server/discover")
    equal(found["supportedVersions"], [MODERN], "versions")
    check(found["instructions"], "no instructions")
    for method in ("server/discover", "tools/list"):
        result = client.result(method)
        equal(result["resultType"], "complete", "resultType")
        equal(result["_meta"][PREFIX + "serverInfo"]["name"], "execward", "serverInfo")
        equal((type(result["ttlMs"]), result["cacheScope"]), (int, "private"), "caching")
    other = McpClient(scene, era=MODERN, home=client.home)
    equal(other.call("run_command", command="echo first")["output"], "first\n", "a first call")


@test
def one_process_serves_both_eras(scene):
    client = McpClient(scene, era=MODERN)
    client.result("server/discover")
    client.era = LEGACY
    greeting = client.result("initialize", client.greeting_params())
    equal(greeting["protocolVersion"], LEGACY, "version after discover")
    client.notify("notifications/initialized")
    result = client.result("tools/list")
    check("resultType" not in result, "a modern answer to a legacy request")
    client.era = MODERN
    equal(client.result("tools/list")["resultType"], "complete", "resultType")


@test
def what_a_request_lacks_is_named(scene):
    client = McpClient(scene, era=MODERN)
    name = PREFIX + "protocolVersion"
    error = client.error("tools/list", {"_meta": {name: "2099-01-01"}})
    equal((error["code"], error["data"]), (-32022, {"supported": [MODERN], "requested": "2099-01-01"}),
          "an unknown version")
    client.era = LEGACY
    equal(client.error("tools/list")["code"], -32602, "neither a handshake nor _meta")
    error = client.error("tools/list", {"_meta": {name: MODERN}})
    equal(error["code"], -32602, "no capabilities")
    check("clientCapabilities" in error["message"], error["message"])
    client.era = MODERN
    equal(client.error("tools/nothing")["code"], -32601, "an unknown method")
    equal(client.error("ping")["code"], -32601, "ping")
    equal(client.error("initialize")["code"], -32602, "initialize without a version")
    client.send_line("{")
    client.send_line("[]")
    client.until(lambda: len([m for m in client.messages if m.get("id", 0) is None]) == 2, "errors")
    codes = [m["error"]["code"] for m in client.messages if m.get("id", 0) is None]
    equal(codes, [-32700, -32600], "codes for what is no message")


@test
def a_subscription_is_acknowledged_and_stays_open(scene):
    client = McpClient(scene, era=MODERN)
    listening = client.request("subscriptions/listen", {"notifications": {"toolsListChanged": True}})
    acknowledged = "notifications/subscriptions/acknowledged"
    client.until(lambda: any(m.get("method") == acknowledged for m in client.messages), "the message")
    meta = next(m for m in client.messages if m.get("method") == acknowledged)["params"]["_meta"]
    equal(meta[PREFIX + "subscriptionId"], listening, "subscriptionId")
    client.notify("notifications/cancelled", {"requestId": listening})
    client.result("tools/list")
    check(listening not in client.answers, "the subscription was answered")


@test
def a_client_may_send_everything_at_once(scene):
    client = McpClient(scene, start=False)
    lines = [
        {"id": 1, "method": "initialize", "params": client.greeting_params()},
        {"method": "notifications/initialized"},
        {"id": 2, "method": "tools/list"},
        {"id": "three", "method": "tools/call",
         "params": {"name": "run_command", "arguments": {"command": "echo early"}}},
    ]
    text = "\n".join(json.dumps({"jsonrpc": "2.0", **line}) for line in lines)
    client.send_line(text)
    result = client.wait("three")["result"]
    equal(result["structuredContent"]["output"], "early\n", "output")
    equal([m["id"] for m in client.messages if "id" in m], [1, 2, "three"], "order")


@test
def serve_and_mcp_do_not_share_a_door(scene):
    client = McpClient(scene, capabilities=ASKS)
    for method in ("exec/command", "session/configure", "process/start", "approvals/grant"):
        equal(client.error(method, {"command": "ls", "argv": ["ls"]})["code"], -32601, method)
    client.send({"id": "approval-1", "result": {"decision": "approved"}})
    client.notify("exit")
    equal(client.call("run_command", command="echo on")["output"], "on\n", "after strange messages")


@test
def serve_names_execward_mcp_to_a_host(scene):
    server = scene.server(handshake=False)
    greeting = {"protocolVersion": LEGACY, "capabilities": {}, "clientInfo": {"name": "a host"}}
    error = server.error(server.request("initialize", greeting), -32600, "invalidRequest")
    check("Model Context Protocol" in error["message"], error)
    check("execward mcp" in error["data"]["hint"], error)
    server.handshake()


if __name__ == "__main__":
    main()

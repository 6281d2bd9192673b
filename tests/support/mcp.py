"""A client of `execward mcp`: it speaks either era, answers the server's questions, and checks that
every line is a message.
"""

import json
import os
import queue
import subprocess
import threading

from support.client import PATIENCE, SERVER_MARK, brief, check, equal, within
from support.exec import Home

LEGACY = "2025-11-25"
MODERN = "2026-07-28"
PREFIX = "io.modelcontextprotocol/"
ASKS = {"elicitation": {"form": {}}}
NO_TOUCH = "[[rule]]\nprefix = ['touch']\ndecision = 'prompt'\n"
ACCEPT = {"action": "accept", "content": {"decision": "approved"}}


class McpClient:
    """`era` is LEGACY or MODERN, `capabilities` those of the client, `answer` what it says to a
    question: a result, or None for no answer yet.
    """

    def __init__(
        self, scene, *flags, era=LEGACY, capabilities=None, answer=None, home=None, start=True,
        env=None,
    ):
        self.home = home or Home(scene)
        self.era, self.capabilities, self.answer = era, capabilities or {}, answer
        self.last_id, self.messages, self.elicited = 0, [], []
        self.answers, self.lines = {}, queue.Queue()
        environment = {**self.home.environment(), SERVER_MARK: scene.mark, **(env or {})}
        self.child = subprocess.Popen(
            [scene.command[0], "mcp", *flags],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=self.home.project,
            env=environment,
        )
        scene.servers.append(self)
        threading.Thread(target=self._read, daemon=True).start()
        if start and era != MODERN:
            self.greeting = self.result("initialize", self.greeting_params())
            self.notify("notifications/initialized")

    def greeting_params(self):
        return {
            "protocolVersion": self.era,
            "capabilities": self.capabilities,
            "clientInfo": {"name": "test", "version": "1"},
        }

    # The wire

    def _read(self):
        for line in self.child.stdout:
            self.lines.put(line)
        self.lines.put(None)

    def _record(self, direction, message):
        """For scripts/check/mcp_traffic.mjs."""
        directory = os.environ.get("EXECWARD_MCP_RECORD")
        if not directory:
            return
        name = "%s/%d.jsonl" % (directory, self.child.pid)
        with open(name, "a", encoding="utf-8") as file:
            file.write(json.dumps({"dir": direction, "tap": 1, "msg": message}) + "\n")

    def send(self, message):
        self.send_line(json.dumps({"jsonrpc": "2.0", **message}))

    def send_line(self, line):
        """Sends a line, or several."""
        for part in line.split("\n"):
            if part.startswith("{") and part.endswith("}"):
                self._record("c2s", json.loads(part))
        self.child.stdin.write(line.encode() + b"\n")
        self.child.stdin.flush()

    def notify(self, method, params=None):
        self.send({"method": method, "params": params or {}})

    def meta(self, token=None):
        meta = {} if token is None else {"progressToken": token}
        if self.era == MODERN:
            meta[PREFIX + "protocolVersion"] = MODERN
            meta[PREFIX + "clientCapabilities"] = self.capabilities
            meta[PREFIX + "clientInfo"] = {"name": "test", "version": "1"}
        return meta

    def request(self, method, params=None, token=None):
        self.last_id += 1
        params = dict(params or {})
        meta = self.meta(token)
        if meta:
            params["_meta"] = {**meta, **params.get("_meta", {})}
        self.send({"id": self.last_id, "method": method, "params": params})
        return self.last_id

    def take(self):
        """Takes the next message of the server, and answers it if it is a question."""
        line = self.lines.get(timeout=within(60))
        check(line is not None, "the server has ended")
        message = json.loads(line)
        self._record("s2c", message)
        equal(message.get("jsonrpc"), "2.0", "jsonrpc in %s" % brief(message, 300))
        self.messages.append(message)
        if "method" not in message:
            if message["id"] is not None:
                check(message["id"] not in self.answers, "a second answer: %s" % brief(message, 300))
                self.answers[message["id"]] = message
        elif "id" in message:
            self._answer(message)
        return message

    def _answer(self, message):
        if message["method"] == "roots/list":
            uris = self.capabilities["roots"].get("uris", [])
            roots = [{"uri": uri} for uri in uris]
            return self.send({"id": message["id"], "result": {"roots": roots}})
        equal(message["method"], "elicitation/create", "the method of a question")
        self.elicited.append(message)
        if self.answer is not None:
            self.send({"id": message["id"], "result": self.answer})
        return None

    def wait(self, request):
        while request not in self.answers:
            self.take()
        return self.answers[request]

    def until(self, condition, what):
        while not condition():
            check(self.take() is not None, what)

    def result(self, method, params=None):
        answer = self.wait(self.request(method, params))
        check("result" in answer, "an error: %s" % brief(answer, 500))
        return answer["result"]

    def error(self, method, params=None):
        answer = self.wait(self.request(method, params))
        check("error" in answer, "no error: %s" % brief(answer, 500))
        return answer["error"]

    def progress(self, token):
        return [
            message["params"]
            for message in self.messages
            if message.get("method") == "notifications/progress"
            and message["params"]["progressToken"] == token
        ]

    # Tools

    def call_later(self, tool, token=None, **arguments):
        return self.request("tools/call", {"name": tool, "arguments": arguments}, token)

    def call(self, tool, **arguments):
        """Returns the structured result of a tool, which is not an error."""
        return self.told(self.wait(self.call_later(tool, **arguments)), tool)

    def told(self, answer, tool):
        check("result" in answer, "an error: %s" % brief(answer, 500))
        result = answer["result"]
        check(not result.get("isError"), "isError: %s" % brief(result, 500))
        check(result["content"][0]["text"], "no text for %s" % tool)
        check(len(json.dumps(result["structuredContent"])) < 20000, "a long result of %s" % tool)
        check(len(json.dumps(result["content"])) < 20000, "a long text of %s" % tool)
        self.fits(result["structuredContent"], tool)
        return result["structuredContent"]

    def fits(self, structured, tool):
        """Checks the result against the outputSchema, if there is a validator."""
        try:
            import jsonschema
        except ImportError:
            return
        schema = next(entry for entry in self.tools() if entry["name"] == tool)["outputSchema"]
        jsonschema.validate(structured, schema)

    def tools(self):
        if not hasattr(self, "known_tools"):
            self.known_tools = self.result("tools/list")["tools"]
        return self.known_tools

    def failed(self, tool, **arguments):
        """Returns the text of a tool's result that is an error."""
        result = self.wait(self.call_later(tool, **arguments))["result"]
        check(result.get("isError"), "no error: %s" % brief(result, 500))
        check("structuredContent" not in result, "an error with a structured part")
        return result["content"][0]["text"]

    def refused(self, tool, **arguments):
        """Returns the message of the error for a call with wrong arguments."""
        error = self.error("tools/call", {"name": tool, "arguments": arguments})
        equal(error["code"], -32602, "code of %s" % error)
        return error["message"]

    # The end

    def end(self):
        self.child.stdin.close()
        return self.child.wait(PATIENCE)

    # What the scene does with every server

    def resume_reading(self):
        pass

    def verify(self):
        while True:
            line = self.lines.get(timeout=within(60))
            if line is None:
                return
            json.loads(line)

    def discard(self):
        self.child.kill()
        self.child.wait()


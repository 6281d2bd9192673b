#!/usr/bin/env python3
"""Converts recordings of a Codex client and its exec-server into transcripts.

usage: scripts/generate/transcripts.py IN.jsonl… OUTDIR

A recording has one JSON object a line: {"ms", "dir": "c2s" or "s2c", "msg"} for a message, or
{"ms", "event": "eof" or "server-exit", …}. Each recording becomes OUTDIR/codex_NAME.transcript, which
begins by making the files that existed. Methods that execward does not serve are dropped and counted.
Where execward differs on purpose, one of the RULES below gives the reason.
"""

import base64
import json
import pathlib
import re
import sys

SERVED = ("initialize", "initialized", "environment/info", "environment/status", "process/", "fs/")
CHUNK_LEFT_OUT = re.compile(r"BASE64 OF (\d+) BYTES\Z")
BRIEF_SLEEP = re.compile(r"\bsleep ([1-9])\b(?!\d)")

# The directory in which the recorded programs ran becomes the directory of the run.
WORKSPACE = "/ROOT/ws"
WORKSPACE_URI = "file://" + WORKSPACE
# The recorded server had this variable in its environment. Our server gets it with the start.
VARIABLE, VALUE = ("RIG_TOKEN", "TOKEN"), ("RIGTOKEN", "token-1")
# A file that the sandbox must not let a program create. The run has no /ROOT but has a /, which is
# nowhere a temporary directory. Without a sandbox the file is created, or refused with other words.
OUTSIDE, OUR_OUTSIDE = "/ROOT/outside.txt", "/execward-outside.txt"


class Dots:
    """The ... of a transcript."""


DOTS = Dots()


def render(value):
    """Returns JSON as a transcript has it; a member or element DOTS becomes "..."."""
    if isinstance(value, dict):
        members = ["..." if member is DOTS else json.dumps(name, ensure_ascii=False) + ":" + render(member)
                   for name, member in value.items()]
        return "{" + ",".join(members) + "}"
    if isinstance(value, list):
        return "[" + ",".join("..." if element is DOTS else render(element) for element in value) + "]"
    return json.dumps(value, ensure_ascii=False)


def is_served(method):
    return any(method == name or name.endswith("/") and method.startswith(name) for name in SERVED)


# ------------------------------------------------------------------ texts

def renamed(text):
    return text.replace(*VARIABLE).replace(*VALUE).replace(OUTSIDE, OUR_OUTSIDE)


def localized(value):
    """Replaces paths of the recorded machine, in any string, by paths of the run."""
    if isinstance(value, dict):
        return {name: localized(member) for name, member in value.items()}
    if isinstance(value, list):
        return [localized(element) for element in value]
    if not isinstance(value, str):
        return value
    for recorded, ours in ((WORKSPACE_URI, "$dirUri"), (WORKSPACE, "$dir")):
        if value == recorded or value.startswith(recorded + "/"):
            return ours + value[len(recorded):]
    # RULE: files that were looked up outside of the workspace did not exist. This one does not
    # either.
    if value.startswith("file:///"):
        return "$dirUri/elsewhere" + value[len("file://"):]
    return renamed(value)


def text_of(chunk):
    """Returns the bytes of a chunk, renamed, or None if the recording left them out."""
    if CHUNK_LEFT_OUT.match(chunk):
        return None
    content = base64.b64decode(chunk)
    for recorded, ours in (VALUE, (OUTSIDE, OUR_OUTSIDE)):
        content = content.replace(recorded.encode(), ours.encode())
    return content


def content_of(data):
    """Returns the bytes of a file. Content that the recording left out becomes NULs of the same
    length.
    """
    match = CHUNK_LEFT_OUT.match(data)
    return bytes(int(match[1])) if match else base64.b64decode(data)


def bytes_member(content, name="dataBase64"):
    """Returns the member as text if the content is text."""
    try:
        if b"\0" not in content:
            return {name + "~": content.decode("utf-8")}
    except UnicodeDecodeError:
        pass
    return {name: base64.b64encode(content).decode("ascii")}


def chunk_member(content):
    return bytes_member(content, "chunk")


# ------------------------------------------------------------------ one recording

class Conversion:
    def __init__(self, rows):
        self.rows = rows
        self.requests = {}  # id to request, in the recording
        self.dropped = {}  # method to count, since the last line was written
        self.next_id = 1000000  # for the requests that make the files that existed
        self.sizes = {}  # of the files that existed
        self.open = set()  # streams of which some output was left out
        self.ended = set()  # processes that were terminated or have exited
        self.calls = [row["msg"] for row in rows if "msg" in row and row["dir"] == "c2s"]
        self.says = [row["msg"] for row in rows if "msg" in row and row["dir"] == "s2c"]
        self.lines = []

    def run(self):
        to_make = self.files_that_were_there()
        self.sizes = {path: len(content) for path, content in to_make if content is not None}
        for row in self.rows:
            if row.get("event") == "eof":
                break
            if "msg" in row and row["dir"] == "c2s":
                self.client_says(row["msg"])
                if row["msg"].get("method") == "initialized":
                    self.make(to_make)
            elif "msg" in row:
                self.server_says(row["msg"])
        self.end()
        return self.lines

    # -------------------------------------------------------------- files that existed

    def result_of(self, call):
        for message in self.says:
            if message.get("id") == call.get("id") and "method" not in message:
                return message.get("result")
        return None

    def files_that_were_there(self):
        """Returns pairs of a path and its content, or None for a directory, as far as the answers
        say.
        """
        found, written = {}, set()
        for call in self.calls:
            method, params, result = call.get("method"), call.get("params"), self.result_of(call)
            if not (method or "").startswith("fs/") or result is None:
                continue
            path = params.get("path", "")
            if path in written or not path.startswith(WORKSPACE_URI + "/"):
                continue
            if method == "fs/readFile":
                found[path] = content_of(result["dataBase64"])
            elif method == "fs/getMetadata":
                found.setdefault(path, None if result["isDirectory"] else bytes(result["size"]))
            elif method == "fs/walk":
                for entry in result["entries"]:
                    found.setdefault(entry["path"], None if entry["kind"] == "directory" else b"")
            elif method == "fs/remove":
                found.setdefault(path, b"")
            elif method in ("fs/writeFile", "fs/createDirectory"):
                written.add(path)
        return sorted(found.items())

    def make(self, files):
        if files:
            self.lines.append("# What was there before:")
        made = set()
        for path, content in files:
            directory = path if content is None else path.rpartition("/")[0]
            if directory != WORKSPACE_URI and directory not in made:
                made.add(directory)
                self.ask("fs/createDirectory", {"path": localized(directory)})
            if content is not None:
                self.ask("fs/writeFile", {"path": localized(path), **bytes_member(content)})
        if files:
            self.lines.append("# Recorded:")

    def ask(self, method, params):
        self.next_id += 1
        self.put(">", {"id": self.next_id, "method": method, "params": params})
        self.put("<", {"id": self.next_id, "result": {}})

    def end(self):
        """RULE: the recorded server was killed in some recordings. Here the client ends first."""
        self.tell_dropped()
        self.lines += ["! eof", "! exit 0"]

    def put(self, sign, message):
        self.tell_dropped()
        self.lines.append("%s %s" % (sign, render(message)))

    def drop(self, method):
        self.dropped[method] = self.dropped.get(method, 0) + 1

    def tell_dropped(self):
        for method, count in sorted(self.dropped.items()):
            self.lines.append("# left out: %d of %s" % (count, method))
        self.dropped = {}

    # -------------------------------------------------------------- client

    def client_says(self, message):
        if "id" in message and "method" in message:
            self.requests[message["id"]] = message
        method = message.get("method", "an answer")
        if not is_served(method):
            return self.drop(method)
        message = dict(message, params=localized(message.get("params")))
        if method == "process/start":
            message["params"] = self.start_params(message["params"])
        if method == "process/write":
            message["params"] = self.write_params(message["params"])
        if method == "fs/writeFile":
            content = content_of(message["params"].pop("dataBase64"))
            message["params"].update(bytes_member(content))
        if message["params"] is None:
            del message["params"]
        self.put(">", message)

    def start_params(self, params):
        params["argv"] = self.runnable(params["processId"], params["argv"])
        # RULE: a login shell reads the user's profile. Here it finds none.
        params["env"] = dict(params["env"], HOME="$dir")
        if any("$" + VARIABLE[1] in argument for argument in params["argv"]):
            params["env"] = dict(params["env"], **{VARIABLE[1]: VALUE[1]})
        return params

    def runnable(self, process, argv):
        if argv[0].startswith("/PYTHON"):
            return self.stand_in(process)
        # RULE: the recording does not depend on the length of a short sleep, so it is cut to a
        # tenth. The client never waits for long sleeps, so they stay.
        return [BRIEF_SLEEP.sub(r"sleep 0.\1", argument) for argument in argv]

    def stand_in(self, process):
        """RULE: the recorded program is not here. A script answers each line as that program did.
        """
        answers = []
        for row in self.rows:
            message = row.get("msg", {})
            if message.get("params", {}).get("processId") != process:
                continue
            if message["method"] == "process/write":
                answers.append("")
            elif message["method"] == "process/output":
                answers[-1] += text_of(message["params"]["chunk"]).decode("utf-8")
        script = 'for answer; do read -r line; printf %s "$answer"; done; exec cat'
        return ["/bin/sh", "-c", script, "sh", *answers]

    @staticmethod
    def write_params(params):
        chunk = params.pop("chunk")
        content = text_of(chunk)
        if content is None:
            content = b"a line of %s\n" % CHUNK_LEFT_OUT.match(chunk)[1].encode()
        return {**params, **chunk_member(content)}

    # -------------------------------------------------------------- server

    def server_says(self, message):
        method = message.get("method")
        if method is None:
            return self.server_answers(message)
        if not is_served(method):
            return self.drop(method)
        params = dict(message["params"])
        if method == "fs/missingChanged":
            # RULE: the recorded server's sandbox created missing files to protect them. Ours does
            # not if the client says that they may be skipped.
            return
        del params["seq"]  # the player counts itself
        if method == "process/output":
            return self.server_prints(params)
        if method == "process/exited":
            self.ended.add(params["processId"])
            params = self.exited_params(params)
        self.put("<", {"method": method, "params": params})

    def server_prints(self, params):
        content = text_of(params.pop("chunk"))
        lane = (params["processId"], params["stream"])
        if lane in self.open:
            return
        if content is None:
            self.open.add(lane)
            params["..."] = DOTS
        else:
            params.update(chunk_member(content))
        self.put("<", {"method": "process/output", "params": params})

    def exited_params(self, params):
        # RULE: on a terminal Codex reports 1 for every signal. execward reports 128+N there too,
        # and terminate kills the program.
        was_terminated = any(call.get("method") == "process/terminate"
                             and call["params"]["processId"] == params["processId"]
                             and self.was_running(call["id"]) for call in self.calls)
        if was_terminated:
            params["exitCode"] = 137
        return {**params, "...": DOTS}  # only execward reports usage and the name of the signal

    def was_running(self, call_id):
        return any(message.get("id") == call_id and message.get("result", {}).get("running")
                   for message in self.says)

    def server_answers(self, message):
        request = self.requests.get(message["id"], {})
        method = request.get("method", "an answer")
        if not is_served(method):
            return  # counted with its request
        if method == "initialize":
            # RULE: each server describes itself; only the system is the same.
            message = {"id": message["id"], "result": {
                "environmentInfo": {"platformOs": "linux", "...": DOTS}, "...": DOTS}}
        elif "error" in message:
            # RULE: the words of an error are for people, and execward distinguishes a missing
            # program (spawnNotFound) from a missing directory (spawnFailed).
            message = {"id": message["id"], "error": {"code": message["error"]["code"], "...": DOTS}}
        elif method.startswith("fs/"):
            message = {"id": message["id"], "result": self.file_result(request, message["result"])}
        elif method == "process/terminate":
            message = self.terminate_answer(message, request["params"]["processId"])
        self.put("<", message)

    def file_result(self, request, result):
        method, path = request["method"], request["params"].get("path")
        if method == "fs/getMetadata":
            # RULE: times differ between machines, and so does the size of a directory.
            kept = ("isDirectory", "isFile", "isSymlink") + (() if result["isDirectory"] else ("size",))
            result = {**{name: result[name] for name in kept}, "...": DOTS}
            # RULE: names in the recorded files were shortened after the recording.
            if "size" in result and self.sizes.get(path) is not None:
                result["size"] = self.sizes[path]
            return result
        if method == "fs/readFile":
            return bytes_member(content_of(result["dataBase64"]))
        return localized(result)

    def terminate_answer(self, message, process):
        # RULE: whether a second terminate still finds the program depends on how fast the program
        # ends.
        is_race = process in self.ended and message["result"]["running"]
        self.ended.add(process)
        return {"id": message["id"], "result": {"...": DOTS}} if is_race else message


def title(path):
    scene = path.stem.replace("_", " ")
    return "# What a Codex client asks and gets: %s. Recorded from Codex 0.171.0." % scene


def main():
    if len(sys.argv) < 3 or sys.argv[1] in ("-h", "--help"):
        print(__doc__.strip())
        return 0 if sys.argv[1:2] in (["-h"], ["--help"]) else 2
    outdir = pathlib.Path(sys.argv[-1])
    written = 0
    for name in map(pathlib.Path, sys.argv[1:-1]):
        rows = [json.loads(line) for line in name.read_text(encoding="utf-8").splitlines()]
        lines = [title(name), *Conversion(rows).run()]
        target = outdir / ("codex_%s.transcript" % name.stem)
        target.write_text("\n".join(lines) + "\n", encoding="utf-8")
        written += 1
    print("%d transcripts written" % written)
    return 0


if __name__ == "__main__":
    sys.exit(main())

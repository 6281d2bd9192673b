#!/usr/bin/env python3
"""Checks schema/ and everything that must agree with it. Last line: N passed, N failed."""
import json
import pathlib
import subprocess
import sys
import tempfile

import jsonschema

import schema_lib
from schema_lib import PROTOCOL, ROOT, SCHEMA, TYPES, check_transcript, problems_with, validate_line

DEFS = TYPES["$defs"]
DIALECT = jsonschema.Draft202012Validator
counts = {"PASS": 0, "FAIL": 0}


def report(what, problems):
    verdict = "FAIL" if problems else "PASS"
    counts[verdict] += 1
    print("%s %s" % (verdict, what))
    for problem in problems:
        print("     %s" % problem)


# ------------------------------------------------------------------ types.json

def all_schemas():
    yield from (("%s" % name, schema) for name, schema in DEFS.items())
    yield from (("x-envelope/%s" % name, schema) for name, schema in TYPES["x-envelope"].items())


def refs_in(value):
    if isinstance(value, dict):
        if isinstance(value.get("$ref"), str):
            yield value["$ref"]
        for member in value.values():
            yield from refs_in(member)
    elif isinstance(value, list):
        for element in value:
            yield from refs_in(element)


def resolves(ref):
    if not ref.startswith("#/"):
        return False
    at = TYPES
    for step in ref[2:].split("/"):
        if not isinstance(at, dict) or step not in at:
            return False
        at = at[step]
    return True


def is_valid_schema(schema):
    try:
        DIALECT.check_schema(schema)
        return []
    except jsonschema.SchemaError as error:
        return [error.message]


def shape_problems(schema):
    """Allows only a few forms for a property, so that other programs can read this file easily."""
    if "$ref" in schema:
        return [] if "type" not in schema and "anyOf" not in schema else ["$ref beside type or anyOf"]
    if "anyOf" in schema:
        branches = schema["anyOf"]
        good = len(branches) == 2 and "$ref" in branches[0] and branches[1] == {"type": "null"}
        return [] if good else ["anyOf is for a reference or null only"]
    types = schema.get("type")
    if isinstance(types, list):
        if len(types) != 2 or types[1] != "null":
            return ["a list of types is for [T, null] only"]
        types = types[0]
    if types == "array":
        return shape_problems(schema["items"]) if "items" in schema else ["an array without items"]
    if types == "object":
        return [] if isinstance(schema.get("additionalProperties", {}), dict) else ["not a map"]
    if types == "integer":
        return [] if "minimum" in schema and "maximum" in schema else ["an integer without limits"]
    return [] if types in ("string", "boolean") else ["no usable type"]


def property_problems(schema):
    problems = []
    members = schema.get("properties", {})
    for name, member in members.items():
        if not member.get("description"):
            problems.append("%s has no description" % name)
        problems += ["%s: %s" % (name, problem) for problem in shape_problems(member)]
        if "default" in member:
            whole = dict(TYPES, **member)
            problems += ["the default of %s: %s" % (name, error.message)
                         for error in DIALECT(whole).iter_errors(member["default"])]
            if name in schema.get("required", []):
                problems.append("%s is required and has a default" % name)
    problems += ["%s is required but not described" % name
                 for name in schema.get("required", []) if name not in members]
    return problems


def check_types():
    report("types.json is a JSON Schema 2020-12", is_valid_schema(TYPES))
    for name, schema in all_schemas():
        problems = is_valid_schema(schema) + ([] if schema.get("description") else ["no description"])
        problems += ["%s leads nowhere" % ref for ref in refs_in(schema) if not resolves(ref)]
        if not name.startswith("x-envelope/"):
            problems += property_problems(schema)
        else:
            problems += ["%s has no description" % member for member, property_schema
                         in schema["properties"].items() if not property_schema.get("description")]
        report("type %s is well described" % name, problems)


# ------------------------------------------------------------------ examples

def check_examples():
    folder = SCHEMA / "examples"
    for name, schema in DEFS.items():
        path = folder / (name + ".json")
        if schema["type"] == "object":
            examples = [json.loads(path.read_text(encoding="utf-8"))] if path.exists() else []
        else:
            examples = schema.get("examples", [])
        problems = [] if examples else ["there is none"]
        for example in examples:
            problems += problems_with(example, name)
        report("example of %s" % name, problems)
    strangers = sorted(path.name for path in folder.iterdir()
                       if DEFS.get(path.stem, {}).get("type") != "object" or path.suffix != ".json")
    report("every example is one of a type", strangers)


# ------------------------------------------------------------------ protocol.json

METHOD_MEMBERS = {"name", "direction", "kind", "summary", "description", "params", "result", "errors",
                  "since", "extension"}


def error_problems(error):
    code = schema_lib.KIND_CODES.get(error["kind"])
    if code is None:
        return ["no error kind %s" % error["kind"]]
    return [] if code == error["code"] else ["kind %s has code %d" % (error["kind"], code)]


def method_problems(method):
    if set(method) != METHOD_MEMBERS:
        return ["members differ: %s" % ", ".join(sorted(set(method) ^ METHOD_MEMBERS))]
    problems = []
    if method["direction"] not in ("clientToServer", "serverToClient", "both"):
        problems.append("direction %s" % method["direction"])
    if method["kind"] not in ("request", "notification"):
        problems.append("kind %s" % method["kind"])
    if method["kind"] == "notification" and (method["result"] != "null" or method["errors"]):
        problems.append("a notification has no result and no errors")
    for name in (method["params"], method["result"]):
        if name not in (None, "null") and DEFS.get(name, {}).get("type") != "object":
            problems.append("no type %s" % name)
    for error in method["errors"]:
        problems += error_problems(error)
    return problems


def unused_types():
    names = [name for method in PROTOCOL["methods"] for name in (method["params"], method["result"])]
    todo = [name for name in names if name in DEFS]
    todo += [ref.split("/")[-1] for ref in refs_in(TYPES["x-envelope"]) if "/$defs/" in ref]
    used = set()
    while todo:
        name = todo.pop()
        if name not in used:
            used.add(name)
            todo += [ref.split("/")[-1] for ref in refs_in(DEFS[name])]
    return sorted(set(DEFS) - used)


def check_protocol():
    for method in PROTOCOL["methods"]:
        report("method %s is well described" % method.get("name"), method_problems(method))
    names = [method["name"] for method in PROTOCOL["methods"]]
    report("no method occurs twice", sorted(name for name in set(names) if names.count(name) > 1))
    report("every type is used by a method", unused_types())
    codes = {code["code"] for code in PROTOCOL["errorCodes"]}
    wrong = ["%s: %d" % (kind["kind"], kind["code"]) for kind in PROTOCOL["errorKinds"]
             if kind["code"] not in codes]
    wrong += [problem for error in PROTOCOL["commonErrors"] for problem in error_problems(error)]
    report("every error kind has a known code", wrong)


# ------------------------------------------------------------------ other files

def generated(*arguments):
    script = ROOT / "scripts/generate/docs.py"
    run = subprocess.run([sys.executable, str(script), *arguments], stdout=subprocess.PIPE,
                         stderr=subprocess.STDOUT, text=True)
    return run.stdout.split("\n") if run.returncode else []


def openrpc_problems():
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "openrpc.json")
        problems = generated("--openrpc", str(path))
        if problems:
            return problems
        document = json.loads(path.read_text(encoding="utf-8"))
    names = [method["name"] for method in document["methods"]]
    missing = [method["name"] for method in PROTOCOL["methods"] if method["name"] not in names]
    targets = {"#/components/%s/%s" % (kind, name)
               for kind, members in document["components"].items() for name in members}
    return ["no method " + name for name in missing] + \
        ["%s leads nowhere" % ref for ref in sorted(refs_in(document)) if ref not in targets]


def check_docs():
    report("docs/protocol.md is fresh", generated("--check"))
    report("openrpc.json can be made", openrpc_problems())


def check_transcripts():
    # Those in mcp/ are of another protocol; scripts/check/mcp_traffic.mjs has its schemas.
    for path in sorted((ROOT / "tests" / "transcripts").glob("*.transcript")):
        problems = check_transcript(path.read_text(encoding="utf-8"))
        report("transcript %s fits the schema" % path.stem,
               ["%s:%d: %s" % (path.name, number, problem) for number, problem in problems])


# ------------------------------------------------------------------ tests of this script

START = {"processId": "p", "argv": ["true"], "cwd": "/", "env": {}, "tty": False}
ASKED = json.loads((SCHEMA / "examples" / "ApprovalRequest.json").read_text(encoding="utf-8"))
READ = {"chunks": [], "nextSeq": 1, "exited": False, "exitCode": None, "closed": False,
        "failure": None, "sandboxDenied": False, "firstSeq": 1, "lostBytes": 0}

WRONG_VALUES = [
    ("StartParams", dict(START, argv=[]), "no program"),
    ("StartParams", dict(START, tty="yes"), "text for a bool"),
    ("StartParams", dict(START, cwd="work"), "a relative path"),
    ("StartParams", dict(START, cwd="http://host/work"), "a URI that is no file"),
    ("StartParams", dict(START, env={"A": 1}), "a number in the environment"),
    ("StartParams", dict(START, size={"rows": 0, "cols": 80}), "a terminal without rows"),
    ("StartParams", dict(START, timeoutMs=-1), "a negative time"),
    ("StartParams", dict(START, timeoutMs=2**64), "a number beyond 64 bits"),
    ("StartParams", dict(START, envPolicy={}), "an incomplete environment policy"),
    ("StartParams", {"processId": "p"}, "missing members"),
    ("InitializeParams", {}, "a client without a name"),
    ("InitializeParams", {"clientName": None}, "a client whose name is null"),
    ("InitializeParams", {"clientName": "c", "processId": 0}, "pid 0"),
    ("ReadParams", {"processId": "p", "maxBytes": 1.0}, "a fraction"),
    ("ReadParams", {"processId": "p", "afterSeq": True}, "a bool for a number"),
    ("ReadResult", dict(READ, exitCode=256), "an impossible exit status"),
    ("ReadResult", dict(READ, chunks=[{"seq": 1, "stream": "tty", "chunk": ""}]), "an unknown stream"),
    ("WriteParams", {"processId": "p", "chunk": "!!"}, "bad base64"),
    ("WriteParams", {"processId": "p", "chunk": "aGk"}, "base64 without padding"),
    ("WriteParams", {"processId": "p", "chunk": "eB=="}, "base64 with unused bits"),
    ("WriteParams", {"processId": "p", "chunk": "", "writeId": ""}, "an empty writeId"),
    ("SignalParams", {"processId": "p", "signal": "INT"}, "an unknown signal name"),
    ("CancelParams", {"id": None}, "an id that is none"),
    ("CancelParams", {"id": 2**63}, "an id beyond 64 bits"),
    ("Empty", [], "an array for an object"),
    ("ExecCommandParams", {"argv": []}, "no program"),
    ("ExecCommandParams", {"command": "true", "onCancel": "kill"}, "an unknown onCancel"),
    ("ExecCommandParams", {"command": "true", "env": {"A": None}}, "a variable without a value"),
    ("ExecWriteParams", {"chars": "y"}, "no process"),
    ("Settings", {"approvalPolicy": "always"}, "an unknown policy"),
    ("Settings", {"workspaceRoots": ["work"]}, "a relative workspace"),
    ("ApprovalAnswer", {"decision": "yes"}, "an unknown decision"),
    ("ApprovalAnswer", {"decision": "approved", "scope": "forever"}, "an unknown scope"),
    ("ApprovalsGrantParams", {"prefix": [], "scope": "always"}, "an approval of everything"),
]

OK_STATUS = {"jsonrpc": "2.0", "id": 1, "result": {"status": "ready"}}
WRONG_LINES = [
    ("<", dict(OK_STATUS, jsonrpc="1.0"), "a wrong jsonrpc"),
    ("<", {"jsonrpc": "2.0", "id": 1, "result": {}}, "a result of another type"),
    ("<", dict(OK_STATUS, id=2), "a reply to no request"),
    ("<", {"jsonrpc": "2.0", "id": 1, "error": {"code": -32600, "message": "no"}}, "an error without data"),
    ("<", {"jsonrpc": "2.0", "id": 1, "error": {"code": -32600, "message": "no", "data": {"kind": "internal"}}},
     "a code that does not belong to the kind"),
    ("<", {"jsonrpc": "2.0", "method": "process/begun", "params": {}}, "an unknown notification"),
    ("<", {"jsonrpc": "2.0", "method": "process/closed", "params": {"processId": "p"}}, "a notification without seq"),
    ("<", "[]", "a batch"),
    ("<", '{"jsonrpc":"2.0","id":1,"id":1,"result":{"status":"ready"}}', "a member that occurs twice"),
    (">", {"id": 1.5, "method": "process/list"}, "a fraction as id"),
    (">", {"id": 2, "method": "process/nothing"}, "an unknown request"),
    (">", {"id": 2, "method": "initialized"}, "a notification sent as a request"),
    ("<", {"jsonrpc": "2.0", "id": "q", "method": "environment/status", "params": {}}, "a question that is the client's"),
    ("<", {"jsonrpc": "2.0", "id": "q", "method": "approval/request", "params": {}}, "a question without members"),
    ("<", {"jsonrpc": "2.0", "method": "approval/request", "params": ASKED}, "a question without an id"),
    (">", {"id": "asked", "result": {"decision": "yes"}}, "an unknown decision"),
    (">", {"id": "asked", "result": None}, "no decision"),
    (">", {"id": "asked", "result": {"decision": "approved"}, "error": 5}, "an answer of two kinds"),
]

RIGHT_TRANSCRIPT = r"""# A scene of every kind of line.
> {"id":1,"method":"initialize","params":{"clientName":"c"}}
< {"id":1,"result":{"sessionId":"$session",...}}
> {"method":"initialized"}
> {"method":"nobody/knowsThis","params":{"a":1}}
> {"id":"s","method":"process/start","params":{"processId":"p","argv":["sh","-c","echo hi"],"cwd":"$dirUri","env":{},"tty":false}}
< {"id":"s","result":{"processId":"p","sandboxType":"none"}}
< {"method":"process/output","params":{"processId":"p","stream":"stdout","chunk~":"hi\n"}}
< {"method":"process/exited","params":{"processId":"p","exitCode":0,"sandboxDenied":false,...}}
< {"method":"process/closed","params":{"processId":"p","seq":"$last"}}
> {"id":2,"method":"process/read","params":{"processId":"p"}}
< {"id":2,"result":{"chunks":[{"seq":1,"stream":"stdout","chunk~":"hi\n"},...],...}}
> {"id":3,"method":"process/start","params":{"processId":5}}
< {"id":3,"error":{"code":-32602,"message":"$why","data":{"kind":"invalidParams","path":"processId"}}}
> this is not JSON
< {"id":null,"error":{"code":-32700,"data":{"kind":"parse"},...}}
> {"id":4,"method":"no/such"}
< {"id":4,"error":{"code":-32601,...}}
> {"id":5,"method":"exec/command","params":{"command":"echo hi","callId":"c"}}
< {"id":"$question","method":"approval/request","params":{"callId":"c","kind":"command","reason*":"echo",...}}
> {"id":"$question","result":{"decision":"approved"}}
< {"method":"exec/begin","params":{"callId":"c","processId":"1000",...}}
< {"method":"exec/outputDelta","params":{"callId":"c","processId":"1000","stream":"stdout","delta":"hi\n"}}
< {"id":5,"result":{"callId":"c","state":"completed","output":"hi\n","exitCode":0,...}}
> {"id":6,"method":"exec/command","params":{"argv":["true"],"callId":"d"}}
< {"id":"$other","method":"approval/request","params":{"callId":"d",...}}
< {"method":"$/cancelRequest","params":{"id":"$other"}}
> {"id":"$other","error":{"code":-1,"message":"too late"}}
> {"id":"$question","result":"to nothing, so ignored"}
! eof
! exit 0
"""

WRONG_TRANSCRIPTS = [
    ('> {"id":1,"method":"environment/status"}\n< {"id":1,"result":{"status":"busy"}}', "a wrong enum value"),
    ('> {"id":1,"method":"process/read","params":{}}\n< {"id":1,"result":{...}}', "wrong params that succeed"),
    ('> {"id":1,"method":"process/list"}\n< {"id":1,"result":{}}', "a missing member in a whole line"),
    ('> {"id":1,"method":"process/list"}\n< {"id":1,"result":{"processes":5,...}}', "a wrong type in a partial line"),
    ('< {"method":"process/output","params":{"chunk~":5,...}}', "a ~ member that is no text"),
    ('< {"method":"process/output","params":{"stream":"out",...}}', "a wrong stream in a partial line"),
    ('> {"id":1,"method":"environment/status"}\n< {"id":1,"result":[...,1]}', "... before the end"),
    ('> not JSON\n', "a bad line that is not refused"),
    ('< {"id":"$q","method":"approval/request","params":{...}}\n> {"id":"$q","result":{"decision":"yes"}}', "an unknown decision"),
    ('< {"method":"exec/begin","params":{"argv*":"true",...}}', "a part of what is no text"),
    ('< {"method":"exec/begin","params":{"program*":5,...}}', "a part that is no text"),
    ('< {"method":"exec/begin","params":{"program*":"a","program":"b",...}}', "a member that occurs twice"),
    ('> {"id":1,"method":"exec/writeStdin","params":{"processId*":"1"}}', "a part of what is sent"),
    ('{"id":1}', "a line without its sign"),
]


def check_self():
    for type_name, value, what in WRONG_VALUES:
        report("refuses %s (%s)" % (what, type_name), [] if problems_with(value, type_name) else ["taken"])
    for direction, line, what in WRONG_LINES:
        pending = {1: "environment/status", ("<", "asked"): "approval/request"}
        report("refuses %s" % what, [] if validate_line(direction, line, pending) else ["taken"])
    report("takes a good reply", validate_line("<", OK_STATUS, {1: "environment/status"}))
    pending = {}
    question = {"jsonrpc": "2.0", "id": 1, "method": "approval/request", "params": ASKED}
    answer = {"id": 1, "result": {"decision": "denied"}}
    report("takes a question and its answer, whose id a request has too",
           validate_line(">", {"id": 1, "method": "environment/status"}, pending)
           + validate_line("<", question, pending) + validate_line(">", answer, pending)
           + validate_line("<", OK_STATUS, pending) + ["%s is left" % (key,) for key in pending])
    report("takes a good transcript", check_transcript(RIGHT_TRANSCRIPT))
    for text, what in WRONG_TRANSCRIPTS:
        report("refuses a transcript with %s" % what, [] if check_transcript(text) else ["taken"])


def main():
    check_types()
    if not counts["FAIL"]:  # the other checks need a correct schema
        for check in (check_examples, check_protocol, check_docs, check_transcripts, check_self):
            check()
    print("%d passed, %d failed" % (counts["PASS"], counts["FAIL"]))
    return 1 if counts["FAIL"] else 0


if __name__ == "__main__":
    sys.exit(main())

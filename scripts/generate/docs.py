#!/usr/bin/env python3
"""Writes docs/protocol.md from schema/. With --check: only reports if it is stale. With
--openrpc FILE: writes the schema as OpenRPC to FILE instead."""
import json
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCHEMA = ROOT / "schema"
UINT64_MAX, INT64_MIN, INT64_MAX = 2**64 - 1, -2**63, 2**63 - 1

TYPES = json.loads((SCHEMA / "types.json").read_text(encoding="utf-8"))["$defs"]
PROTOCOL = json.loads((SCHEMA / "protocol.json").read_text(encoding="utf-8"))
METHODS = PROTOCOL["methods"]


def ref_name(ref):
    return ref.rsplit("/", 1)[-1]


def example_of(type_name):
    return json.loads((SCHEMA / "examples" / (type_name + ".json")).read_text(encoding="utf-8"))


# ------------------------------------------------------------------ OpenRPC

def moved_refs(value):
    """Returns the schema with references as they are inside an OpenRPC document."""
    if isinstance(value, dict):
        return {name: "#/components/schemas/" + ref_name(member) if name == "$ref" else moved_refs(member)
                for name, member in value.items()}
    if isinstance(value, list):
        return [moved_refs(element) for element in value]
    return value


def openrpc_params(type_name):
    schema = TYPES[type_name]
    required = schema.get("required", [])
    params = []
    for name, member in schema["properties"].items():
        inner = {key: value for key, value in member.items() if key != "description"}
        params.append({"name": name, "description": member["description"], "required": name in required,
                       "schema": moved_refs(inner)})
    return sorted(params, key=lambda param: not param["required"])  # OpenRPC wants required parameters first


def openrpc_result(method):
    if method["result"] == "null":
        return {"name": "result", "description": "Nothing.", "schema": {"type": "null"}}
    return {"name": "result", "description": TYPES[method["result"]]["description"],
            "schema": {"$ref": "#/components/schemas/" + method["result"]}}


def openrpc_example(method):
    params = example_of(method["params"]) if method["params"] else {}
    example = {"name": "example", "params": [{"name": name, "value": value} for name, value in params.items()]}
    if method["kind"] == "request":
        value = None if method["result"] == "null" else example_of(method["result"])
        example["result"] = {"name": "result", "value": value}
    return example


def openrpc_method(method):
    made = {"name": method["name"], "summary": method["summary"], "description": method["description"],
            "paramStructure": "by-name",
            "params": openrpc_params(method["params"]) if method["params"] else []}
    if method["kind"] == "request":
        made["result"] = openrpc_result(method)
        common = PROTOCOL["commonErrors"] if method["direction"] != "serverToClient" else []
        kinds = [error["kind"] for error in common + method["errors"]]
        made["errors"] = [{"$ref": "#/components/errors/" + kind} for kind in kinds]
    made["examples"] = [openrpc_example(method)]
    made.update({"x-direction": method["direction"], "x-since": method["since"],
                 "x-extension": method["extension"]})
    return made


def openrpc_error(kind):
    data = {"kind": kind["kind"]}
    if kind["hint"]:
        data["hint"] = kind["hint"]
    return {"code": kind["code"], "message": kind["meaning"], "data": data}


def openrpc():
    document = {
        "openrpc": "1.3.2",
        "info": {"title": PROTOCOL["name"], "version": PROTOCOL["protocolVersion"],
                 "description": PROTOCOL["description"]},
        "methods": [openrpc_method(method) for method in METHODS],
        "components": {
            "schemas": {name: moved_refs(schema) for name, schema in TYPES.items()},
            "errors": {kind["kind"]: openrpc_error(kind) for kind in PROTOCOL["errorKinds"]},
        },
    }
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


# ------------------------------------------------------------------ docs/protocol.md

def anchor(text):
    """Returns the anchor of a heading: lower case, dashes for blanks, no other signs."""
    kept = "".join(c for c in text.lower() if c.isalnum() or c in " -_")
    return kept.replace(" ", "-")


def home_of(type_name):
    """Returns the heading below which a type is described: the first method that uses it, or its
    own.
    """
    for method in METHODS:
        if type_name in (method["params"], method["result"]):
            return method["name"]
    return type_name


def type_anchor(type_name):
    # A type may have the name of another heading (Limits), so its anchor has a name of its own.
    home = home_of(type_name)
    return "type-" + anchor(type_name) if home == type_name else anchor(home)


def type_link(type_name):
    return "[%s](#%s)" % (type_name, type_anchor(type_name))


def table(heads, rows):
    lines = ["| %s |" % " | ".join(heads), "|%s" % (" --- |" * len(heads))]
    lines += ["| %s |" % " | ".join(cell.replace("|", "\\|") for cell in row) for row in rows]
    return lines + [""]


def code(value):
    return "`%s`" % json.dumps(value, ensure_ascii=False)


def number_range(schema):
    low, high = schema.get("minimum"), schema.get("maximum")
    if (low, high) == (INT64_MIN, INT64_MAX):
        return "64-bit integer"
    if high in (UINT64_MAX, INT64_MAX, 2**31 - 1):
        return "integer from %d" % low
    return "integer %d to %d" % (low, high)


def type_text(schema):
    if "$ref" in schema:
        return type_link(ref_name(schema["$ref"]))
    if "anyOf" in schema:
        return type_text(schema["anyOf"][0]) + " or null"
    kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    suffix = " or null" if "null" in kinds else ""
    if "enum" in schema:
        return ", ".join(code(value) for value in schema["enum"] if value is not None) + suffix
    if kinds[0] == "array":
        return "list of " + type_text(schema["items"]) + suffix
    if kinds[0] == "object":
        values = schema.get("additionalProperties")
        return ("map of names to " + type_text(values) if values else "object") + suffix
    if kinds[0] == "integer":
        return number_range(schema) + suffix
    return {"boolean": "bool"}.get(kinds[0], kinds[0]) + suffix


def extra_limits(schema):
    limits = []
    if "minItems" in schema:
        limits.append("At least %d." % schema["minItems"])
    if "minLength" in schema:
        limits.append("At least %d character." % schema["minLength"])
    return " ".join(limits)


def members_table(type_name):
    schema = TYPES[type_name]
    rows = []
    for name, member in schema["properties"].items():
        needed = "yes" if name in schema.get("required", []) else "no"
        if "default" in member:
            needed += " (%s)" % code(member["default"])
        mark = " +" if member.get("x-extension") else ""
        text = " ".join(filter(None, [member["description"], extra_limits(member)]))
        rows.append(["`%s`%s" % (name, mark), type_text(member), needed, text])
    return table(["member", "type", "required", "meaning"], rows)


def type_lines(title, type_name, at):
    """Describes a type at the first method that uses it; later methods link to it."""
    schema = TYPES[type_name]
    if home_of(type_name) != at:
        return ["**%s**: %s." % (title, type_link(type_name)), ""]
    lines = ["**%s** (%s): %s" % (title, type_name, schema["description"]), ""]
    return lines + (members_table(type_name) if schema["properties"] else [])


def message(members):
    return json.dumps(dict({"jsonrpc": "2.0"}, **members), ensure_ascii=False, separators=(",", ":"))


def example_lines(method, number):
    asks = {"method": method["name"]}
    if method["kind"] == "request":
        asks = {"id": number, "method": method["name"]}
    if method["params"]:
        asks["params"] = example_of(method["params"])
    sign = "<" if method["direction"] == "serverToClient" else ">"
    lines = ["```", "%s %s" % (sign, message(asks))]
    if method["kind"] == "request":
        result = None if method["result"] == "null" else example_of(method["result"])
        lines.append("%s %s" % ("<" if sign == ">" else ">", message({"id": number, "result": result})))
    return lines + ["```", ""]


def method_lines(method, number):
    mark = " (extension)" if method["extension"] else ""
    lines = ["### %s" % method["name"], ""]
    lines += ["%s%s, since %s. **%s** %s" % (method["kind"].capitalize(), mark, method["since"], method["summary"],
                                             method["description"]), ""]
    if method["params"]:
        lines += type_lines("Params", method["params"], method["name"])
    else:
        lines += ["**Params**: none needed; what is sent is ignored.", ""]
    if method["kind"] == "request":
        if method["result"] == "null":
            lines += ["**Result**: null.", ""]
        else:
            lines += type_lines("Result", method["result"], method["name"])
    if method["errors"]:
        lines += ["**Errors**, beside those that every request may get:", ""]
        lines += table(["code", "kind", "when"],
                       [[str(e["code"]), "`%s`" % e["kind"], e["when"]] for e in method["errors"]])
    return lines + example_lines(method, number)


WAYS = {"clientToServer": "client → server", "serverToClient": "server → client", "both": "both"}


def overview_lines():
    rows = []
    for method in METHODS:
        mark = " +" if method["extension"] else ""
        rows.append(["[`%s`](#%s)%s" % (method["name"], anchor(method["name"]), mark), WAYS[method["direction"]],
                     method["kind"], method["summary"]])
    return table(["method", "way", "kind", "what it does"], rows)


def with_unit(limit):
    value, unit = limit["value"], limit["unit"]
    if value is None:
        return "none"
    if unit == "bytes" and value % 2**20 == 0:
        return "%d MiB" % (value // 2**20)
    if unit == "bytes" and value % 1024 == 0:
        return "%d KiB" % (value // 1024)
    return "%d %s" % (value, unit)


def limits_lines():
    rows = [[limit["name"], with_unit(limit), "`%s`" % limit["flag"] if limit["flag"] else "–", limit["reached"]]
            for limit in PROTOCOL["limits"]]
    return table(["limit", "value", "flag", "when it is reached"], rows)


def scalar_lines():
    rows = []
    for name, schema in TYPES.items():
        if schema["type"] != "object":
            shown = ", ".join(code(example) for example in schema["examples"])
            rows.append(["<a id=\"%s\"></a>%s" % (type_anchor(name), name), schema["description"], shown])
    return table(["type", "meaning", "examples"], rows)


def other_types_lines():
    lines = []
    for name, schema in TYPES.items():
        if schema["type"] == "object" and home_of(name) == name:
            lines += ["<a id=\"%s\"></a>" % type_anchor(name), "", "### %s" % name, "", schema["description"], ""]
            lines += members_table(name)
    return lines


def errors_lines():
    lines = ["Every error has `data` with a stable `kind`. A program decides by `code` and `kind`; `message` and "
             "`hint` are for people, and their words may change.", ""]
    lines += table(["code", "name", "meaning"],
                   [[str(c["code"]), c["name"], c["meaning"]] for c in PROTOCOL["errorCodes"]])
    lines += table(["kind", "code", "meaning", "hint"],
                   [["`%s`" % k["kind"], str(k["code"]), k["meaning"], k["hint"] or ""]
                    for k in PROTOCOL["errorKinds"]])
    lines += ["Every request may get these:", ""]
    lines += table(["code", "kind", "when"],
                   [[str(e["code"]), "`%s`" % e["kind"], e["when"]] for e in PROTOCOL["commonErrors"]])
    wrong = {"code": -32602, "message": "argv: a non-empty list of strings is needed", "data": example_of("ErrorData")}
    return lines + ["```", "< " + message({"id": 9, "error": wrong}), "```", ""]


def paragraphs(name):
    return [line for text in PROTOCOL[name] for line in (text, "")]


def protocol_page():
    of_client = [method for method in METHODS if method["direction"] != "serverToClient"]
    of_server = [method for method in METHODS if method["direction"] == "serverToClient"]
    questions = [method for method in of_server if method["kind"] == "request"]
    events = [method for method in of_server if method["kind"] == "notification"]
    lines = ["<!-- Written by scripts/generate/docs.py from schema/. Do not edit. -->",
             "# The protocol of %s, version %s" % (PROTOCOL["name"], PROTOCOL["protocolVersion"]), "",
             PROTOCOL["description"], "",
             "In the examples `>` marks what the client sends and `<` what the server sends. A `+` marks what goes "
             "beyond the exec-server protocol of Codex, from which the process layer comes: a client of that protocol "
             "can do without it.", ""]
    lines += ["## Overview", ""] + overview_lines()
    lines += ["## Framing and envelope", ""] + paragraphs("framing")
    lines += ["## Handshake and end", ""] + paragraphs("handshake")
    lines += ["## Order", ""] + paragraphs("ordering")
    lines += ["## Cancelling", ""] + paragraphs("cancelling")
    lines += ["## Commands for agents", ""] + paragraphs("exec")
    lines += ["## Approvals", ""] + paragraphs("approvals")
    lines += ["## Limits", ""] + limits_lines()
    lines += ["## Methods", ""]
    for number, method in enumerate(of_client, 1):
        lines += method_lines(method, number)
    lines += ["## Requests of the server", ""]
    for number, method in enumerate(questions, 1):
        # Codex takes no other id than an integer.
        is_codex = method["name"] == "network/policyRequest"
        lines += method_lines(method, number if is_codex else "approval-%d" % number)
    lines += ["## Notifications of the server", ""]
    for method in events:
        lines += method_lines(method, 0)
    lines += ["## Types", ""] + scalar_lines() + other_types_lines()
    lines += ["## Errors", ""] + errors_lines()
    return "\n".join(lines).rstrip("\n") + "\n"


def main(arguments):
    page = ROOT / "docs" / "protocol.md"
    if len(arguments) == 2 and arguments[0] == "--openrpc":
        pathlib.Path(arguments[1]).write_text(openrpc(), encoding="utf-8")
    elif not arguments:
        page.write_text(protocol_page(), encoding="utf-8")
    elif arguments != ["--check"]:
        print("usage: scripts/generate/docs.py [--check | --openrpc FILE]", file=sys.stderr)
        return 2
    elif page.read_text(encoding="utf-8") != protocol_page():
        print("docs/protocol.md is stale: run scripts/generate/docs.py")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

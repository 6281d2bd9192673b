#!/usr/bin/env python3
"""Compares the schema with that of the last release. Last line: N passed, N failed.

usage: scripts/check/compatibility.py
       scripts/check/compatibility.py --release VERSION

Fails on a change that breaks clients of the last release, unless CHANGELOG.md labels it: below the
heading "Breaking" of the coming version, a line names what changed, such as `ReadResult.chunks`,
`process/read` or `denied`. What counts as a break is in schema/README.md.

--release writes schema/released.json anew, for a release that is about to be made. It refuses if the
protocol version has not risen as the changes since the last release want it to.
"""
import json
import re
import sys

from schema_lib import PROTOCOL, ROOT, SCHEMA, TYPES

RELEASED = SCHEMA / "released.json"
CHANGELOG = ROOT / "CHANGELOG.md"
DIRECTIONS = {"clientToServer": ("sent",), "serverToClient": ("received",), "both": ("sent", "received")}
OPPOSITE = {"sent": "received", "received": "sent"}
counts = {"PASS": 0, "FAIL": 0}


def report(what, problems):
    verdict = "FAIL" if problems else "PASS"
    counts[verdict] += 1
    print(f"{verdict} {what}")
    for problem in problems:
        print(f"     {problem}")


# ------------------------------------------------------------------ the snapshot

def snapshot(protocol, types):
    """Returns what clients rely on, without descriptions and examples."""
    return {
        "protocolVersion": protocol["protocolVersion"],
        "methods": {method["name"]: {name: method[name] for name in ("direction", "kind", "params", "result")}
                    for method in protocol["methods"]},
        "errorKinds": {kind["kind"]: kind["code"] for kind in protocol["errorKinds"]},
        "types": {name: type_of(schema) for name, schema in types["$defs"].items()},
    }


def type_of(schema):
    if schema["type"] != "object":
        return form(schema)
    required = schema.get("required", [])
    return {name: dict(form(member), **({"required": True} if name in required else {}))
            for name, member in schema.get("properties", {}).items()}


def form(schema):
    """Returns the type of a value as text, with its values and its default if it has them."""
    if "anyOf" in schema and {"type": "null"} in schema["anyOf"]:
        return dict(form(schema["anyOf"][0]), null=True)
    if "anyOf" in schema:  # a text or an object
        values = [value for part in schema["anyOf"] for value in part.get("enum", [])]
        names = [part["$ref"].split("/")[-1] for part in schema["anyOf"] if "$ref" in part]
        return {"type": f"string or {' or '.join(names)}", "values": values}
    if "$ref" in schema:
        found = {"type": schema["$ref"].split("/")[-1]}
    else:
        kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
        found = {"type": kinds[0]}
        if kinds[0] == "array":
            found["type"] = f"list of {brief(form(schema['items']))}"
        elif kinds[0] == "object" and "additionalProperties" in schema:
            found["type"] = f"map of {brief(form(schema['additionalProperties']))}"
        if "null" in kinds:
            found["null"] = True
        if "enum" in schema:
            found["values"] = [value for value in schema["enum"] if value is not None]
    if "default" in schema:
        found["default"] = schema["default"]
    return found


def brief(value):
    values = f" {'|'.join(map(str, value['values']))}" if "values" in value else ""
    return value["type"] + values + (" or null" if value.get("null") else "")


# ------------------------------------------------------------------ the comparison

def uses(shot):
    """Returns for each type whether clients send it, receive it, or both."""
    found = {}

    def mark(text, way):
        for name in re.findall(r"\w+", text or ""):
            if name in shot["types"] and way not in found.setdefault(name, set()):
                found[name].add(way)
                for member in members_of(shot["types"][name]).values():
                    mark(member["type"], way)

    for method in shot["methods"].values():
        for way in DIRECTIONS[method["direction"]]:
            mark(method["params"], way)
            mark(method["result"], OPPOSITE[way])
    return found


def is_plain(value):
    """Returns True for a type that is no object with members."""
    return isinstance(value.get("type"), str)


def members_of(value):
    return {"": value} if is_plain(value) else value


def breaks(old, new):
    """Yields (what, how) for each change after which a client of `old` may fail."""
    for name, method in old["methods"].items():
        if name not in new["methods"]:
            yield name, "is gone"
        elif method != new["methods"][name]:
            yield name, "has another direction, kind, or types"
    for kind, code in old["errorKinds"].items():
        if new["errorKinds"].get(kind) != code:
            yield kind, f"is no error kind with the code {code} any more"
    ways = uses(old)
    for name, value in old["types"].items():
        if name not in new["types"]:
            yield name, "is gone"
        elif is_plain(value) != is_plain(new["types"][name]):
            yield name, "is another kind of type"
        else:
            yield from type_breaks(name, value, new["types"][name], ways.get(name, set()))


def type_breaks(name, old, new, ways):
    before, after = members_of(old), members_of(new)
    for member, value in before.items():
        what = f"{name}.{member}" if member else name
        if member not in after:
            yield what, "is gone"
        else:
            yield from ((what, how) for how in member_breaks(value, after[member], ways))
    if "sent" in ways:
        yield from ((f"{name}.{member}", "is new and required") for member in after
                    if member not in before and after[member].get("required"))


def member_breaks(old, new, ways):
    if old["type"] != new["type"]:
        yield f"was {old['type']} and is {new['type']}"
    if gone := [value for value in old.get("values", []) if value not in new.get("values", [value])]:
        yield f"has no value {', '.join(map(str, gone))} any more"
    if "values" in new and "values" not in old:
        yield "had any value and has a few"
    if old.get("default") != new.get("default") and "default" in old:
        yield "has another default"
    if "sent" in ways and new.get("required") and not old.get("required"):
        yield "was optional and is required"
    if "received" in ways and old.get("required") and not new.get("required"):
        yield "was always there and may be absent"
    if "sent" in ways and old.get("null") and not new.get("null"):
        yield "could be null and cannot"
    if "received" in ways and new.get("null") and not old.get("null"):
        yield "could not be null and can"


def labels(changelog):
    """Returns what the coming version's section names as breaking, in `code`."""
    coming = re.split(r"^## ", changelog, flags=re.MULTILINE)[1]
    parts = re.split(r"^### ", coming, flags=re.MULTILINE)[1:]
    return {name for part in parts if part.startswith("Breaking\n") for name in re.findall(r"`([^`]+)`", part)}


def unlabelled(old, new, changelog):
    known = labels(changelog)
    return [f"{what} {how}" for what, how in breaks(old, new) if what not in known]


# ------------------------------------------------------------------ a release

def version_problem(old, new):
    """Returns why the protocol version is wrong for the changes, or None."""
    before, after = (tuple(map(int, shot["protocolVersion"].split("."))) for shot in (old, new))
    if any(breaks(old, new)):
        return None if after[0] > before[0] else "a break wants a larger major protocol version"
    without = [dict(shot, protocolVersion="") for shot in (old, new)]
    if without[0] != without[1] and after <= before:
        return "what was added wants a larger minor protocol version"
    return "the protocol version has become smaller" if after < before else None


def write_release(version):
    old, new = json.loads(RELEASED.read_text(encoding="utf-8")), snapshot(PROTOCOL, TYPES)
    # What was never released may change without a new version.
    problem = None if old["release"].startswith("before ") else version_problem(old, new)
    if problem:
        sys.exit(f"compatibility: {problem}")
    rows = [f'  "release": {json.dumps(version)}', f'  "protocolVersion": {json.dumps(new["protocolVersion"])}']
    for part in ("methods", "errorKinds", "types"):
        inner = [f"    {json.dumps(name)}: {json.dumps(value)}" for name, value in new[part].items()]
        rows.append(f"  {json.dumps(part)}: {{\n" + ",\n".join(inner) + "\n  }")
    RELEASED.write_text("{\n" + ",\n".join(rows) + "\n}\n", encoding="utf-8")
    return 0


# ------------------------------------------------------------------ tests of this script

def tiny(**changes):
    """Returns a snapshot with one request and one notification."""
    shot = {
        "protocolVersion": "1.0",
        "methods": {"a/do": {"direction": "clientToServer", "kind": "request", "params": "In", "result": "Out"},
                    "a/note": {"direction": "serverToClient", "kind": "notification", "params": "Note",
                               "result": "null"}},
        "errorKinds": {"denied": -32000},
        "types": {"In": {"must": {"type": "string", "required": True}, "may": {"type": "Word", "null": True},
                         "size": {"type": "integer", "default": 1}},
                  "Out": {"code": {"type": "integer", "required": True}, "rows": {"type": "list of Row"}},
                  "Row": {"text": {"type": "string", "required": True}},
                  "Note": {"state": {"type": "string", "values": ["on", "off"]}},
                  "Word": {"type": "string", "values": ["x", "y"]}},
    }
    shot.update(changes)
    return shot


def tiny_with(type_name, **members):
    types = tiny()["types"]
    types[type_name] = {name: value for name, value in dict(types[type_name], **members).items() if value}
    return tiny(types=types)


NO_BREAKS = [
    ("nothing", tiny()),
    ("a new method", tiny(methods=dict(tiny()["methods"], new=tiny()["methods"]["a/do"]))),
    ("a new optional member that is sent", tiny_with("In", new={"type": "string"})),
    ("a new member that is received", tiny_with("Row", new={"type": "string", "required": True})),
    ("a sent member that may now be absent", tiny_with("In", must={"type": "string"})),
    ("a sent member that may now be null", tiny_with("In", must={"type": "string", "required": True, "null": True})),
    ("a received member that is now always there", tiny_with("Out", rows={"type": "list of Row", "required": True})),
    ("a new value", tiny_with("Note", state={"type": "string", "values": ["on", "off", "new"]})),
    ("a new error kind", tiny(errorKinds={"denied": -32000, "new": -32001})),
]
BREAKS = [
    ("a/note", "a method that is gone", tiny(methods={"a/do": tiny()["methods"]["a/do"]})),
    ("a/do", "a result of another type",
     tiny(methods=dict(tiny()["methods"], **{"a/do": dict(tiny()["methods"]["a/do"], result="Row")}))),
    ("denied", "another code", tiny(errorKinds={"denied": -32001})),
    ("In.may", "a member that is gone", tiny_with("In", may=None)),
    ("Row.text", "another type, far down", tiny_with("Row", text={"type": "integer", "required": True})),
    ("In.may", "an optional member that is required", tiny_with("In", may={"type": "Word", "null": True,
                                                                          "required": True})),
    ("In.new", "a new required member that is sent", tiny_with("In", new={"type": "string", "required": True})),
    ("In.may", "a sent member that cannot be null any more", tiny_with("In", may={"type": "Word"})),
    ("In.size", "another default", tiny_with("In", size={"type": "integer", "default": 2})),
    ("Out.code", "a received member that may be absent", tiny_with("Out", code={"type": "integer"})),
    ("Out.code", "a received member that may be null", tiny_with("Out", code={"type": "integer", "required": True,
                                                                             "null": True})),
    ("Note.state", "a value that is gone", tiny_with("Note", state={"type": "string", "values": ["on"]})),
    ("Word", "a value of a plain type that is gone",
     tiny(types=dict(tiny()["types"], Word={"type": "string", "values": ["x"]}))),
    ("Row", "a type that became plain", tiny(types=dict(tiny()["types"], Row={"type": "string"}))),
]
LOG = "# Changelog\n\n## Unreleased\n\n### Breaking\n\n- `{}` is different.\n\n## 0.1.0\n\n### Breaking\n\n- `In.may`\n"


def check_self():
    for what, new in NO_BREAKS:
        report(f"takes {what}", unlabelled(tiny(), new, LOG.format("x")))
    for name, what, new in BREAKS:
        found = unlabelled(tiny(), new, LOG.format("x"))
        is_found = len(found) == 1 and found[0].startswith(f"{name} ")
        report(f"refuses {what}", [] if is_found else [f"found {found}"])
        report(f"takes {what} with a label", unlabelled(tiny(), new, LOG.format(name)))
    added = tiny_with("In", new={"type": "string"})
    broken = tiny_with("In", may=None)
    for shot, version, is_right in ((tiny(), "1.0", True), (added, "1.0", False), (added, "1.1", True),
                                    (broken, "1.1", False), (broken, "2.0", True), (tiny(), "0.9", False)):
        problem = version_problem(tiny(), dict(shot, protocolVersion=version))
        report(f"{'takes' if is_right else 'refuses'} the protocol version {version}",
               [] if is_right == (problem is None) else [str(problem)])


def main():
    if len(sys.argv) == 3 and sys.argv[1] == "--release":
        return write_release(sys.argv[2])
    if len(sys.argv) > 1:
        sys.exit(__doc__)
    old = json.loads(RELEASED.read_text(encoding="utf-8"))
    report(f"no break since {old['release']} is without a label",
           unlabelled(old, snapshot(PROTOCOL, TYPES), CHANGELOG.read_text(encoding="utf-8")))
    check_self()
    print("%d passed, %d failed" % (counts["PASS"], counts["FAIL"]))
    return 1 if counts["FAIL"] else 0


if __name__ == "__main__":
    sys.exit(main())

"""Validates wire messages and transcripts against schema/.

For tests: keep one dict per connection and pass every line to validate_line in the order in which
it was sent or received. An answer, of either side, is then checked against the result type of its
request. Or pass only the received lines, with a dict that maps the id of each open request to its
method.
"""
import base64
import json
import pathlib
import re

import jsonschema
from jsonschema import validators

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCHEMA = ROOT / "schema"

TYPES = json.loads((SCHEMA / "types.json").read_text(encoding="utf-8"))
PROTOCOL = json.loads((SCHEMA / "protocol.json").read_text(encoding="utf-8"))
METHODS = {method["name"]: method for method in PROTOCOL["methods"]}
KIND_CODES = {kind["kind"]: kind["code"] for kind in PROTOCOL["errorKinds"]}

PARSE_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND, INVALID_PARAMS = -32700, -32600, -32601, -32602
BAD_INPUT = (PARSE_ERROR, INVALID_REQUEST, INVALID_PARAMS)
SENDERS = {"client": ">", "server": "<"}
DIRECTIONS = {">": "clientToServer", "<": "serverToClient"}


class Placeholder:
    """A value that a transcript does not spell out ("$name"). It fits every schema."""

    def __init__(self, name):
        self.name = name


class PartOfText(str):
    """A part of the text that a transcript expects ("message*"). Only its type can be checked."""


# ------------------------------------------------------------------ validators

def _is_integer(_checker, value):
    # Stricter than JSON Schema, where 1.0 is an integer: the server refuses fractions there.
    return isinstance(value, int) and not isinstance(value, bool)


def _missing(names, value, schema, forgiven):
    members = schema.get("properties", {})
    for name in names:
        if name not in value and not (forgiven and members.get(name, {}).get("x-volatile")):
            yield jsonschema.ValidationError("'%s' is missing" % name)


def _required(validator, names, value, schema):
    if validator.is_type(value, "object"):
        yield from _missing(names, value, schema, forgiven=False)


def _required_in_transcript(validator, names, value, schema):
    if validator.is_type(value, "object"):
        yield from _missing(names, value, schema, forgiven=True)


def _nothing(*_):
    return ()


NEEDS_WHOLE_TEXT = ("enum", "pattern", "minLength")


def _skip_unknown(name, keyword):
    def check(validator, argument, value, schema):
        is_unknown = isinstance(value, Placeholder) or (isinstance(value, PartOfText) and name in NEEDS_WHOLE_TEXT)
        return () if is_unknown else keyword(validator, argument, value, schema)
    return check


def _make(**keywords):
    base = jsonschema.Draft202012Validator
    return validators.extend(
        base,
        validators={name: _skip_unknown(name, check)
                    for name, check in dict(base.VALIDATORS, **keywords).items()},
        type_checker=base.TYPE_CHECKER.redefine("integer", _is_integer))


# A line on the wire; a whole line of a transcript; a line of a transcript that has "...".
VALIDATORS = {
    "wire": _make(required=_required),
    "transcript": _make(required=_required_in_transcript),
    "partial": _make(required=_nothing, minItems=_nothing),
}
_made = {}


def problems_with(value, type_name, mode="wire"):
    """Returns the problems of a value of a type in types.json ("ReadResult", "x-envelope/Request").
    """
    if (type_name, mode) not in _made:
        where = type_name if "/" in type_name else "$defs/" + type_name
        schema = dict(TYPES, **{"$ref": "#/" + where})
        _made[type_name, mode] = VALIDATORS[mode](schema)
    return ["%s: %s" % (_place(type_name, error.absolute_path), _short(error.message))
            for error in _made[type_name, mode].iter_errors(value)]


def _place(type_name, path):
    steps = ["[%d]" % step if isinstance(step, int) else "." + step for step in path]
    return type_name.split("/")[-1] + "".join(steps)


def _short(text):
    return text if len(text) <= 200 else text[:120] + " … " + text[-60:]


# ------------------------------------------------------------------ one line

def id_of(message):
    """Returns the id of a message, or None if it has no valid id."""
    value = message.get("id") if isinstance(message, dict) else None
    return None if isinstance(value, Placeholder) or problems_with(value, "RequestId") else value


def validate_line(direction, msg, pending, mode="wire"):
    """Returns the list of problems of one message; empty when it fits the schema.

    direction: ">" or "client" for what the client sends, "<" or "server" for what the server sends.
    msg:       the parsed message, or its text.
    pending:   the open requests of the connection, id to method (or methods, if an id is used twice);
               filled by requests, emptied by answers. The key of a request of the server is
               ("<", id), because the two sides choose their ids independently.
    """
    direction = SENDERS.get(direction, direction)
    if isinstance(msg, (str, bytes)):
        try:
            msg = strict_json(msg)
        except ValueError as error:
            return ["not JSON: %s" % error]
    if not isinstance(msg, dict):
        return ["not an object"]
    problems = []
    if direction == "<" and (mode == "wire" or "jsonrpc" in msg) and msg.get("jsonrpc") != "2.0":
        problems.append('the server always sends "jsonrpc":"2.0"')
    if "method" in msg:
        return problems + _call_problems(direction, msg, pending, mode)
    key = _question_key(msg) if direction == ">" else id_of(msg)
    if direction == ">" and key not in pending:
        return problems + _stray_response_problems(msg)
    return problems + _reply_problems(direction, msg, key, pending, mode)


def _question_key(msg):
    """The key in `pending` for a request of the server. In a transcript the id may be a name."""
    value = msg.get("id")
    return "<", value.name if isinstance(value, Placeholder) else id_of(msg)


def _methods(pending, key):
    methods = pending.get(key, [])
    return methods if isinstance(methods, list) else [methods]


def _call_problems(direction, msg, pending, mode):
    key = id_of(msg) if direction == ">" else _question_key(msg)
    if "id" in msg and key is not None:
        pending[key] = _methods(pending, key) + [msg["method"]]
    kind = "request" if "id" in msg else "notification"
    problems = problems_with(msg, "x-envelope/" + kind.capitalize(), mode)
    if problems:
        return problems
    method = METHODS.get(msg["method"])
    if method is None or method["direction"] not in (DIRECTIONS[direction], "both"):
        # Unknown notifications from the client are allowed: the server ignores them.
        ignored = kind == "notification" and direction == ">"
        return [] if ignored else ["no %s '%s' in this direction" % (kind, msg["method"])]
    if method["kind"] != kind:
        return ["'%s' is a %s" % (msg["method"], method["kind"])]
    if method["params"] is None:
        return []
    params = msg.get("params")
    return problems_with({} if params in (None, []) else params, method["params"], mode)


def _stray_response_problems(msg):
    # The server ignores an answer without a request, so only its form can be checked.
    if isinstance(msg.get("error"), dict) and "result" not in msg:
        return problems_with(msg.get("id"), "RequestId")
    return problems_with(msg, "x-envelope/Response")


def _reply_problems(direction, msg, key, pending, mode):
    methods = _methods(pending, key)
    method = METHODS.get(methods[0]) if methods and isinstance(methods[0], str) else None
    if methods[1:]:
        pending[key] = methods[1:]
    else:
        pending.pop(key, None)
    if direction == ">" and "error" in msg:  # the client chooses its errors
        return ["a result and an error"] if "result" in msg else _stray_response_problems(msg)
    if "error" in msg:
        problems = problems_with(msg, "x-envelope/ErrorResponse", mode)
        return problems or _error_problems(msg["error"])
    problems = problems_with(msg, "x-envelope/Response", mode)
    if problems or isinstance(msg.get("result"), Placeholder):
        return problems
    if method is None:
        return ["a reply to no known request"]
    if mode == "partial" and "result" not in msg:
        return []
    if method["result"] == "null":
        return [] if msg["result"] is None else ["the result of '%s' is null" % method["name"]]
    return problems_with(msg["result"], method["result"], mode)


def _error_problems(error):
    code = error.get("code") if isinstance(error, dict) else None
    data = error.get("data") if isinstance(error, dict) else None
    kind = data.get("kind") if isinstance(data, dict) else None
    if not isinstance(kind, str) or isinstance(kind, PartOfText):
        return []
    if kind not in KIND_CODES:
        return ["no error kind '%s'" % kind]
    if isinstance(code, int) and code != KIND_CODES[kind]:
        return ["errors of kind '%s' have code %d, not %d" % (kind, KIND_CODES[kind], code)]
    return []


# ------------------------------------------------------------------ transcripts

ELLIPSIS = "\x01..."  # no member or text of a message has this name
NAME = re.compile(r"\$(?:[A-Za-z_][A-Za-z0-9_]*|(?:dir|dirUri)/.*)\Z")


def strict_json(text):
    """Parses JSON; refuses a member that occurs twice, and NaN and Infinity."""
    def members(pairs):
        value = dict(pairs)
        if len(value) != len(pairs):
            raise ValueError("a member occurs twice")
        return value

    def constant(name):
        raise ValueError(name + " is not JSON")
    if isinstance(text, bytes):
        text = text.decode("utf-8")
    return json.loads(text, object_pairs_hook=members, parse_constant=constant)


def spell_out_ellipses(text):
    """Turns a line of a transcript into JSON: ... becomes a member or an element that can be
    parsed.
    """
    pieces = re.split(r'("(?:[^"\\]|\\.)*"|[\[\]{}]|\.\.\.)', text)
    inside = []
    for i, piece in enumerate(pieces):
        if piece in ("{", "["):
            inside.append(piece)
        elif piece in ("}", "]") and inside:
            inside.pop()
        elif piece == "..." and inside:
            pieces[i] = json.dumps(ELLIPSIS) + (":null" if inside[-1] == "{" else "")
    return "".join(pieces)


def read_message(text, direction="<"):
    """Returns the message of a transcript line, and whether it contains "..."."""
    partial = False

    def plain(value):
        nonlocal partial
        if isinstance(value, dict):
            partial = partial or ELLIPSIS in value
            members = [plain_member(*pair) for pair in value.items() if pair[0] != ELLIPSIS]
            if len(dict(members)) != len(members):
                raise ValueError("a member occurs twice, with and without ~ or *")
            return dict(members)
        if isinstance(value, list):
            if ELLIPSIS in value[:-1]:
                raise ValueError("... is not at the end of its array")
            partial = partial or ELLIPSIS in value
            return [plain(element) for element in value if element != ELLIPSIS]
        if isinstance(value, str) and NAME.match(value):
            return Placeholder(value)
        return value

    def plain_member(name, value):
        is_part = name.endswith("*") and direction == "<"
        if not name.endswith("~") and not is_part:
            return name, plain(value)
        if not isinstance(value, str):
            raise ValueError("'%s' needs text" % name)
        if is_part:
            return name[:-1], PartOfText(value)
        return name[:-1], base64.b64encode(value.encode("utf-8")).decode("ascii")

    message = plain(strict_json(spell_out_ellipses(text)))
    return message, partial


class Line:
    """One > or < line of a transcript."""

    def __init__(self, number, direction, text):
        self.number, self.direction = number, direction
        self.message, self.partial, self.syntax = None, False, None
        try:
            self.message, self.partial = read_message(text, direction)
        except (ValueError, RecursionError) as error:
            self.syntax = str(error)
        self.id = id_of(self.message) if self.syntax is None else _id_of_bad(text)
        self.answers = None  # for a < line: the > line that it answers

    def is_reply(self):
        return self.direction == "<" and isinstance(self.message, dict) and "method" not in self.message

    def error_code(self):
        error = self.message.get("error") if isinstance(self.message, dict) else None
        return error.get("code") if isinstance(error, dict) else None

    def mode(self):
        return "partial" if self.partial else "transcript"


def _id_of_bad(text):
    try:
        return id_of(json.loads(text))
    except (ValueError, RecursionError):
        return None


def check_transcript(text):
    """Returns (line number, problem) for every line that does not fit the schema."""
    found, lines = [], []
    for number, line in enumerate(text.split("\n"), 1):
        if line.startswith(("> ", "< ")):
            lines.append(Line(number, line[0], line[2:]))
        elif line.strip() and line[0] not in "#!":
            found.append((number, "a line begins with >, <, ! or # and a space"))
    pending = {}
    for at, line in enumerate(lines):
        if line.syntax is None:
            problems = validate_line(line.direction, line.message, pending, line.mode())
        else:
            problems = [line.syntax]
        if problems and line.direction == ">" and _was_refused(line, lines[at + 1:]):
            problems = []
        found += [(line.number, problem) for problem in problems]
    return sorted(found)


def _was_refused(sent, later):
    """Returns True for a line that is wrong on purpose: the transcript shows the error it gets."""
    for wanted in ([None] if sent.id is None else [sent.id, None]):
        for reply in later:
            if reply.is_reply() and reply.answers is None and reply.id == wanted:
                if wanted is None and reply.error_code() not in BAD_INPUT:
                    continue
                reply.answers = sent
                return reply.error_code() in BAD_INPUT + (METHOD_NOT_FOUND,)
    return False

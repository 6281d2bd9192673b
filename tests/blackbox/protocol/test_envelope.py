"""Valid messages, and the server's answers to everything else."""

import os
import sys

sys.path.insert(0, os.path.abspath(__file__ + "/../../.."))
from support.client import check, equal
from support.runner import main, test

MIB = 1 << 20


def raw_request(server, text, message_id, method="environment/status"):
    """Sends a request as written. Returns its answer."""
    server.expect(message_id, method)
    server.send_bytes(text.encode() + b"\n")
    return server.reply(message_id)


@test
def a_line_that_is_not_json_is_a_parse_error_and_life_goes_on(scene):
    server = scene.server()
    lines = [
        b"{",
        b"hello",
        b"{'id': 1}",
        b'{"id": 1, "method": "environment/status"} and more',
        b'{"id": 1, "method": "environment/status"}{"id": 2, "method": "environment/status"}',
        b'{"id": 01, "method": "environment/status"}',
        b'{"id": 1, "method": "environment/status",}',
        b'{"id": NaN, "method": "environment/status"}',
        b'{"id": 1, "method": "environment\tstatus"}',
        b'{"id": 1, "method": "\\q"}',
        b'{"id": 1, "method": "\\ud800"}',
        b'{"id": 1, "method": "environment/status"',
        b"\0",
    ]
    for line in lines:
        server.send_bytes(line + b"\n")

        error = server.next_error()

        equal((error["code"], error["data"]["kind"]), (-32700, "parse"), "answer to %r" % line)
        server.answers()


@test
def json_that_is_no_message_is_an_invalid_request(scene):
    server = scene.server()
    for line in (
        b"5",
        b"null",
        b"true",
        b'"text"',
        b"{}",
        b'{"params": {}}',
        b'{"method": 5}',
        b'{"method": null}',
    ):
        server.send_bytes(line + b"\n")

        error = server.next_error()

        equal(
            (error["code"], error["data"]["kind"]),
            (-32600, "invalidRequest"),
            "answer to %r" % line,
        )
    server.answers()


@test
def a_batch_is_refused_once_whatever_it_holds(scene):
    server = scene.server()
    for line in (b"[]", b'[{"id": 5, "method": "environment/status"}]', b"[1, 2, 3]", b"[[]]"):
        server.send_bytes(line + b"\n")

        error = server.next_error()

        equal(
            (error["code"], error["data"]["kind"]),
            (-32600, "invalidRequest"),
            "answer to %r" % line,
        )
    server.answers()
    equal(server.errors, [], "further errors")


@test
def what_is_no_message_is_answered_under_no_id(scene):
    """The whole line is refused, so the client does not wait for an answer under the id in it."""
    server = scene.server()
    for text in ('{"id": 71, "method": 5}', '{"id": "x", "method": null}', '{"id": 77}'):
        server.send_bytes(text.encode() + b"\n")

        error = server.next_error()

        equal((error["code"], error["data"]["kind"]), (-32600, "invalidRequest"), text)


@test
def an_id_that_is_neither_string_nor_64_bit_integer_is_refused(scene):
    server = scene.server()
    for written in (
        "1.5",
        "1.0",
        "1e2",
        "null",
        "true",
        "[]",
        "{}",
        "9223372036854775808",
        "-9223372036854775809",
        "1" * 30,
    ):
        server.send_bytes(b'{"id": %s, "method": "environment/status"}\n' % written.encode())

        error = server.next_error()

        equal(
            (error["code"], error["data"]["kind"]),
            (-32600, "invalidRequest"),
            "answer to the id " + written,
        )
    server.answers()


@test
def a_number_beyond_64_bits_concerns_only_the_member_that_has_it(scene):
    server = scene.server()
    for message_id, number in enumerate(
        ("18446744073709551616", "-9223372036854775809", "1e400", "-1E+999", "1" * 400), 900
    ):
        for text in (
            '"id": %d, "method": "environment/status", "params": {"unknown": [%s, "x"]}',
            '"unknown": %2$s, "method": "environment/status", "id": %1$d',
        ):
            text = text.replace("%2$s", "%s").replace("%1$d", "%d")
            values = (message_id, number) if text.startswith('"id"') else (number, message_id)
            server.expect(message_id)
            server.send_bytes(("{" + text % values + "}\n").encode())
            equal(server.result(message_id), {"status": "ready"}, "answer beside " + number)
    server.expect(800, "process/read")
    server.send_bytes(
        b'{"id":800,"method":"process/read","params":{"processId":"p","waitMs":1e400}}\n'
    )
    equal(server.error(800, -32602)["data"]["path"], "waitMs", "the member that is wrong")


@test
def methods_without_parameters_ignore_parameters(scene):
    server = scene.server()
    for method in (
        "environment/status",
        "environment/info",
        "environment/list",
        "process/list",
        "approvals/list",
        "shutdown",
    ):
        for params in ({"x": 1}, {}, [], None):
            if method != "shutdown" or params:
                server.call(method, params)


@test
def an_id_comes_back_as_the_same_value(scene):
    server = scene.server()
    for message_id in (
        0,
        -1,
        1,
        "1",
        "",
        "\0",
        "\u00e9\u2028\U0001f600",
        '"\\\n',
        2**63 - 1,
        -(2**63),
        "x" * 10000,
    ):
        reply = server.reply(server.request("environment/status", message_id=message_id))
        check(
            reply["id"] == message_id and type(reply["id"]) is type(message_id),
            "%r came back as %r" % (message_id, reply["id"]),
        )


@test
def a_member_of_the_envelope_given_twice_is_refused(scene):
    server = scene.server()
    for text in (
        '{"id": 900, "id": 901, "method": "environment/status"}',
        '{"id": 902, "method": "environment/status", "method": "environment/info"}',
        '{"id": 903, "method": "environment/status", "params": {}, "params": {}}',
        '{"id": 904, "method": "environment/status", "\\u006dethod": "environment/info"}',
    ):
        for message_id in (900, 901, 902, 903, 904):
            server.expect(message_id)
        before = len(server.replies)
        server.send_bytes(text.encode() + b"\n")

        server.wait(lambda: server.errors or len(server.replies) > before, "an answer to " + text)

        late = [server.replies[key] for key in list(server.replies)[before:]]
        error = server.errors.pop()["error"] if server.errors else late[0].get("error")
        check(error and error["code"] == -32600, "%s was answered %s" % (text, error or late))
        for message_id in (900, 901, 902, 903, 904):
            server.replies.pop(str(message_id), None)
    server.answers()


@test
def a_line_that_is_not_utf8_is_a_parse_error_and_life_goes_on(scene):
    server = scene.server()
    for bad in (
        b"\xff",
        b"\xc3",
        b"\xc0\xaf",
        b"\xed\xa0\x80",
        b"\xf8\x88\x80\x80\x80",
        b"\x80",
        b"\xf4\x90\x80\x80",
    ):
        server.send_bytes(b'{"id": 1, "method": "environment/status", "note": "' + bad + b'"}\n')

        error = server.next_error()

        equal((error["code"], error["data"]["kind"]), (-32700, "parse"), "answer to %r" % bad)
        server.answers()


@test
def a_byte_order_mark_does_not_end_the_conversation(scene):
    server = scene.server()
    server.expect(77)
    server.send_bytes(b'\xef\xbb\xbf{"id": 77, "method": "environment/status"}\n')

    server.wait(
        lambda: server.errors or server.is_answered(77),
        "an answer to a line with a byte order mark",
    )

    server.errors.clear()
    server.answers()


@test(alone=True)
def a_line_beyond_64_mib_is_one_error_and_is_not_kept(scene):
    server = scene.server()
    server.answers()
    before = peak = server.resident_bytes()
    block = b"x" * MIB
    for _ in range(200):
        server.send_bytes(block)
        peak = max(peak, server.resident_bytes())
    server.send_bytes(b"\n")

    error = server.next_error()

    equal(error["data"]["kind"], "limit", "kind")
    server.answers()
    equal(server.errors, [], "further errors")
    if not server.is_sanitized():
        check(peak - before < 140 * MIB, "memory grew by %d MiB" % ((peak - before) // MIB))
        check(
            server.resident_bytes() - before < 16 * MIB,
            "%d MiB were kept" % ((server.resident_bytes() - before) // MIB),
        )


@test(alone=True)
def a_line_just_beyond_64_mib_is_refused_and_one_just_below_is_served(scene):
    server = scene.server()
    empty = b'{"id": 501, "method": "environment/status", "pad": ""}'
    server.expect(501)
    server.send_bytes(empty[:-2] + b"p" * (64 * MIB - len(empty) - 1) + b'"}\n')
    equal(server.result(501), {"status": "ready"}, "answer to a line of just under 64 MiB")

    server.send_bytes(empty[:-2] + b"p" * (65 * MIB) + b'"}\n')

    equal(server.next_error()["data"]["kind"], "limit", "kind")
    server.answers()


def nested(depth):
    """Returns a request whose deepest value is at this depth; the message itself is at depth 1."""
    return '{"id": %%d, "method": "environment/status", "extra": %s%s}' % (
        "[" * (depth - 1),
        "]" * (depth - 1),
    )


@test
def nesting_of_64_is_served_and_of_65_is_over_the_limit(scene):
    server = scene.server()
    equal(
        raw_request(server, nested(64) % 601, 601)["result"],
        {"status": "ready"},
        "answer at depth 64",
    )

    server.send_bytes((nested(65) % 602).encode() + b"\n")
    equal(server.next_error()["data"]["kind"], "limit", "kind at depth 65")

    server.send_bytes(b"[" * 1000000 + b"\n")
    equal(server.next_error()["data"]["kind"], "limit", "kind at depth 1000000")
    server.answers()


def with_values(count, message_id):
    """Returns a request with this number of JSON values: the message, its id, its method, a list,
    its elements.
    """
    return '{"id": %d, "method": "environment/status", "extra": [%s]}' % (
        message_id,
        ",".join(["0"] * (count - 4)),
    )


@test
def as_many_values_as_allowed_are_served_and_one_more_is_over_the_limit(scene):
    server = scene.server()
    equal(
        raw_request(server, with_values(262144, 611), 611)["result"],
        {"status": "ready"},
        "answer to 262144 values",
    )

    server.send_bytes(with_values(262145, 612).encode() + b"\n")

    equal(server.next_error()["data"]["kind"], "limit", "kind")
    server.answers()


@test
def brackets_and_commas_inside_strings_are_not_counted(scene):
    server = scene.server()
    text = '{"id": 620, "method": "environment/status", "extra": "%s"}' % ('[{,:\\"' * 100000)
    equal(raw_request(server, text, 620)["result"], {"status": "ready"}, "answer")


@test
def members_that_nobody_knows_are_ignored(scene):
    server = scene.server()
    text = (
        '{"id": 31, "method": "process/terminate", "x": [1], "trace": {"traceparent": "00-1"}, %s}'
    )
    text %= '"params": {"processId": "p", "future": {"a": null}}'
    equal(
        raw_request(server, text, 31, "process/terminate").get("result"), {"running": False}, text
    )

    server.start(
        "p",
        ["true"],
        metadata={"threadId": "t"},
        shellSnapshot={"scopeId": "s"},
        future=[1, {"a": None}],
    )

    server.wait_closed("p")


@test
def the_version_member_may_be_missing_or_anything(scene):
    server = scene.server()
    for number, version in enumerate(('"2.0"', '"1.0"', "5", "null", "[]")):
        text = '{"jsonrpc": %s, "id": %d, "method": "environment/status"}' % (version, 40 + number)
        equal(
            raw_request(server, text, 40 + number).get("result"),
            {"status": "ready"},
            "answer to version " + version,
        )
    equal(
        raw_request(server, '{"id": 50, "method": "environment/status"}', 50).get("result"),
        {"status": "ready"},
        "answer",
    )


@test
def absent_null_and_empty_params_are_alike(scene):
    server = scene.server()
    for number, params in enumerate(("", ', "params": null', ', "params": []', ', "params": {}')):
        text = '{"id": %d, "method": "process/list"%s}' % (60 + number, params)
        equal(
            raw_request(server, text, 60 + number, "process/list").get("result"),
            {"processes": []},
            "answer to '%s'" % params,
        )


@test
def params_that_are_no_object_are_refused(scene):
    server = scene.server()
    for number, params in enumerate(("5", '"text"', "true", "[1]")):
        text = '{"id": %d, "method": "process/read", "params": %s}' % (70 + number, params)
        error = raw_request(server, text, 70 + number).get("error")
        check(error and error["code"] in (-32600, -32602), "params %s: %s" % (params, error))
    server.answers()


@test
def answers_to_questions_nobody_asked_are_ignored(scene):
    server = scene.server()
    for line in (
        b'{"id": 1, "result": {}}',
        b'{"id": "q", "error": {"code": 1, "message": "m"}}',
        b'{"id": null, "result": null}',
    ):
        server.send_bytes(line + b"\n")
    server.answers()
    equal(server.errors, [], "errors")


@test
def notifications_are_never_answered(scene):
    server = scene.server()
    for method in (
        "no/such",
        "$/future",
        "environment/status",
        "process/list",
        "process/read",
        "initialize",
        "",
        "initialized",
    ):
        server.notify(method, {"processId": 5})
    server.send_bytes(b'{"method": "process/start", "params": 5}\n{"method": "no/such"}\n')
    server.answers()
    server.answers()
    equal((server.errors, server.processes), ([], {}), "errors and processes")


@test
def line_ends_and_blank_lines_are_a_matter_of_taste(scene):
    server = scene.server()
    for number, text in enumerate((b"%s\r\n", b"\n\n\n%s\n\n", b"  %s  \n", b"\r\n\t\r\n%s\r\n")):
        server.expect(80 + number)
        server.send_bytes(text % (b'{"id": %d, "method": "environment/status"}' % (80 + number)))
        equal(server.result(80 + number), {"status": "ready"}, "answer to %r" % text)
    equal(server.errors, [], "errors")


@test
def a_last_line_without_a_newline_is_answered(scene):
    for _ in range(10):
        server = scene.server()
        server.expect(90)
        server.send_bytes(b'{"id": 90, "method": "environment/status"}')
        equal(server.end(), 0, "exit status")
        server.verify()
        check(server.is_answered(90), "no answer to the last line")


@test
def an_unknown_method_and_wrong_params_are_told_apart(scene):
    server = scene.server()
    server.refused("no/such", {}, -32601, "unknownMethod")
    server.refused("initialized", {}, -32601, "unknownMethod")
    server.refused("process/outputs", {}, -32601, "unknownMethod")
    server.refused("process/read", {}, -32602, "invalidParams")


@test
def wrong_params_are_named_by_their_path(scene):
    server = scene.server()
    good = server.start_params("p", ["true"])
    wrong = [
        ({"argv": ["true", 5]}, "argv"),
        ({"argv": []}, "argv"),
        ({"argv": "true"}, "argv"),
        ({"env": {"A": 1}}, "env"),
        ({"env": []}, "env"),
        ({"tty": "yes"}, "tty"),
        ({"cwd": 7}, "cwd"),
        ({"processId": 7}, "processId"),
        ({"pipeStdin": 1}, "pipeStdin"),
        ({"size": {"rows": 0, "cols": 80}}, "rows"),
        ({"size": {"rows": 24, "cols": 65536}}, "cols"),
        ({"size": {"rows": 24}}, "cols"),
        ({"timeoutMs": -1}, "timeoutMs"),
        ({"timeoutMs": 1.5}, "timeoutMs"),
        ({"graceMs": "1"}, "graceMs"),
        ({"limits": {"openFiles": -1}}, "openFiles"),
        ({"envPolicy": {"inherit": "some"}}, "envPolicy"),
    ]
    for change, name in wrong:
        error = server.refused("process/start", {**good, **change}, -32602, "invalidParams")
        check(
            name in error["data"].get("path", ""),
            "%s: path is %r" % (change, error["data"].get("path")),
        )
    for name in ("processId", "argv", "cwd", "env", "tty"):
        error = server.refused(
            "process/start", {k: v for k, v in good.items() if k != name}, -32602, "invalidParams"
        )
        check(
            name in error["data"].get("path", ""),
            "%s missing: path is %r" % (name, error["data"].get("path")),
        )
    equal(server.call("process/list"), {"processes": []}, "processes afterwards")


@test
def a_thousand_pipelined_requests_are_each_answered_once(scene):
    server = scene.server()
    ids = [server.new_id() for _ in range(1000)]
    methods = ("environment/status", "process/list", "no/such", "process/read")
    for message_id in ids:
        server.expect(message_id, methods[message_id % 4])
    text = "".join(
        '{"id": %d, "method": "%s", "params": {"processId": "none"}}\n'
        % (number, methods[number % 4])
        for number in ids
    )
    server.send_bytes(text.encode())
    for message_id in ids:
        server.reply(message_id)


@test
def after_shutdown_nothing_but_exit_is_served(scene):
    server = scene.server()
    equal(server.call("shutdown"), None, "result of shutdown")

    server.refused("environment/status", {}, -32600, "shuttingDown")
    server.refused("process/start", server.start_params("p", ["true"]), -32600, "shuttingDown")
    server.refused("shutdown", {}, -32600, "shuttingDown")

    server.notify("exit")
    equal(server.exit_status(), 0, "exit status")


if __name__ == "__main__":
    main()

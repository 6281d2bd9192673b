"""The two framings: a line for each message, or Content-Length headers."""

import json
import os
import sys

sys.path.insert(0, os.path.abspath(__file__ + "/../../.."))
from support.client import HeaderFraming, LineFraming, check, equal
from support.runner import main, test

MIB = 1 << 20
BODY = '{"id": %d, "method": "environment/status"}'


def framed(body):
    return HeaderFraming.wrap(body.encode())


@test
def headers_are_recognised_by_the_first_byte_and_used_both_ways(scene):
    server = scene.server(framing=HeaderFraming)

    code, output = server.run_shell("p", "echo out; echo err >&2; exit 3")

    equal((code, sorted(output.split())), (3, [b"err", b"out"]), "code and output")


@test
def blank_lines_before_the_first_header_do_not_hide_it(scene):
    server = scene.server(framing=HeaderFraming, handshake=False)
    server.send_bytes(b"\r\n\n  \n")
    server.handshake()
    server.answers()


@test
def the_framing_can_be_fixed_by_a_flag(scene):
    scene.server("--framing=headers", framing=HeaderFraming).answers()
    scene.server("--framing=lines", framing=LineFraming).answers()
    scene.server("--framing=auto", framing=LineFraming).answers()


@test
def with_lines_fixed_a_header_is_just_a_bad_line(scene):
    server = scene.server("--framing=lines", handshake=False)
    server.send_bytes(b"Content-Length: 5\r\n")
    equal(server.next_error()["code"], -32700, "code")
    server.handshake()
    server.answers()


@test
def with_headers_fixed_a_bare_line_is_no_message(scene):
    server = scene.server("--framing=headers", framing=HeaderFraming, handshake=False)
    server.send_bytes(b'{"id": 1, "method": "initialize", "params": {"clientName": "x"}}\r\n\r\n')
    server.wait(lambda: server.errors or server.ended, "an error or the end")
    check(not server.replies, "a bare line was served")


@test
def header_names_are_caseless_and_other_headers_are_ignored(scene):
    server = scene.server(framing=HeaderFraming)
    spellings = (
        "content-length: %d\r\n\r\n",
        "CONTENT-LENGTH:%d\r\n\r\n",
        "Content-Length:   %d  \r\n\r\n",
        "Content-Type: application/vscode-jsonrpc; charset=utf-8\r\nContent-Length: %d\r\n\r\n",
        "Content-Length: %d\r\nX-Other: 1\r\n\r\n",
    )
    for number, spelling in enumerate(spellings):
        body = BODY % (100 + number)
        server.expect(100 + number)
        server.send_bytes((spelling % len(body) + body).encode())
        equal(server.result(100 + number), {"status": "ready"}, "answer to %r" % spelling)


@test
def every_byte_may_arrive_alone(scene):
    for framing in (LineFraming, HeaderFraming):
        server = scene.server(framing=framing, handshake=False)
        messages = [
            {"id": 1, "method": "initialize", "params": {"clientName": "caf\u00e9"}},
            {"method": "initialized"},
            {
                "id": 2,
                "method": "process/start",
                "params": server.start_params("p", ["echo", "\u20ac"]),
            },
        ]
        for number, method in ((1, "initialize"), (2, "process/start")):
            server.expect(number, method, {"processId": "p"})
        for message in messages:
            for byte in framing.wrap(json.dumps(message, ensure_ascii=False).encode()):
                server.send_bytes(bytes([byte]))
        equal(server.result(2)["processId"], "p", "start")
        equal(server.finished("p"), (0, "\u20ac\n".encode()), "code and output")


@test
def many_messages_in_one_write_are_all_served(scene):
    for framing in (LineFraming, HeaderFraming):
        server = scene.server(framing=framing)
        ids = [server.expect(200 + number) for number in range(300)]
        server.send_bytes(b"".join(framing.wrap((BODY % number).encode()) for number in ids))
        for number in ids:
            server.result(number)


@test
def a_message_cut_anywhere_between_two_writes_is_whole(scene):
    for framing in (LineFraming, HeaderFraming):
        server = scene.server(framing=framing)
        length = len(framing.wrap((BODY % 1000).encode()))
        for cut in range(1, length):
            message = framing.wrap((BODY % (1000 + cut)).encode())
            server.expect(1000 + cut)
            server.send_bytes(message[:cut])
            server.send_bytes(message[cut:])
            server.result(1000 + cut)


@test
def a_framed_body_may_hold_newlines_and_is_measured_in_bytes(scene):
    server = scene.server(framing=HeaderFraming)
    body = json.dumps(
        {"id": 300, "method": "environment/status", "pad": "\u00e9\u20ac\U0001f600"},
        indent=2,
        ensure_ascii=False,
    )
    server.expect(300)
    server.send_bytes(framed(body))
    equal(server.result(300), {"status": "ready"}, "answer")
    server.answers()


@test
def a_framed_body_that_is_not_json_is_an_error_and_life_goes_on(scene):
    server = scene.server(framing=HeaderFraming)
    for body in ("{", "", "[]", "nonsense\n\n"):
        server.send_bytes(framed(body))
        check(server.next_error()["code"] in (-32700, -32600), "answer to the body %r" % body)
        server.answers()


@test(alone=True)
def a_framed_body_beyond_64_mib_is_one_error_and_is_skipped(scene):
    server = scene.server(framing=HeaderFraming)
    server.answers()
    before = peak = server.resident_bytes()
    server.send_bytes(b"Content-Length: %d\r\n\r\n" % (80 * MIB))
    for _ in range(80):
        server.send_bytes(b"{" * MIB)
        peak = max(peak, server.resident_bytes())

    equal(server.next_error()["data"]["kind"], "limit", "kind")

    server.answers()
    equal(server.errors, [], "further errors")
    if not server.is_sanitized():
        check(
            peak - before < 16 * MIB,
            "memory grew by %d MiB for a body that is skipped" % ((peak - before) // MIB),
        )


@test
def a_bad_header_is_answered_and_never_served(scene):
    for header in (
        b"Content-Length: x\r\n\r\n",
        b"Content-Length: -5\r\n\r\n",
        b"Content-Length: 99999999999999999999\r\n\r\n",
        b"Content-Length\r\n\r\n",
        b"Content-Type: json\r\n\r\n",
    ):
        server = scene.server(framing=HeaderFraming)
        server.send_bytes(header)
        server.wait(lambda: server.errors or server.ended, "an error or the end after %r" % header)
        check(server.errors, "%r ended the server without a word" % header)


@test
def output_arrives_framed_and_whole(scene):
    server = scene.server(framing=HeaderFraming)
    code, output = server.run_shell("p", "head -c 3000000 /dev/zero | tr '\\0' k")
    equal((code, len(output), set(output)), (0, 3000000, {ord("k")}), "code, size and bytes")


@test
def a_write_of_many_megabytes_passes_in_both_framings(scene):
    for framing in (LineFraming, HeaderFraming):
        server = scene.server(framing=framing)
        server.start("p", ["wc", "-c"], pipeStdin=True)
        status = server.write("p", b"z" * (6 * MIB), closeStdin=True)
        equal(status["status"], "accepted", "write of 6 MiB")
        equal(server.finished("p"), (0, b"%d\n" % (6 * MIB)), "code and output")


@test
def a_header_name_with_a_carriage_return_inside_is_none(scene):
    server = scene.server(framing=HeaderFraming)
    body = BODY % 500
    server.send_bytes(("Content\rLength: %d\r\n\r\n" % len(body) + body).encode())
    server.wait(lambda: server.errors or server.ended, "an error or the end")
    check(server.errors, "it ended the server without a word")
    equal(server.violations, [], "answers")


if __name__ == "__main__":
    main()

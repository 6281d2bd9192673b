"""Output of a command in answers and deltas: both ends, exact counts, valid UTF-8."""

import os
import re
import sys

sys.path.insert(0, os.path.abspath(__file__ + "/../../.."))
from support.client import PYTHON, brief, check, decoded, equal
from support.exec import exec_server
from support.programs import ALTERNATING, BYTE_BY_BYTE, REPEATED
from support.runner import main, test

PATIENT = "--utf8-hold=60000"  # an unfinished character waits for its end
ODD_BYTES = (
    b"ok \xff\xfe mid \xc3( \xf0\x9f\x98 x \xed\xa0\x80 \xc0\xaf \xe2\x82 \xf4\x90\x80\x80 "
    b"\x80\xbf \xf0\x9f\x98\x80 \xe2\x82\xac \xf8\x88 end \xe2\x82"
)


def python(script, *arguments):
    return [PYTHON, "-S", "-c", script, *arguments]


def numbers(count):
    """Returns the output of `seq -f %07.0f 1 COUNT`: 8 bytes per line."""
    return "".join("%07d\n" % number for number in range(1, count + 1))


def shortened(text, tokens):
    """Returns ASCII text as an answer of this number of tokens shows it."""
    budget = tokens * 4
    if len(text) <= budget:
        return text
    lines = text.count("\n") + (not text.endswith("\n"))
    left = budget // 2
    right = budget - left
    marker = "…%d tokens truncated…" % -(-(len(text) - budget) // 4)
    head = "Total output lines: %d\n\n" % lines
    return head + text[:left] + marker + (text[-right:] if right else "")


def whole_output(server, result):
    """Returns all deltas of the call, after exec/end."""
    return server.wait_end_of_call(result["callId"]).text()


@test
def short_output_is_shown_whole(scene):
    server = exec_server(scene)
    for what, want, tokens in (
        ("true", "", 0),
        ("printf abcd", "abcd", 1),
        ("printf abcde", "abcde", 2),
        ("echo a; echo b >&2", "a\nb\n", 1),
    ):
        result = server.exec(what)
        equal(
            (result["output"], result["originalTokenCount"], result["omittedBytes"]),
            (want, tokens, 0),
            "output of %s" % what,
        )


@test
def the_middle_of_long_output_is_cut_out_and_counted(scene):
    server = exec_server(scene)
    line = "%035d\n"
    script = "for n in range(1, 1000): print('%035d' % n)"
    text = "".join(line % number for number in range(1, 1000))
    result = server.exec(python(script), maxOutputTokens=50)
    equal(result["originalTokenCount"], 8991, "original tokens")
    check("…8941 tokens truncated…" in result["output"], "marker in %s" % result["output"])
    equal(result["output"], shortened(text, 50), "output")
    equal(result["omittedBytes"], len(text) - 200, "omitted bytes")
    equal(whole_output(server, result), text, "deltas")


@test
def the_budget_is_kept_at_its_edges(scene):
    server = exec_server(scene)
    for size, tokens in ((40, 10), (41, 10), (39, 10), (1000, 1), (1000, 0), (1, 0), (0, 0)):
        text = ("0123456789" * 100)[:size]
        result = server.exec(["printf", "%s", text], maxOutputTokens=tokens)
        equal(result["output"], shortened(text, tokens), "%d bytes, %d tokens" % (size, tokens))
        equal(result["originalTokenCount"], -(-size // 4), "original tokens of %d" % size)
        equal(result["omittedBytes"], max(0, size - tokens * 4), "omitted of %d" % size)


@test
def a_slow_client_gets_whole_characters(scene):
    server = exec_server(scene)
    call = server.exec_later(python(REPEATED, "e282ac", "300000", "65536"), yieldTimeMs=30000)
    server.stop_reading()
    server.wait_idle(0.7)  # longer than bytes are held
    server.resume_reading()
    result = server.result(call)
    check(whole_output(server, result) == "\u20ac" * 300000, "the deltas have other characters")


@test
def a_cut_never_splits_a_character(scene):
    server = exec_server(scene)
    for character in ("ü", "€", "😀"):
        text = character * 500
        for tokens in (1, 3, 5, 7, 11):
            result = server.exec(["printf", "%s", text], maxOutputTokens=tokens)
            body = result["output"].split("\n\n", 1)[1]
            left, marker, right = re.fullmatch("([^…]*)(….*…)([^…]*)", body).groups()
            width = len(character.encode())
            half = tokens * 2 // width
            equal((left, right), (character * half, character * half), "%s, %d" % (text[0], tokens))
            kept = 2 * half * width
            equal(result["omittedBytes"], len(text.encode()) - kept, "omitted bytes")


@test
def the_session_limits_tokens_for_both_calls(scene):
    server = exec_server(scene, settings={"maxOutputTokens": 20})
    text = numbers(100)
    result = server.exec("seq -f %07.0f 1 100")
    equal(result["output"], shortened(text, 20), "output")
    script = "seq -f %07.0f 1 100; read x; seq -f %07.0f 1 100"
    process_id = server.left_running(script, shows="0000100\r\n", tty=True)
    result = server.last_answer(process_id, "\n")
    equal(result["originalTokenCount"], (2 + 900 + 3) // 4, "tokens of a write")
    check(len(result["output"]) < 200, "output of a write: %s" % brief(result["output"]))


@test
def asking_for_more_tokens_than_the_session_allows_gives_what_it_allows(scene):
    server = exec_server(scene, settings={"maxOutputTokens": 20})
    result = server.exec("seq -f %07.0f 1 100", maxOutputTokens=1 << 40)
    equal(result["output"], shortened(numbers(100), 20), "output of exec/command")
    process_id = server.left_running("read x; seq -f %07.0f 1 100", tty=True)
    result = server.stdin(process_id, "\n", noTimeout=True, maxOutputTokens=1 << 40)
    check("tokens truncated" in result["output"], "exec/writeStdin: %s" % brief(result["output"]))


@test
def a_flood_keeps_its_beginning_and_its_end_and_counts_the_rest(scene):
    server = exec_server(scene)
    count = 400000
    text = numbers(count)
    result = server.exec("seq -f %%07.0f 1 %d" % count, yieldTimeMs=30000)
    equal(result["exitCode"], 0, "code")
    equal(result["originalTokenCount"], count * 2, "original tokens")
    left, marker, right = re.fullmatch(
        "Total output lines: [^\n]*\n\n([^…]*)…(.*) tokens truncated…([^…]*)",
        result["output"], re.DOTALL,
    ).groups()
    equal((len(left), len(right)), (20000, 20000), "sizes of both ends")
    check(text.startswith(left) and text.endswith(right), "the ends are not those of the output")
    equal(int(marker), count * 2 - 10000, "marker")
    equal(result["omittedBytes"], len(text) - 40000, "omitted bytes")
    equal(whole_output(server, result), text, "deltas")


@test
def a_mebibyte_is_kept_of_a_flood(scene):
    server = exec_server(scene, settings={"maxOutputTokens": 262144})
    count = 300000
    text = numbers(count)
    result = server.exec(
        "seq -f %%07.0f 1 %d" % count, yieldTimeMs=30000, maxOutputTokens=1 << 30
    )
    program = server.wait_end_of_call(result["callId"])
    shown = (
        (result["output"], result["omittedBytes"]),
        (program.end["aggregatedOutput"], program.end["omittedBytes"]),
    )
    for output, omitted in shown:
        head, middle, tail = re.fullmatch(
            r"(.*)\n\.\.\. (\d+) bytes omitted \.\.\.\n(.*)", output, re.DOTALL
        ).groups()
        equal(int(middle), omitted, "marker")
        equal(len(head) + len(tail) + omitted, len(text), "bytes in all")
        check(len(head) + len(tail) >= (1 << 20) - 65536, "kept: %d" % (len(head) + len(tail)))
        check(text.startswith(head) and text.endswith(tail), "not the ends of the output")
    equal(program.text(), text, "deltas")


@test
def a_poll_after_a_flood_shows_its_end(scene):
    server = exec_server(scene)
    gate = scene.path("gate")
    os.mkfifo(gate)
    wait = "read x < " + gate
    script = "echo first; %s; seq -f %%07.0f 1 300000; echo LAST; %s" % (wait, wait)
    process_id = server.left_running(script, shows="first\n")
    with open(gate, "w") as file:
        file.write("\n")
    program = server.program(process_id)
    server.wait(lambda: program.deltas and program.deltas[-1][2].endswith("LAST\n"), "the flood")
    result = server.stdin(process_id, quietMs=1)
    check("first" not in result["output"], "what was shown before is shown again")
    check(result["output"].endswith("0299999\n0300000\nLAST\n"), "end of the poll's output")
    equal(result["originalTokenCount"], (2400000 + 5 + 3) // 4, "original tokens")
    with open(gate, "w") as file:
        file.write("\n")
    equal(server.last_answer(process_id)["output"], "", "output at the end")


@test
def lines_of_both_streams_stay_in_order_and_are_told_apart(scene):
    server = exec_server(scene, settings={"maxOutputTokens": 20000})
    result = server.exec(python(ALTERNATING))
    program = server.wait_end_of_call(result["callId"])
    parts = ["%04d" % number * (1 + number * 7) for number in range(60)]
    equal(program.text("stdout"), "".join(parts[0::2]), "stdout")
    equal(program.text("stderr"), "".join(parts[1::2]), "stderr")
    equal(program.end["stdout"], "".join(parts[0::2]), "stdout of exec/end")
    equal(program.end["stderr"], "".join(parts[1::2]), "stderr of exec/end")
    equal(len(result["output"]), sum(map(len, parts)), "length of the output")
    equal(result["output"], program.text(), "output and deltas")


@test
def one_byte_writes_lose_nothing(scene):
    server = exec_server(scene)
    result = server.exec(python(REPEATED, b"abc\n".hex(), "5000", "1"), yieldTimeMs=30000)
    equal((result["output"], result["omittedBytes"]), ("abc\n" * 5000, 0), "output")
    equal(whole_output(server, result), "abc\n" * 5000, "deltas")


# UTF-8


@test
def a_character_that_comes_in_pieces_is_shown_whole(scene):
    server = exec_server(scene, PATIENT)
    text = "aü€😀z"
    result = server.exec(python(BYTE_BY_BYTE, text.encode().hex()))
    equal((result["output"], result["omittedBytes"]), (text, 0), "output")
    program = server.wait_end_of_call(result["callId"])
    check("\ufffd" not in program.text(), "deltas %s" % program.deltas)
    equal(program.text(), text, "deltas")


@test
def a_character_is_not_split_between_two_answers(scene):
    server = exec_server(scene, PATIENT)
    gate = scene.path("gate")
    os.mkfifo(gate)
    script = "printf 'a\\303'; read x < %s; printf '\\274b'" % gate
    result = server.exec(script, shell="bash", yieldTimeMs=30000, quietMs=50)
    equal((result["state"], result["output"]), ("running", "a"), "first answer")
    with open(gate, "w") as file:
        file.write("\n")
    equal(server.last_answer(result["processId"])["output"], "üb", "second answer")
    equal(whole_output(server, result), "aüb", "deltas")


@test
def an_unfinished_character_is_shown_when_nothing_follows(scene):
    server = exec_server(scene)
    result = server.exec("printf 'a\\303'", shell="bash")
    equal(result["output"], "a\ufffd", "at the end")
    server.left_running("printf 'x\\342\\202'; exec sleep 600", shell="bash", callId="open")
    program = server.program_of_call("open")
    server.wait(lambda: program.text() == "x\ufffd", "the held bytes")


@test
def what_is_no_utf8_is_replaced_by_maximal_subparts(scene):
    server = exec_server(scene, PATIENT)
    want = ODD_BYTES.decode("utf-8", "replace")
    for what in (
        python("import os, sys; os.write(1, bytes.fromhex(sys.argv[1]))", ODD_BYTES.hex()),
        python(BYTE_BY_BYTE, ODD_BYTES.hex()),
    ):
        result = server.exec(what)
        equal(result["output"], want, "output")
        equal(whole_output(server, result), want, "deltas")
        end = server.wait_end_of_call(result["callId"]).end
        equal(end["aggregatedOutput"], want, "aggregated output")


@test
def binary_output_comes_out_the_same_however_it_is_cut(scene):
    server = exec_server(scene, PATIENT, settings={"maxOutputTokens": 262144})
    data = bytes(range(256)) * 300
    for size in (1, 7, 4096, 65536):
        what = python(REPEATED, bytes(range(256)).hex(), "300", str(size))
        result = server.exec(what, yieldTimeMs=30000, maxOutputTokens=262144)
        want = data.decode("utf-8", "replace")
        equal(len(result["output"]), len(want), "length with writes of %d" % size)
        check(result["output"] == want, "other characters with writes of %d" % size)
        check(whole_output(server, result) == want, "other deltas with writes of %d" % size)


@test
def control_characters_and_zeros_reach_the_client(scene):
    server = exec_server(scene)
    text = "".join(map(chr, range(128))) + "\u2028\u202e\ufeff\x85"
    what = python("import os, sys; os.write(1, bytes.fromhex(sys.argv[1]))", text.encode().hex())
    result = server.exec(what)
    equal(result["output"], text, "output")
    equal(whole_output(server, result), text, "deltas")


@test
def raw_bytes_are_read_with_the_seqs_of_the_deltas(scene):
    server = exec_server(scene, PATIENT)
    script = (
        "import os, time\n"
        "for n in range(12):\n"
        "    os.write(1 + n % 2, b'%d \\xff\\xc3\\xbc\\n' % n)\n"
        "    time.sleep(0.02)\n"
    )
    result = server.exec(python(script))
    program = server.wait_end_of_call(result["callId"])
    read = server.read(program.begin["processId"])
    chunks = {c["seq"]: (c["stream"], decoded(c["chunk"])) for c in read["chunks"]}
    check(len(program.deltas) > 1, "all came in one delta")
    for seq, stream, text in program.deltas:
        of, data = chunks.pop(seq)
        equal((stream, text), (of, data.decode("utf-8", "replace")), "delta %d" % seq)
    equal(chunks, {}, "chunks without a delta")
    equal((read["exited"], read["closed"], read["exitCode"]), (True, True, 0), "end")


# The form for models


@test
def the_text_for_models_has_its_exact_form(scene):
    server = exec_server(scene)
    result = server.exec("echo hello; exit 3", format="model")
    want = (
        r"Chunk ID: %s\nWall time: \d+\.\d{4} seconds\nProcess exited with code 3\n"
        r"Original token count: 2\nOutput:\nhello\n" % result["chunkId"]
    )
    check(re.fullmatch(want, result["text"]), "text %r" % result["text"])
    check(re.fullmatch("[0-9a-f]{6}", result["chunkId"]), "chunk id %r" % result["chunkId"])

    result = server.exec("echo begun; read x", tty=True, yieldTimeMs=30000, quietMs=50,
                         format="model")
    want = (
        r"Chunk ID: %s\nWall time: \d+\.\d{4} seconds\nProcess running with session ID %s\n"
        r"Original token count: 2\nOutput:\nbegun\r\n" % (result["chunkId"], result["processId"])
    )
    check(re.fullmatch(want, result["text"]), "text %r" % result["text"])

    result = server.stdin(result["processId"], "\n", noTimeout=True, format="model")
    want = (
        r"Chunk ID: %s\nWall time: \d+\.\d{4} seconds\nProcess exited with code 0\n"
        r"Original token count: 1\nOutput:\n\r\n" % result["chunkId"]
    )
    check(re.fullmatch(want, result["text"]), "text %r" % result["text"])


@test
def the_text_for_models_is_cut_like_the_output(scene):
    server = exec_server(scene)
    result = server.exec("seq -f %07.0f 1 1000", format="model", maxOutputTokens=10)
    check(result["text"].endswith("Output:\n" + result["output"]), "text %r" % result["text"])
    equal(result["output"], shortened(numbers(1000), 10), "output")


@test
def without_the_format_there_is_no_text(scene):
    server = exec_server(scene)
    check("text" not in server.exec("true"), "a text nobody asked for")
    check("text" not in server.exec("true", format="full"), "a text nobody asked for")


@test
def every_answer_has_a_chunk_id_of_its_own(scene):
    server = exec_server(scene)
    got = [server.exec("true")["chunkId"] for _ in range(30)]
    check(len(set(got)) >= 29, "chunk ids %s" % got)


if __name__ == "__main__":
    main()

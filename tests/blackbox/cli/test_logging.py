"""The server's output beside the protocol: stderr, a log file, and exit statuses."""

import json
import os
import sys

sys.path.insert(0, os.path.abspath(__file__ + "/../../.."))
from support.client import check, equal, eventually
from support.runner import main, test


def a_bit_of_everything(server):
    """Makes the server log: errors, stray messages, programs, failures."""
    server.run_shell("p", "echo hi; echo err >&2", env={"A_SECRET": "xyzzy-7"})
    server.start("q", ["sh", "-c", "stty -echo; echo go; read x"], tty=True)
    server.wait_output("q", b"go")
    server.write("q", b"hidden-word-9\n")
    server.wait_closed("q")
    server.refused("no/such")
    server.notify("no/such", {"a": 1})
    server.send_bytes(b'{"id": 99, "result": {}}\nnot json\n')
    server.next_error()
    server.refused("process/start", server.start_params("r", ["no-such-program"]))
    server.answers()


@test
def at_level_error_nothing_is_said_about_mistakes_of_the_client(scene):
    server = scene.server("--log-level=error")
    a_bit_of_everything(server)
    equal(server.end(), 0, "exit status")
    equal(server.stderr(), "", "stderr")


@test
def an_ordinary_session_is_silent(scene):
    server = scene.server()
    server.run_shell("p", "echo hi", tty=True)
    equal(server.end(), 0, "exit status")
    equal(server.stderr(), "", "stderr")


@test
def every_level_is_accepted_and_more_says_more(scene):
    sizes = []
    for level in ("error", "warning", "info", "debug", "trace"):
        server = scene.server("--log-level=" + level)
        a_bit_of_everything(server)
        server.end()
        server.verify()
        sizes.append(len(server.stderr().splitlines()))
    equal(sizes, sorted(sizes), "lines by level")
    check(sizes[-1] > sizes[0], "trace says no more than error: %s" % sizes)


@test
def secrets_stay_out_of_the_log_below_trace(scene):
    server = scene.server("--log-level=debug")
    a_bit_of_everything(server)
    server.end()
    for secret in ("xyzzy-7", "hidden-word-9"):
        check(secret not in server.stderr(), "%s is in the log" % secret)


@test
def json_format_is_an_object_a_line(scene):
    server = scene.server("--log-level=trace", "--log-format=json")
    a_bit_of_everything(server)
    server.end()
    lines = server.stderr().splitlines()
    check(lines, "nothing was logged at trace")
    for line in lines:
        check(isinstance(json.loads(line), dict) and "level" in json.loads(line), "line: " + line)


@test
def a_log_file_takes_the_place_of_stderr(scene):
    server = scene.server("--log-level=trace", "--log-file=" + scene.path("log"))
    a_bit_of_everything(server)
    server.end()
    equal(server.stderr(), "", "stderr")
    check(os.path.getsize(scene.path("log")) > 0, "the log file is empty")


@test
def a_variable_sets_the_level_and_the_command_line_wins(scene):
    loud = scene.server(env={"EXECWARD_LOG_LEVEL": "trace"})
    a_bit_of_everything(loud)
    loud.end()
    check(loud.stderr(), "the variable had no effect")
    quiet = scene.server("--log-level=error", env={"EXECWARD_LOG_LEVEL": "trace"})
    a_bit_of_everything(quiet)
    quiet.end()
    equal(quiet.stderr(), "", "stderr")


@test
def stderr_that_nobody_reads_stops_nothing(scene):
    unread, written = os.pipe()
    server = scene.server("--log-level=trace", stderr=written)
    os.close(written)
    pad = "k" * 4000
    kinds = (
        ("no/such", {"pad": pad}),
        ("process/read", {"processId": pad}),
        ("process/signal", {"processId": pad, "signal": "interrupt"}),
    )
    ids = [server.request(*kinds[number % 3]) for number in range(3000)]
    for message_id in ids:
        server.reply(message_id)
    equal(server.run_shell("p", "echo on"), (0, b"on\n"), "code and output")
    equal(server.end(), 0, "exit status")
    os.close(unread)


@test
def stderr_that_is_closed_stops_nothing(scene):
    unread, written = os.pipe()
    os.close(unread)
    server = scene.server("--log-level=trace", stderr=written)
    os.close(written)
    a_bit_of_everything(server)
    equal(server.end(), 0, "exit status")


@test
def a_server_without_standard_descriptors_to_spare_keeps_its_protocol_clean(scene):
    server = scene.server("--log-level=trace", prepare=lambda: os.close(2))
    a_bit_of_everything(server)
    server.start("fds", ["sh", "-c", "ls /proc/self/fd | tr '\\n' ' '"])
    equal(server.finished("fds")[1], b"0 1 2 3 ", "descriptors of a program")
    equal(server.end(), 0, "exit status")


def once(scene, *arguments):
    return scene.once(*arguments, cwd=scene.directory)


@test
def wrong_usage_is_status_2_and_explained(scene):
    for arguments in (
        ["serve", "--no-such-flag"],
        ["serve", "--log-level=loud"],
        ["serve", "--framing=xml"],
        ["serve", "--utf8-hold=x"],
        ["serve", "--client-process-id=0"],
        ["serve", "extra"],
        ["no-such-command"],
        [],
    ):
        done = once(scene, *arguments)
        equal(done.returncode, 2, "exit status of %s" % arguments)
        check(
            done.stderr.strip() and not done.stdout,
            "output of %s: %r %r" % (arguments, done.stdout, done.stderr),
        )


@test
def help_and_version_are_answered_on_stdout(scene):
    for arguments in (
        ["--help"],
        ["help"],
        ["--version"],
        ["-V"],
        ["serve", "--help"],
        ["replay", "--help"],
        ["schema", "--help"],
    ):
        done = once(scene, *arguments)
        equal((done.returncode, done.stderr), (0, ""), "exit status and stderr of %s" % arguments)
        check("execward" in done.stdout, "output of %s: %r" % (arguments, done.stdout))
    check("serve" in once(scene, "--help").stdout, "help does not name serve")
    for words in (["run"], ["config", "init"], ["policy", "explain"]):
        equal(
            once(scene, "help", *words).stdout,
            once(scene, *words, "--help").stdout,
            "help of %s" % words,
        )


@test
def an_unknown_command_is_told_with_the_nearest_one(scene):
    for words in (["serv"], ["help", "serv"]):
        done = once(scene, *words)
        equal((done.returncode, done.stdout), (2, ""), "status and output of %s" % words)
        check("did you mean 'serve'?" in done.stderr, "told: %r" % done.stderr)


@test
def an_unknown_action_or_option_is_told_with_the_nearest_one(scene):
    for words, meant in (
        (["policy", "exlain"], "explain"),
        (["audit", "tial"], "tail"),
        (["run", "--netwrk", "--", "true"], "--network"),
        (["serve", "--log-levl", "debug"], "--log-level"),
        (["doctor", "--halp"], "--help"),
    ):
        done = once(scene, *words)
        check(done.returncode != 0 and done.stdout == "", "%s: %s" % (words, done))
        check("did you mean %s?" % meant in done.stderr, "told: %r" % done.stderr)
    for words in (["serve", "--log", "debug"], ["run", "--directory"], ["run", "-Q", "--", "true"]):
        told = once(scene, *words).stderr
        check(told and "did you mean" not in told, "%s is no slip: %r" % (words, told))


@test
def a_workspace_that_is_not_there_is_told(scene):
    done = once(scene, "mcp", "--workspace=/no/such/directory")
    equal((done.returncode, done.stdout), (2, ""), "status and output")
    check("'/no/such/directory' is not a directory" in done.stderr, "told: %r" % done.stderr)


@test
def a_log_file_that_cannot_be_opened_is_an_error(scene):
    done = once(scene, "serve", "--log-file=/no/such/directory/log")
    check(
        done.returncode in (1, 2) and done.stderr.strip(),
        "status %d, stderr %r" % (done.returncode, done.stderr),
    )


@test
def a_descriptor_limit_is_an_error_for_a_start_and_no_more(scene):
    import resource

    server = scene.server(prepare=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (40, 40)))
    started = []
    for number in range(40):
        message_id = server.request(
            "process/start", server.start_params("p%d" % number, ["cat"], pipeStdin=True)
        )
        if "result" in server.reply(message_id):
            started.append("p%d" % number)
    check(0 < len(started) < 40, "%d programs started" % len(started))
    for name in started:
        server.call("process/closeStdin", {"processId": name})
        server.wait_closed(name)
    eventually(
        lambda: server.run_shell("last", "echo fine") == (0, b"fine\n"),
        "a start after others ended",
    )


if __name__ == "__main__":
    main()

"""What reviews of the exec layer have found, beside test_exec_holes.py: it stays mended."""

import os
import resource
import sqlite3
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from support.client import PYTHON, check, equal, eventually, within
from support.exec import Home, always, denied, exec_server, is_asked, ran
from support.runner import main, test

SESSION = "approvedForSession"
BAN = "[[rule]]\nprefix = ['touch']\ndecision = 'forbidden'\njustification = 'no touching'\n"
# The sandbox refuses it: an address that nobody has (RFC 5737).
NOWHERE = "(exec 3<>/dev/tcp/192.0.2.1/9) 2>/dev/null"


def untrusting(scene, *flags, **options):
    return exec_server(scene, *flags, policy="untrusted", **options)


def asks(server, what, **params):
    """The call must be asked about; it is denied."""
    message_id = server.exec_later(what, **params)
    question = server.question("a question about %s" % str(what)[:200])
    server.answer(question, "denied")
    denied(server, message_id)
    return question


def approve(server, what, scope="directory", **params):
    message_id = server.exec_later(what, **params)
    server.answer(server.question("a question about %s" % what), SESSION, scope=scope)
    ran(server, message_id)


def exists(server, name):
    return os.path.exists(os.path.join(server.home.project, name))


def decision(server, what, **params):
    return server.call("policy/explain", server.exec_params(what, **params))["decision"]


def seconds_of(work):
    began = time.monotonic()
    work()
    return time.monotonic() - began


# What is judged is what runs


@test
def a_link_does_not_get_what_a_rule_allows_to_its_name(scene):
    home = Home(scene)
    home.rules("[[rule]]\nprefix = ['git', 'status']\ndecision = 'allow'\n")
    server = untrusting(scene, home=home)
    link = os.path.join(home.project, "git")
    os.symlink("/bin/bash", link)
    scene.file("home/project/status", "touch made\n")
    asks(server, [link, "status"])
    asks(server, link + " status")
    check(not exists(server, "made"), "it ran")


@test
def a_link_that_changes_all_the_time_never_runs_unasked(scene):
    server = untrusting(scene, answer=always("denied"))
    link = os.path.join(server.home.project, "ls")
    evil = scene.file("home/project/evil", "#!/bin/sh\ntouch made\n", 0o755)
    for number in range(30):
        ids = []
        for target in ("/usr/bin/ls", evil):
            os.symlink(target, link + ".new")
            ids.append(server.exec_later([link], callId="%d %s" % (number, target)))
            os.rename(link + ".new", link)
        for message_id in ids:
            server.reply(message_id)
    check(not exists(server, "made"), "it ran")


@test
def a_program_with_the_name_of_a_shell_is_no_shell(scene):
    server = untrusting(scene)
    link = os.path.join(server.home.project, "bash")
    os.symlink("/usr/bin/touch", link)
    asks(server, [link, "-c", "ls"])
    check(not exists(server, "ls"), "it ran")


@test
def a_shell_behind_a_link_is_not_exchanged_after_an_approval(scene):
    server = untrusting(scene)
    link = os.path.join(server.home.project, "bash")
    evil = scene.file("home/project/evil", "#!/bin/sh\ntouch made\n", 0o755)
    os.symlink("/usr/bin/bash", link)
    first = server.exec_later("echo hi > out", shell=link)
    question = server.question_about(first)
    if question:
        server.answer(question, SESSION)
    server.reply(first)
    os.unlink(link)
    os.symlink(evil, link)
    second = server.exec_later("echo hi > out", shell=link)
    question = server.question_about(second)
    if question:
        server.answer(question, "denied")
    server.reply(second)
    check(not exists(server, "made"), "another program ran as the shell")


@test
def another_language_of_the_shell_is_asked_about(scene):
    server = untrusting(scene)
    for name in ("LC_ALL", "LC_CTYPE", "LANG"):
        asks(server, "echo a", env={name: "zh_CN.GBK"})


@test
def an_allow_rule_does_not_follow_a_link_out_of_the_workspace(scene):
    home = Home(scene)
    home.rules("[[rule]]\nprefix = ['mkdir']\ndecision = 'allow'\n")
    server = untrusting(scene, home=home)
    elsewhere = os.path.dirname(scene.file("elsewhere/keep"))
    os.symlink(elsewhere, os.path.join(home.project, "link"))
    os.mkdir(os.path.join(home.project, "inside"))
    check(not is_asked(server, "cd inside && mkdir -p a"), "inside it was asked about")
    asks(server, "cd link && mkdir -p a")
    asks(server, "mkdir -p a", workdir="link")


@test
def programs_do_not_get_the_id_of_the_session(scene):
    server = exec_server(scene)
    text = server.output_of([PYTHON, "-S", "-c", "import os; print(dict(os.environ))"])
    check("EXECWARD_SESSION_ID" in text, "no name of the session")
    check(server.initialized["sessionId"] not in text, "the id of the session")


# Questions


@test
def variables_that_load_code_are_shown_and_belong_to_what_is_approved(scene):
    server = untrusting(scene)
    approve(server, "touch a")
    for name, value in (
        ("PYTEST_ADDOPTS", "-p evil"),
        ("MPLBACKEND", "module://evil"),
        ("VIMINIT", "!evil"),
        ("CCACHE_PREFIX", "evil"),
        ("HOSTCC", "evil"),
    ):
        question = asks(server, "touch a", env={name: value})
        shown = question["display"]["environment"]
        check(any(name in text and value in text for text in shown), "shown: %s" % shown)
        asks(server, "ls", env={name: value})
    check(not is_asked(server, "touch a"), "without variables it was asked about")


@test
def hidden_characters_of_variables_are_warned_of(scene):
    server = untrusting(scene)
    display = asks(server, "touch a", env={"OTHER": "/x\u202e\u200b"})["display"]
    check(display["hasInvisibleCharacters"], "no warning")
    check("\u202e" not in str(display["environment"]), "it is shown raw")


@test
def an_escalation_is_named_whatever_else_is_the_reason(scene):
    server = exec_server(scene, policy="on-request", sandbox="read-only")
    question = asks(
        server, "rm -rf x; touch made", sandboxPermissions="requireEscalated", tty=True
    )
    display = question["display"]
    check(any("outside the sandbox" in note for note in display["notes"]), "notes")
    check(any("terminal" in note for note in display["notes"]), "notes %s" % display["notes"])
    silent = [
        (choice["decision"], choice.get("scope"))
        for choice in question["availableDecisions"]
        if choice["decision"].startswith("approved") and "sandbox" not in choice["description"]
    ]
    equal(silent, [], "choices that do not tell that it leaves the sandbox")


@test
def what_allows_too_much_is_not_proposed(scene):
    server = untrusting(scene)
    for argv, count in (
        (["python3.11", "-c", "0"], 1),
        (["python3", "-u", "x"], 2),
        (["nodejs", "x"], 1),
        (["perl5.36", "x"], 1),
        (["node", "--eval", "0"], 2),
        (["perl", "-E", "0"], 2),
        (["make", "all"], 1),
        (["rm", "-rf", "build"], 2),
        (["find", ".", "-delete"], 2),
        (["git", "-c", "a.b=c", "push"], 2),
        (["git", "-C", "x", "push"], 2),
        (["ssh", "-p", "22", "host"], 3),
        (["npx", "-y", "thing"], 2),
        (["sed", "-i", "s/a/b/", "x"], 1),
        (["gdb", "x"], 1),
    ):
        explained = server.call("policy/explain", {"argv": argv, "prefixRule": argv[:count]})
        check(
            explained.get("proposedPrefixRule") != argv[:count], "%s is proposed" % argv[:count]
        )


@test
def a_prefix_with_hidden_characters_is_not_proposed(scene):
    server = untrusting(scene)
    argv = ["touch", "a\u202eb\x1b[2J"]
    question = asks(server, argv, prefixRule=argv)
    check("proposedPrefixRule" not in question.params, "it is proposed")
    check("prefixRule" not in question["display"], "it is shown")


@test
def the_id_of_a_call_is_the_text_of_its_request(scene):
    server = exec_server(scene)
    for text in ('a"b', "a\\b", "tab\there", "\u00e9\U0001f600", ""):
        result = server.result(server.request("exec/command", {"command": "true"}, text))
        equal(result["callId"], text, "call id")


@test
def what_can_never_run_is_refused_without_a_question(scene):
    server = untrusting(scene)
    message = denied(server, server.exec_later(["touch", "x" * (200 * 1024)]))
    check("128 KiB" in message, "message %r" % message[:200])
    equal(server.questions, [], "questions")


# Bans


@test
def a_ban_is_not_evaded_by_launchers_and_options(scene):
    home = Home(scene)
    home.rules("[[rule]]\nprefix = ['git', 'push']\ndecision = 'forbidden'\n")
    server = exec_server(scene, policy="on-request", home=home)
    loose = [
        script
        for script in (
            "env --split='git push'",
            "env - git push",
            "env --argv0 x git push",
            "env -a x git push",
            "env --chd / git push",
            "env -S'-u X git push'",
            "sudo --us root git push",
            "xargs --delim x git push",
            "bash -co pipefail 'git push'",
            "script --comm 'git push'",
            "bash <<< 'git push'",
            "source /dev/stdin <<< 'git push'",
            "cat <<E | sh\ngit push\nE",
            "git -c alias.p=push p",
            "git -c alias.x='!git push' x",
            "/lib64/ld-linux-x86-64.so.2 /usr/bin/git push",
            "parallel git ::: push",
        )
        if decision(server, script) == "allow"
    ]
    equal(loose, [], "what is allowed")


@test
def a_project_does_not_switch_off_rules_by_their_number(scene):
    home = Home(scene)
    home.rules(BAN)
    for number in range(1001):
        home.file("project/.execward/rules.d/%d.toml" % number, "")
    home.good_cli("project", "trust", ".")
    server = exec_server(scene, policy="on-request", home=home)
    check("no touching" in denied(server, server.exec_later("touch made")), "no reason")
    check(not exists(server, "made"), "it ran")


@test
def a_ban_that_cannot_be_read_is_a_question(scene):
    home = Home(scene)
    server = exec_server(scene, policy="on-request", home=home)
    for text in (
        "prefix = ['touch']\nx = [\n",
        "[[rule]]\nprefix = 'touch'\ndecision = 'forbidden'\n",
        "[[rule]]\nprefix = ['touch', 3]\ndecision = 'forbidden'\n",
        "[[Rule]]\nprefix = ['touch']\ndecision = 'forbidden'\n",
        "mistake\nrule = [{prefix = ['touch'], decision = 'forbidden'}]\n",
        "[[rule]]\njustification = 'unclosed\nprefix = ['touch']\ndecision = 'forbidden'\n",
        BAN + "#" * (1 << 20),
    ):
        home.rules(text)
        check(decision(server, "touch made") != "allow", "allowed with %r" % text[:80])
        check(decision(server, "ls") != "forbidden", "ls is forbidden with %r" % text[:80])
    os.unlink(os.path.join(home.rules_directory, "own.toml"))
    os.symlink("/no/such/file", os.path.join(home.rules_directory, "own.toml"))
    check(decision(server, "touch made") != "allow", "allowed with a link to nothing")


@test
def a_ban_behind_links_counts_at_once(scene):
    home = Home(scene)
    target = home.file("dot/own.toml", "")
    home.file("config/execward/rules.d/other.toml", "")
    os.symlink(target, os.path.join(home.rules_directory, "own.toml"))
    server = exec_server(scene, policy="on-request", home=home)
    equal(decision(server, "touch made"), "allow", "decision at first")
    home.file("dot/own.toml", BAN)
    equal(decision(server, "touch made"), "forbidden", "decision with the ban")


def trusted_ban(scene, name="home"):
    """A home with a trusted project that forbids touch."""
    home = Home(scene, name)
    home.file("project/.execward/rules.d/own.toml", BAN)
    home.good_cli("project", "trust", ".")
    return home


@test
def a_ban_of_a_trusted_project_holds_without_the_database(scene):
    def garbage(home):
        for end in ("-wal", "-shm"):
            if os.path.exists(home.database + end):
                os.unlink(home.database + end)
        with open(home.database, "wb") as file:
            file.write(b"no database\n" * 500)

    for name, spoil in (
        ("garbage", garbage),
        ("mode", lambda home: os.chmod(os.path.dirname(home.database), 0o777)),
    ):
        home = trusted_ban(scene, name)
        spoil(home)
        server = exec_server(scene, policy="on-request", home=home)
        check("no touching" in denied(server, server.exec_later("touch made")), "no reason")
        check(not exists(server, "made"), "it ran")


# The database while others hold it


@test
def a_lock_that_stays_holds_up_nobody_and_is_told_once(scene):
    home = trusted_ban(scene)
    holder = sqlite3.connect(home.database, isolation_level=None)
    holder.execute("pragma locking_mode = exclusive")
    holder.execute("begin exclusive")
    holder.execute("create table held (a)")
    server = untrusting(scene, home=home)
    server.answers()
    waits = []
    for _ in range(6):
        message_id = server.exec_later("mkdir -p made")
        waits.append(seconds_of(lambda: server.call("process/list")))
        server.answer(server.question(), SESSION)
        waits.append(seconds_of(lambda: server.call("process/list")))
        ran(server, message_id)
    check(max(waits) < within(9), "process/list took %.1f s" % max(waits))
    check(sum(waits) < within(15), "process/list took %.1f s in all" % sum(waits))
    check("no touching" in denied(server, server.exec_later("touch x")), "no reason")
    server.warning("storeUnavailable")
    told = [p["message"] for _, p in server.warnings if p.get("kind") == "storeUnavailable"]
    about_answers = [message for message in told if message.startswith("the answer to ")]
    equal((len(told) - len(about_answers), len(about_answers)), (1, 6), "warnings")
    ended = seconds_of(lambda: equal(server.end(), 0, "exit status"))
    check(ended < within(9), "the end took %.1f s" % ended)
    holder.execute("rollback")
    holder.close()


@test
def a_limit_of_the_size_of_files_kills_nobody(scene):
    for number, size in enumerate((0, 1, 30_000)):

        def limit(size=size):
            resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))

        home = Home(scene, str(number))
        server = untrusting(scene, home=home, prepare=limit)
        for count in range(20):
            message_id = server.exec_later("mkdir -p made-%d" % count)
            server.answer(server.question(), SESSION)
            ran(server, message_id)
        server.warning("storeUnavailable")
        check(is_asked(server, "mkdir -p made-19"), "what was not kept counts")
        equal(server.output_of("echo on"), "on\n", "output")
        equal(server.end(), 0, "exit status")


# Waits, retries and ends


@test
def a_short_wait_does_not_lose_what_stopped_a_program(scene):
    for script, params in (
        ("echo x; %s; sleep 600 & exit 77", {"quietMs": 10}),
        ("sleep 0.22; %s; sleep 600 & exit 77", {"yieldTimeMs": 250}),
    ):
        server = exec_server(
            scene,
            policy="on-failure",
            sandbox="workspace-write",
            home=Home(scene, str(len(scene.servers))),
        )
        call = server.exec_later(script % NOWHERE, callId="it", **params)
        question = server.question_about(call)
        if question:
            equal(question["kind"], "retry", "kind")
            server.answer(question, "denied")
        result = server.result(call)
        if result["state"] == "completed":
            equal((question is not None, result["exitCode"]), (True, 77), "asked, exit code")
        end = server.wait_end_of_call("it").end
        check(end["denials"], "no denials in exec/end")


@test
def a_call_that_is_cancelled_at_once_leaves_nothing(scene):
    server = exec_server(scene)
    for _ in range(20):
        call = server.expect(server.new_id(), "exec/command")
        data = b"".join(
            server.framing.wrap(text.encode())
            for text in (
                '{"jsonrpc":"2.0","id":%d,"method":"exec/command","params":'
                '{"command":"echo x; sleep 600","onCancel":"terminate"}}' % call,
                '{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":%d}}' % call,
            )
        )
        server.send_bytes(data)
        data = server.error(call, -32800, "cancelled")["data"]
        if "processId" in data:
            server.wait_end(data["processId"])
    eventually(lambda: not server.programs(), "the end of all")
    equal(server.call("exec/list")["calls"], [], "calls")


@test
def text_typed_by_a_cancelled_call_is_told(scene):
    server = exec_server(scene)
    process_id = server.left_running("exec cat", tty=True)
    call = server.stdin_later(process_id, "typed\n", noTimeout=True)
    server.wait_delta(process_id, "typed")
    server.notify("$/cancelRequest", {"id": call})
    server.error(call, -32800, "cancelled")
    server.wait(
        lambda: "typed\n" in server.program(process_id).interactions, "exec/terminalInteraction"
    )
    server.call("exec/terminate", {"processId": process_id})


# Time


@test(alone=True)
def one_message_does_not_hold_up_the_server(scene):
    home = Home(scene)
    home.rules(
        "".join(
            "[[rule]]\nprefix = ['tool-%d', 'x']\ndecision = 'prompt'\n" % n for n in range(200)
        )
    )
    server = untrusting(scene, home=home)
    for argv in (
        ["find", "."] + ["-exec", "git", "-x", ";"] * 4000,
        ["env"] * 20_000,
        ["xargs"] * 5_000,
        ["bash", "-c", "find . -exec git -x \n" * 3000],
    ):
        for _ in range(3):  # the machine itself may halt for a while
            took = seconds_of(lambda: decision(server, argv))
            if took < within(3):
                break
        check(took < within(3), "%s … took %.1f s" % (argv[:2], took))


if __name__ == "__main__":
    main()

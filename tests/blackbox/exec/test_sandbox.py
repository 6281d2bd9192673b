"""Confined commands: their rights, how a call or a person gives a command more rights, and the
consequences of a denial."""

import contextlib
import os
import shutil
import socket
import sys
import tempfile
import threading

sys.path.insert(0, os.path.abspath(__file__ + "/../../.."))
from support import machines
from support.client import PYTHON, brief, check, equal, eventually, within
from support.exec import (
    NOWHERE,
    SESSION,
    Home,
    always,
    decided_by,
    denied,
    elsewhere,
    exec_server,
    ran,
)
from support.runner import main, test

WIDENED = "approvedWidened"
SANDBOXED = "linuxSeccomp"
# Is denied the network in the first attempt, and must not use it in the second.
ONCE = "test -e tried && { echo fine; exit 0; }; touch tried; echo kept; %s; exit 7" % NOWHERE


def confining(scene, policy="on-failure", confinement=None, **options):
    settings = {**options.pop("settings", {}), "confinement": confinement or {}}
    options.setdefault("sandbox", "workspace-write")
    return exec_server(scene, policy=policy, settings=settings, **options)


@contextlib.contextmanager
def listening(path=None):
    """Yields a port of this machine, or a socket file, with a server that answers "hello"."""
    family = socket.AF_UNIX if path else socket.AF_INET
    listener = socket.socket(family)
    listener.bind(path or ("127.0.0.1", 0))
    listener.listen()

    def serve():
        with contextlib.suppress(OSError):
            while True:
                connection, _ = listener.accept()
                with connection:
                    connection.sendall(b"hello\n")

    threading.Thread(target=serve, daemon=True).start()
    try:
        yield path or listener.getsockname()[1]
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()


def greeting(place):
    """Returns a script that prints the answer at a port or at a socket file."""
    if isinstance(place, int):
        return "exec 3<>/dev/tcp/127.0.0.1/%d && cat <&3" % place
    return (
        "%s -c 'import socket; s = socket.socket(socket.AF_UNIX); s.connect(\"%s\"); "
        "print(s.recv(9).decode(), end=\"\")' 2>/dev/null" % (PYTHON, place)
    )


def attempts(server, call):
    return [p for m, p in list(server.events) if m == "exec/attempt" and p["callId"] == call]


def confinements(server, call):
    return [attempt["confinement"] for attempt in attempts(server, call)]


def write_permission(*paths):
    return {
        "sandboxPermissions": "withAdditionalPermissions",
        "additionalPermissions": {"fileSystem": {"write": list(paths)}},
    }


def exists(*names):
    return os.path.exists(os.path.join(*names))


# Rights without a question


@test
def by_default_a_command_is_confined_to_its_workspace(scene):
    server = exec_server(scene, sandbox=None)
    with elsewhere() as outside:
        result = server.exec("echo in > inside; echo out > %s/made; cat inside" % outside,
                             callId="c")
        check("in\n" in result["output"], "output %r" % result["output"])
        check(not exists(outside, "made"), "it wrote outside")
    equal(result["sandbox"], {"type": SANDBOXED, "missing": []}, "sandbox of the answer")
    begin = server.program_of_call("c").begin
    equal(begin["sandbox"], result["sandbox"], "sandbox of exec/begin")
    end = server.wait_end_of_call("c").end
    equal((end["sandbox"], end["denials"]), (begin["sandbox"], []), "sandbox of exec/end")
    equal(confinements(server, "c"), [SANDBOXED], "confinement of exec/attempt")


@test
def the_network_of_a_confined_command_is_its_own(scene):
    server = confining(scene, "never")
    with listening() as port:
        result = server.exec(greeting(port))
        check(result["exitCode"] != 0, "it reached the machine")
        (denial,) = result["denials"]
        equal((denial["kind"], denial["target"]), ("network", "127.0.0.1:%d" % port), "denial")
        check(denial["rule"] and denial["allow"], "no rule, or no way: %s" % denial)
        server.call("session/configure", {"confinement": {"networkAccess": True}})
        equal(server.output_of(greeting(port)), "hello\n", "with networkAccess")


@test
def read_only_changes_nothing(scene):
    server = confining(scene, sandbox="read-only")
    result = server.exec("echo x > made")
    check(result["exitCode"] != 0 and not exists(server.home.project, "made"), "it wrote")


@test
def a_confined_command_has_a_terminal_of_its_own(scene):
    server = confining(scene)
    output = server.output_of("test -t 0 && echo yes > /dev/tty && ps -o tty= -p $$", tty=True)
    check(output.startswith("yes\r\n"), "output %r" % output)


@test
def what_runs_keeps_its_confinement_when_the_session_gets_another(scene):
    server = confining(scene)
    with elsewhere() as outside:
        process_id = server.left_running(
            "read line; echo x > %s/made; echo code $?" % outside, tty=True, callId="c"
        )
        server.call("session/configure", {"sandbox": "danger-full-access"})
        result = server.last_answer(process_id, "\n")
        check("code 1" in result["output"], "output %r" % result["output"])
        equal(result["sandbox"]["type"], SANDBOXED, "sandbox of the answer")
        check(not exists(outside, "made"), "it wrote outside")
        server.output_of("echo x > %s/made" % outside, callId="d")
        equal(confinements(server, "d"), ["none"], "of the next call")


@test
def a_call_is_confined_as_it_was_asked_about(scene):
    server = confining(scene, "untrusted")
    with elsewhere() as outside:
        message_id = server.exec_later("echo x > %s/made; echo code $?" % outside)
        question = server.question()
        equal(question["sandbox"]["type"], SANDBOXED, "sandbox of the question")
        server.call("session/configure", {"sandbox": "danger-full-access"})
        server.answer(question, "approved")
        check("code 1" in ran(server, message_id), "output")
        check(not exists(outside, "made"), "it wrote outside")


@test
def an_allow_rule_leaves_the_sandbox_where_it_is(scene):
    home = Home(scene)
    home.rules("[[rule]]\nprefix = ['touch']\ndecision = 'allow'\n")
    server = confining(scene, "on-request", home=home)
    with elsewhere() as outside:
        result = server.exec(["touch", outside + "/made"])
        check(result["exitCode"] != 0 and not exists(outside, "made"), "it wrote outside")
        equal(server.questions, [], "questions")


@test
def a_variable_of_the_call_opens_no_directory(scene):
    server = confining(
        scene, "on-request", confinement={"sharedTmp": True, "excludeSlashTmp": True}
    )
    with elsewhere() as outside:
        result = server.exec(["touch", outside + "/made"], env={"TMPDIR": outside})
        check(result["exitCode"] != 0 and not exists(outside, "made"), "it wrote there")


def caches(server, **params):
    output = server.exec(
        'for name in GOCACHE npm_config_cache CARGO_HOME MAVEN_ARGS; do printenv "$name" || echo -; done',
        **params
    )["output"]
    return output.split("\n")[:-1]


@test
def tools_keep_their_caches_for_the_session(scene):
    server = confining(scene)
    own = ["/tmp/.caches/go-build", "/tmp/.caches/npm"]
    cold = ["/tmp/.caches/cargo", "-Dmaven.repo.local=/tmp/.caches/maven"]
    equal(caches(server), own + cold, "caches")
    server.exec('mkdir -p "$GOCACHE" && echo kept > "$GOCACHE/x"')
    equal(server.exec('cat "$GOCACHE/x"')["output"], "kept\n", "what another command has kept")

    os.makedirs(os.path.join(server.home.path, ".cargo"))
    equal(caches(server), own + ["-"] + cold[1:], "with a directory of cargo's own")
    given = {"GOCACHE": "/given", "npm_config_cache": ""}
    equal(caches(server, env=given)[:2], ["/given", ""], "where the call says")


@test
def every_known_tool_has_a_cache_that_can_be_written(scene):
    server = confining(scene)
    names = (
        "CCACHE_DIR CHROME_CONFIG_HOME GOCACHE PIP_CACHE_DIR SCCACHE_DIR UV_CACHE_DIR YARN_CACHE_FOLDER "
        "npm_config_cache CARGO_HOME COREPACK_HOME DENO_DIR DOTNET_CLI_HOME GOMODCACHE GRADLE_USER_HOME "
        "NUGET_PACKAGES POETRY_CACHE_DIR PRE_COMMIT_HOME"
    ).split()
    script = 'for name in %s; do eval "mkdir -p \\"\\$$name\\"" || echo $name; done; echo "$MAVEN_ARGS"'
    output = server.output_of(script % " ".join(names))
    equal(output, "-Dmaven.repo.local=/tmp/.caches/maven\n", "caches that cannot be made")


@test
def a_command_that_is_granted_more_shares_no_cache(scene):
    server = confining(scene, "on-request", answer=lambda question: {"decision": "approved"})
    server.exec('mkdir -p "$CARGO_HOME" && echo evil > "$CARGO_HOME/config.toml"')
    with elsewhere() as outside:
        script = 'echo "$CARGO_HOME"; cat "$CARGO_HOME/config.toml"; true'
        output = server.exec(script, **write_permission(outside))["output"]
    check(output.startswith("/dev/shm/") and "evil" not in output, output)


# A sandbox that may write in /tmp protects the repositories of all tests.
@test(alone=True)
def tools_keep_their_own_caches_where_they_can_or_shall(scene):
    nothing = ["-"] * 4
    for confinement in ({"privateCaches": False}, {"sharedTmp": True}):
        equal(caches(confining(scene, confinement=confinement)), nothing, str(confinement))
    server = confining(scene, sandbox="danger-full-access")
    equal(caches(server), nothing, "without a sandbox")
    home = Home(scene)
    server = confining(scene, home=home, confinement={"writableRoots": [home.path]})
    equal(caches(server), nothing, "with a writable home")


@test
def words_in_the_output_are_a_hint_and_no_more(scene):
    server = confining(scene)
    result = server.exec("echo 'sandbox: permission denied'; exit 1")
    equal((result["output"], result["denials"]), ("sandbox: permission denied\n", []), "result")
    check(result.get("sandboxHint"), "no hint: %s" % brief(result, 400))
    equal(server.questions, [], "questions")


@test
def calls_that_come_before_the_machine_is_known_are_all_run(scene):
    server = confining(scene)
    ids = [server.exec_later("echo %d" % number) for number in range(12)]
    for number, message_id in enumerate(ids):
        equal(ran(server, message_id), "%d\n" % number, "output")


@test
def a_confined_call_that_is_cancelled_at_once_leaves_nothing(scene):
    server = confining(scene)
    for number in range(12):
        message_id = server.exec_later(
            "sleep 60", callId="c%d" % number, onCancel="terminate" if number % 2 else "keep"
        )
        server.notify("$/cancelRequest", {"id": message_id})
        server.error(message_id, -32800, "cancelled")
    server.call("exec/terminateAll")
    eventually(lambda: not server.programs(), "the end of all programs")


# A call that requests more rights


@test
def an_escalated_call_runs_outside_once_a_person_says_so(scene):
    server = confining(scene, "on-request", confinement={"denyRead": ["/var/tmp/secret*"]})
    with elsewhere() as outside:
        message_id = server.exec_later(
            ["touch", outside + "/made"], sandboxPermissions="requireEscalated", callId="c"
        )
        question = server.question()
        equal((question["kind"], question["sandbox"]["type"]), ("escalation", "none"), "question")
        notes = question["display"]["notes"]
        check(any("/var/tmp/secret" in note for note in notes), "denied reads in %s" % notes)
        server.answer(question, "approved")
        ran(server, message_id)
        check(exists(outside, "made"), "it did not run")
    equal(confinements(server, "c"), ["none"], "confinement")
    equal(server.program_of_call("c").begin["sandbox"]["type"], "none", "sandbox of exec/begin")


@test
def more_permissions_are_shown_and_are_all_there_is(scene):
    server = confining(scene, "on-request")
    with elsewhere() as outside:
        granted = os.path.join(outside, "granted")
        os.makedirs(granted)
        os.symlink("granted", outside + "/link")
        script = "echo x > %s/made; echo x > %s/other; echo code $?" % (granted, outside)
        message_id = server.exec_later(script, **write_permission(outside + "/link", granted))
        question = server.question()
        equal(question["kind"], "permissions", "kind")
        equal(question["sandbox"]["type"], SANDBOXED, "sandbox")
        equal(question["additionalPermissions"], {"fileSystem": {"write": [granted]}}, "shown")
        notes = question["display"]["notes"]
        check("It may write %s." % granted in notes, "notes %s" % notes)
        check(not any("network" in note for note in notes), "notes %s" % notes)
        server.answer(question, SESSION, scope="directory")
        check("code 1" in ran(server, message_id), "it wrote what nobody granted")
        equal((exists(granted, "made"), exists(outside, "other")), (True, False), "files")

        before = len(server.questions)
        ran(server, server.exec_later(script, **write_permission(granted)))
        equal(len(server.questions), before, "questions about the same")
        denied_id = server.exec_later(script, **write_permission(outside))
        server.answer(server.question(), "denied")
        denied(server, denied_id)


@test
def a_place_that_one_call_may_write_has_no_harmless_programs_for_the_next(scene):
    server = confining(scene, "on-request", env={"PATH": "/usr/local/bin:/usr/bin:/bin"})
    server.output_of("ls", callId="before")
    equal(decided_by(server, "before"), "safe list", "source of the decision")
    message_id = server.exec_later("true", **write_permission("/usr/local/bin"))
    server.answer(server.question(), "approved")
    ran(server, message_id)
    server.output_of("ls", callId="after")
    equal(decided_by(server, "after"), "policy", "source of the decision")


@test
def the_network_can_be_asked_for(scene):
    server = confining(scene, "on-request")
    with listening() as port:
        message_id = server.exec_later(
            greeting(port),
            sandboxPermissions="withAdditionalPermissions",
            additionalPermissions={"network": {"enabled": True}},
            callId="c",
        )
        question = server.question()
        check(any("network" in note for note in question["display"]["notes"]), "notes")
        server.answer(question, "approved")
        equal(ran(server, message_id), "hello\n", "output")
    equal(confinements(server, "c"), [SANDBOXED], "confinement")


@test
def what_a_command_with_more_rights_leaves_in_tmp_the_next_one_finds(scene):
    server = confining(scene, "on-request")
    with elsewhere() as outside:
        message_id = server.exec_later("echo kept > /tmp/log", **write_permission(outside))
        server.answer(server.question(), "approved")
        ran(server, message_id)
        equal(server.output_of("cat /tmp/log"), "kept\n", "what the next command finds")
        server.call("session/configure", {"confinement": {"denyRead": [outside]}})
        check("No such file" in server.output_of("cat /tmp/log; true"), "another policy has it")


@test
def a_link_in_tmp_does_not_lead_the_mounts_of_the_next_command(scene):
    server = confining(scene, "on-request")
    with tempfile.TemporaryDirectory(prefix="execward-test-", dir="/tmp") as granted:
        os.mkdir(granted + "/below")
        server.output_of("ln -s /usr %s" % granted)
        message_id = server.exec_later("true", **write_permission(granted + "/below"))
        server.answer(server.question(), "approved")
        error = server.error(message_id, kind="sandboxUnavailable")
        check(granted in error["message"], "what is refused: %s" % error["message"])
        server.output_of("rm %s" % granted)
        message_id = server.exec_later("echo x > %s/below/made" % granted,
                                       **write_permission(granted + "/below"))
        server.answer(server.question(), "approved")
        ran(server, message_id)
        check(exists(granted, "below", "made"), "what the command made")


@test
def what_was_granted_is_not_what_has_taken_its_place(scene):
    server = confining(scene, "on-request")
    with elsewhere() as outside:
        granted, other = outside + "/granted", outside + "/other"
        os.makedirs(granted)
        os.makedirs(other)
        message_id = server.exec_later(
            "echo x > %s/made" % granted, **write_permission(granted)
        )
        question = server.question()
        os.rmdir(granted)
        os.symlink("other", granted)
        server.answer(question, "approved")
        server.error(message_id, kind="sandboxUnavailable")
        check(not exists(other, "made"), "it wrote where the link leads")


@test
def a_root_that_became_something_else_is_refused(scene):
    server = confining(scene, "never")
    project = server.home.project
    with elsewhere() as outside:
        server.output_of("echo x > mine")
        os.rename(project, project + "0")
        os.symlink(outside, project)
        error = server.exec_refused("touch evil", kind="sandboxUnavailable")
        check("is not the directory that it was" in error["message"], "message %r" % error)
        check("session/configure" in error["data"]["hint"], "hint %r" % error)
        equal(os.listdir(outside), [], "written elsewhere")
        os.remove(project)
        os.rename(project + "0", project)
        server.output_of("echo x > mine")
        shutil.copytree(project, project + "1")
        shutil.rmtree(project)
        os.rename(project + "1", project)
        server.exec_refused("true", kind="sandboxUnavailable")
        server.call("session/configure", {"workspaceRoots": ["file://" + project]})
        server.output_of("echo x > mine")


@test
def places_of_other_agents_and_editors_are_read_only_unless_the_list_is_shortened(scene):
    server = confining(scene, "never")
    for name in (".claude/settings.json", ".vscode/tasks.json", ".vscode/settings.json", ".idea/x"):
        path = os.path.join(server.home.project, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        open(path, "w").close()
    script = (
        "for f in .claude/settings.json .vscode/tasks.json .vscode/settings.json .idea/x; do "
        "(echo >> $f) 2>/dev/null && echo $f; done; mkdir -p .cursor && echo made"
    )
    equal(server.output_of(script), ".vscode/settings.json\n.idea/x\nmade\n", "by default")
    server.call("session/configure", {"confinement": {"readOnly": [".claude", ".idea"]}})
    equal(server.output_of(script), ".vscode/tasks.json\n.vscode/settings.json\nmade\n", "then")
    server.call("session/configure", {"confinement": {"readOnly": []}})
    equal(server.output_of(script).count("\n"), 5, "without a list")


@test
def settings_of_git_shells_and_ssh_are_read_only_in_a_home_directory_that_is_a_workspace(scene):
    home = Home(scene)
    files = (
        ".gitconfig .config/git/config .profile .bashrc .bash_profile .bash_login .bash_logout .zshenv "
        ".zprofile .zshrc .zlogin .config/fish/config.fish .ssh/config"
    ).split()
    for name in (*files, "notes"):
        home.file(name, "")
    server = confining(scene, "never", home=home, settings={"workspaceRoots": [home.path]}, cwd=home.path)
    script = "for f in %s notes; do (echo >> $f) 2>/dev/null && echo $f; done" % " ".join(files)
    equal(server.output_of(script), "notes\n", "what can be written")


@test
def paths_that_nobody_can_resolve_are_refused(scene):
    server = confining(scene, "on-request")
    for path in ("/never-made/../etc", "a\0b"):
        error = server.exec_refused("ls", "invalidParams", -32602, **write_permission(path))
        equal(error["data"]["path"], "additionalPermissions.fileSystem.write[0]", "path")


# After a denial


@test
def a_person_sees_what_was_refused_and_can_allow_just_that(scene):
    server = confining(scene, "on-request")
    with listening() as port, elsewhere() as outside:
        script = "%s; code=$?; touch %s/made; exit $code" % (greeting(port), outside)
        message_id = server.exec_later(script, callId="c")
        question = server.question()
        equal(question["kind"], "retry", "kind")
        (denial,) = question["denials"]
        equal((denial["kind"], denial["operation"]), ("network", "connect"), "denial")
        first = question["availableDecisions"][0]
        equal(
            (first["decision"], first["widening"]),
            (WIDENED, {"read": [], "write": [], "network": True}),
            "what is offered first",
        )
        notes = " ".join(question["display"]["notes"])
        for part in ("127.0.0.1:%d" % port, "again from its beginning", "not for single hosts"):
            check(part in notes, "%r is not in the notes: %s" % (part, notes))
        server.answer(question, WIDENED)
        result = server.result(message_id)
        check("hello\n" in result["output"], "output %r" % result["output"])
        check(not exists(outside, "made"), "it wrote outside")
        equal((result["exitCode"], result["denials"]), (0, []), "result")
    equal(confinements(server, "c"), [SANDBOXED, SANDBOXED], "confinement")
    check("network" in attempts(server, "c")[1]["reason"], "reason of the second attempt")


@test
def a_refused_socket_is_offered_itself(scene):
    server = confining(scene)
    with elsewhere() as outside, listening(outside + "/a") as one, listening(outside + "/b") as two:
        script = "%s && touch %s/made || %s" % (greeting(one), outside, greeting(two))
        message_id = server.exec_later(script)
        question = server.question()
        equal({d["target"] for d in question["denials"]}, {one, two}, "denials")
        equal(
            question["availableDecisions"][0]["widening"],
            {"read": [], "write": [one, two], "network": False},
            "what is offered first",
        )
        server.answer(question, WIDENED)
        equal(ran(server, message_id).count("hello"), 2, "greetings")
        check(not exists(outside, "made"), "it wrote beside them")


@test
def a_refused_write_is_offered_as_its_directory(scene):
    server = confining(scene)  # its policy may ask, so writes are reported
    with elsewhere() as outside:
        os.makedirs(outside + "/a")
        script = "echo x > %s/a/made && echo x > %s/other" % (outside, outside)
        message_id = server.exec_later(script, callId="c")
        question = server.question()
        (denial,) = question["denials"]
        equal((denial["kind"], denial["target"]), ("file", outside + "/a/made"), "denial")
        equal(
            question["availableDecisions"][0]["widening"],
            {"read": [], "write": [outside + "/a"], "network": False},
            "what is offered first",
        )
        server.answer(question, WIDENED)
        result = server.result(message_id)
        equal((exists(outside, "a/made"), exists(outside, "other")), (True, False), "files")
        check(result["exitCode"] != 0 and result["denials"], "result %s" % brief(result, 400))
        equal(len(server.questions), 1, "questions: there is no third attempt")


@test
def without_the_sandbox_is_the_other_choice(scene):
    server = confining(scene)
    message_id = server.exec_later(ONCE, callId="c")
    server.answer(server.question(), "approved")
    result = server.result(message_id)
    equal((result["exitCode"], result["output"], result["denials"]), (0, "fine\n", []), "result")
    equal(confinements(server, "c"), [SANDBOXED, "none"], "confinement")


@test
def a_widening_that_is_remembered_runs_it_again_unasked(scene):
    server = confining(scene)
    with listening() as port:
        message_id = server.exec_later(greeting(port))
        server.answer(server.question(), WIDENED, scope="directory")
        equal(ran(server, message_id), "hello\n", "output")
        (approval,) = server.approvals()
        check("network" in approval["reason"], "the list does not say how far: %s" % approval)

        before = len(server.questions)
        equal(server.output_of(greeting(port), callId="again"), "hello\n", "output")
        equal(len(server.questions), before, "questions")
        equal(confinements(server, "again"), [SANDBOXED, SANDBOXED], "confinement")
        reason = attempts(server, "again")[1]["reason"]
        check("grant %s" % approval["id"] in reason, "reason %r" % reason)
        program = [p for p in server.programs_by_id.values() if p.begin["callId"] == "again"][1]
        equal(program.begin["decidedBy"], "grant", "who decided")

        message_id = server.exec_later("true; " + greeting(port))
        server.answer(server.question(), "denied")
        check(server.result(message_id)["denials"], "denials of another command")
        server.call("approvals/revoke", {"id": approval["id"]})
        message_id = server.exec_later(greeting(port))
        server.answer(server.question(), "denied")
        check(server.result(message_id)["denials"], "denials once it is revoked")


@test
def an_approval_to_run_outside_covers_a_second_attempt(scene):
    server = confining(scene, "on-request")
    with listening() as port:
        escalated = server.exec_later(greeting(port), sandboxPermissions="requireEscalated")
        server.answer(server.question(), SESSION, scope="directory")
        ran(server, escalated)
        before = len(server.questions)
        equal(server.output_of(greeting(port), callId="c"), "hello\n", "output")
        equal(len(server.questions), before, "questions")
        equal(confinements(server, "c"), [SANDBOXED, "none"], "confinement")


@test
def an_approval_never_makes_a_silent_policy_run_again(scene):
    home = Home(scene)
    server = confining(scene, home=home)
    with listening() as port:
        message_id = server.exec_later(greeting(port))
        server.answer(server.question(), WIDENED, scope="project")
        ran(server, message_id)
        server.call("session/configure", {"approvalPolicy": "never"})
        result = server.exec(greeting(port), callId="c")
        check(result["exitCode"] != 0 and result["denials"], "result %s" % brief(result, 400))
        equal(confinements(server, "c"), [SANDBOXED], "confinement")


@test
def a_denial_after_seconds_is_asked_about_like_an_early_one(scene):
    server = confining(scene)
    message_id = server.exec_later("sleep 1.5; " + ONCE)
    server.answer(server.question(), "approved")
    equal(ran(server, message_id), "fine\n", "output")


@test
def who_has_an_answer_already_is_not_asked(scene):
    server = confining(scene, answer=always("approved"))
    script = "while [ ! -e go ]; do sleep 0.05; done; echo kept; %s; exit 7" % NOWHERE
    process_id = server.left_running(script, callId="c")
    scene.file("home/project/go")
    result = server.last_answer(process_id)
    equal((result["exitCode"], result["output"]), (7, "kept\n"), "result")
    equal([denial["kind"] for denial in result["denials"]], ["network"], "denials of the answer")
    end = server.wait_end(process_id).end
    equal(end["denials"], result["denials"], "denials of exec/end")
    equal((server.questions, len(server.programs_by_id)), ([], 1), "questions and programs")
    equal(server.end(), 0, "exit status")
    rows = [row for row in server.home.audit() if row["event"] == "denial"]
    equal(len(rows), 1, "rows")
    check("192.0.2.1:9" in rows[0]["detail"], "detail %r" % rows[0]["detail"])


@test
def no_leaves_the_result_of_the_first_attempt(scene):
    server = confining(scene)
    message_id = server.exec_later(ONCE)
    server.answer(server.question(), "denied")
    result = server.result(message_id)
    equal((result["exitCode"], result["output"]), (7, "kept\n"), "result")
    check(result["denials"], "no denials")
    equal(len(server.programs_by_id), 1, "programs")


@test
def a_program_that_succeeds_or_is_ended_is_not_run_again(scene):
    server = confining(scene)
    result = server.exec(NOWHERE + "; true")
    equal((result["exitCode"], len(result["denials"])), (0, 1), "one that succeeds")
    result = server.exec(NOWHERE + "; sleep 60", timeoutMs=min(int(within(6000)), 20_000))
    equal((result["exitCode"], len(result["denials"])), (124, 1), "one that took too long")
    message_id = server.exec_later(NOWHERE + "; echo now; exec sleep 60", callId="c")
    process_id = server.program_of_call("c").begin["processId"]
    server.wait_delta(process_id, "now")
    server.call("exec/terminate", {"processId": process_id})
    equal(len(server.result(message_id)["denials"]), 1, "one that was ended")
    equal(server.questions, [], "questions")


@test
def what_a_policy_may_ask_about_after_a_denial(scene):
    with elsewhere() as outside, listening(outside + "/socket") as path:
        for number, (policy, what, may_ask) in enumerate((
            ("on-request", NOWHERE, True),
            ("on-request", greeting(path), False),
            ("on-failure", greeting(path), True),
            ("never", NOWHERE, False),
            ("never", greeting(path), False),
        )):
            server = confining(
                scene, policy, home=Home(scene, str(number)), answer=always("denied")
            )
            result = server.exec(what)
            check(result["exitCode"] != 0 and result["denials"], "%s: %s" % (policy, what))
            equal(len(server.questions), int(may_ask), "questions with %s, %s" % (policy, what))


@test
def a_question_about_a_second_attempt_is_about_the_confinement_it_had(scene):
    server = confining(scene, "on-request")
    with listening() as port, elsewhere() as outside:
        script = "touch %s/made; %s" % (outside, greeting(port))
        message_id = server.exec_later(script, callId="c")
        question = server.question()
        server.call("session/configure", {"sandbox": "danger-full-access"})
        server.answer(question, WIDENED)
        check("hello\n" in ran(server, message_id), "output")
        check(not exists(outside, "made"), "it was not confined")
    equal(confinements(server, "c"), [SANDBOXED, SANDBOXED], "confinement")


@test
def calls_share_a_question_about_the_same_denial(scene):
    server = confining(scene)
    with listening() as port:
        script = "sleep 0.3; " + greeting(port)
        ids = [server.exec_later(script) for _ in range(2)]
        server.answer(server.question(), WIDENED)
        for message_id in ids:
            question = server.question_about(message_id)
            if question:
                server.answer(question, WIDENED)
            equal(ran(server, message_id), "hello\n", "output")


# The record


@test
def the_audit_tells_how_each_attempt_was_confined(scene):
    server = confining(scene)
    message_id = server.exec_later(ONCE)
    server.answer(server.question(), "approved")
    ran(server, message_id)
    equal(server.end(), 0, "exit status")
    rows = server.home.audit()
    equal(
        [row["event"] for row in rows],
        ["start", "denial", "exit", "question", "decision", "start", "exit"],
        "events",
    )
    starts = [row["detail"] for row in rows if row["event"] == "start"]
    exits = [row["detail"] for row in rows if row["event"] == "exit"]
    for details in (starts, exits):
        check(SANDBOXED in details[0] and "none" in details[1], "details %s" % details)
    for detail in exits:
        check("peak memory " in detail, detail)
    (denial,) = (row for row in rows if row["event"] == "denial")
    equal((denial["decision"], denial["decidedBy"]), ("1", "sandbox"), "count and who")


# A machine that cannot


@test
def what_cannot_be_confined_is_not_run(scene):
    server = confining(scene, prepare=machines.without_user_namespaces)
    error = server.exec_refused("touch made", "sandboxUnavailable")
    check(error["data"].get("hint"), "no way out: %s" % error)
    server.call("session/configure", {"approvalPolicy": "untrusted"})
    server.exec_refused("touch made", "sandboxUnavailable")
    equal(server.questions, [], "questions about what cannot run")
    check(not exists(server.home.project, "made"), "it ran")
    equal(server.programs_by_id, {}, "programs")
    server.call("session/configure", {"sandbox": "danger-full-access"})
    server.exec("ls")


@test
def best_effort_runs_it_and_tells_what_is_missing(scene):
    server = confining(
        scene, "untrusted", {"enforcement": "best-effort"}, prepare=machines.without_user_namespaces
    )
    result = server.exec("ls")
    equal(result["exitCode"], 0, "exit code")
    check("procHidden" in result["sandbox"]["missing"], "sandbox %s" % result["sandbox"])
    message_id = server.exec_later("touch made")
    question = server.question()
    equal(question["sandbox"]["missing"], result["sandbox"]["missing"], "before the answer")
    check(any("procHidden" in note for note in question["display"]["notes"]), "notes")
    server.answer(question, "approved")
    ran(server, message_id)


if __name__ == "__main__":
    main()

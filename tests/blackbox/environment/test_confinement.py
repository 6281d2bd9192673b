"""Confined commands in an environment: the confinement that is sent, and the result if it is not kept."""

import json
import os
import sys

sys.path.insert(0, os.path.abspath(__file__ + "/../../.."))
from support.client import check, equal, file_uri
from support.exec import Home, always, elsewhere, exec_server, ran
from support.peer import (
    Execward,
    Peer,
    box,
    completed,
    confining,
    fake,
    is_ended_and_failed,
    later,
    names_the_box,
    place,
    server_with,
    trouble,
)
from support.runner import main, test

SANDBOXED = "linuxSeccomp"
BEST_EFFORT = 'confinement.enforcement = "best-effort"\n'


# Confinement


def writable(sandbox):
    """Returns what the entries of a sandbox in Codex's form allow to write."""
    entries_of_it = sandbox["permissions"]["file_system"].get("entries", [])
    return [entry["path"] for entry in entries_of_it if entry["access"] == "write"]


@test
def codex_is_sent_the_sandbox_in_its_own_form_with_the_roots_there(scene):
    there = Peer(scene)
    server = confining(scene, there)
    result = server.exec("true", environment="box", callId="c")
    completed(result)
    sandbox = there.sent("process/start")[0]["sandbox"]
    permissions = sandbox["permissions"]
    equal((permissions["type"], permissions["network"]), ("managed", "restricted"), "permissions")
    equal(permissions["file_system"]["type"], "restricted", "files")
    check(writable(sandbox), "nothing can be written: %s" % sandbox)
    context = sandbox.get("policyContext") or sandbox
    equal(context["workspaceRoots"], [file_uri(there.directory)], "roots")
    check(server.home.path not in json.dumps(sandbox), "a path of this machine: %s" % sandbox)


@test
def all_configured_roots_are_in_the_sandbox(scene):
    there = Peer(scene)
    there.settings["workspace_roots"] = [there.directory, "/srv/more of it"]
    server = confining(scene, there)
    completed(server.exec("true", environment="box"))
    sandbox = there.sent("process/start")[0]["sandbox"]
    context = sandbox.get("policyContext") or sandbox
    roots = [file_uri(root) for root in there.settings["workspace_roots"]]
    equal(context["workspaceRoots"], roots, "roots")


@test
def execward_is_sent_a_sandbox_without_a_path_of_this_machine(scene):
    there = Peer(scene, dialect="execward")
    server = confining(scene, there)
    equal(server.exec("true", environment="box")["sandbox"]["type"], SANDBOXED, "sandbox")
    sandbox = there.sent("process/start")[0]["sandbox"]
    check(server.home.path not in json.dumps(sandbox), "a path of this machine: %s" % sandbox)


@test
def the_reported_confinement_is_told(scene):
    server = confining(scene, Peer(scene))
    result = server.exec("true", environment="box", callId="c")
    equal(result["sandbox"]["type"], SANDBOXED, "sandbox of the answer")
    program = server.wait_end_of_call("c")
    for event in (program.begin, program.end):
        equal(event["sandbox"]["type"], SANDBOXED, "sandbox of an event")
    attempts = [p["confinement"] for m, p in server.events if m == "exec/attempt"]
    equal(attempts, [SANDBOXED], "attempts")


@test
def without_confinement_no_sandbox_is_sent(scene):
    server, there = fake(scene)
    equal(server.exec("true", environment="box")["sandbox"]["type"], "none", "sandbox")
    sandbox = there.sent("process/start")[0].get("sandbox")
    check(not sandbox or sandbox["permissions"]["type"] == "disabled", "sandbox: %s" % sandbox)


@test
def the_network_of_the_session_is_in_the_sandbox(scene):
    there = Peer(scene)
    server = confining(scene, there, settings={"confinement": {"networkAccess": True}})
    completed(server.exec("true", environment="box"))
    sandbox = there.sent("process/start")[0]["sandbox"]
    equal(sandbox["permissions"]["network"], "enabled", "network")


@test
def a_sandbox_of_the_environment_is_instead_of_the_sessions(scene):
    strict = Peer(scene, "strict", settings={"sandbox": "read-only"})
    free = Peer(scene, "free", settings={"sandbox": "danger-full-access"})
    home = Home(scene)
    home.config(strict.config() + free.config())
    server = exec_server(scene, home=home, policy="on-failure", sandbox="workspace-write")
    equal(server.exec("true", environment="strict")["sandbox"]["type"], SANDBOXED, "strict")
    sandbox = strict.sent("process/start")[0]["sandbox"]
    places = [path for path in writable(sandbox) if path["type"] != "special"]
    kinds = {path["value"]["kind"] for path in writable(sandbox) if path["type"] == "special"}
    check(not places and not kinds & {"root", "project_roots"}, "writable: %s" % sandbox)
    equal(server.exec("true", environment="free")["sandbox"]["type"], "none", "free")


@test
def a_real_server_confines_a_command_to_the_workspace_there(scene):
    there = Execward(scene, "box")
    server = confining(scene, there)
    with elsewhere() as outside:
        script = "echo in > inside; echo out > %s/made; cat inside" % outside
        result = server.exec(script, environment="box")
        check("in\n" in result["output"], "output %r" % result["output"])
        equal(os.listdir(outside), [], "files outside")
    equal(result["sandbox"]["type"], SANDBOXED, "sandbox")
    check(os.path.exists(place(there) + "/inside"), "nothing was written inside")


@test
def a_real_server_keeps_read_only(scene):
    there = Execward(scene, "box", sandbox="read-only")
    server = confining(scene, there)
    result = server.exec("echo x > made", environment="box")
    check(result["exitCode"] != 0 and not os.path.exists(place(there) + "/made"), "it wrote")
    equal(result["sandbox"]["type"], SANDBOXED, "sandbox")


@test
def one_that_does_not_report_confinement_is_sent_nothing_to_confine(scene):
    server, there = box(scene, "old", sandbox="workspace-write", policy="on-failure")
    message_id = server.exec_later(["touch", "made"], environment="box")
    kind, message = trouble(server, message_id)
    equal(kind, "sandboxUnavailable", "kind")
    check(names_the_box(message), "message %r" % message)
    equal(there.sent("process/start"), [], "starts")


@test
def a_program_that_runs_unconfined_against_orders_is_ended(scene):
    is_ended_and_failed(scene, sandbox_type="none")


@test
def a_program_that_runs_who_knows_how_is_ended(scene):
    is_ended_and_failed(scene, sandbox_type=None)


@test
def leaving_the_sandbox_there_is_asked_about(scene):
    there = Peer(scene)
    server = server_with(scene, there, policy="on-request", sandbox="workspace-write")
    escalated = {"sandboxPermissions": "requireEscalated", "justification": "why not"}
    message_id = server.exec_later("true", environment="box", **escalated)
    question = server.question()
    equal((question["kind"], question["environment"]), ("escalation", "box"), "question")
    server.answer(question, "approved")
    ran(server, message_id)
    sandbox = there.sent("process/start")[0].get("sandbox")
    check(not sandbox or sandbox["permissions"]["type"] == "disabled", "sandbox: %s" % sandbox)


@test
def paths_for_a_wider_sandbox_are_those_of_the_environment(scene):
    there = Peer(scene)
    server = server_with(
        scene, there, policy="on-request", sandbox="workspace-write", answer=always("approved")
    )
    more = {
        "sandboxPermissions": "withAdditionalPermissions",
        "additionalPermissions": {"fileSystem": {"write": ["/srv/nowhere/here"]}},
    }
    completed(server.exec("true", environment="box", **more))
    sandbox = there.sent("process/start")[0]["sandbox"]
    check("file:///srv/nowhere/here" in json.dumps(writable(sandbox)), "writable: %s" % sandbox)


@test
def a_sandbox_that_is_none_is_no_sandbox(scene):
    is_ended_and_failed(scene, sandbox_type="disabled")


@test
def a_sandbox_that_nobody_knows_is_no_sandbox(scene):
    is_ended_and_failed(scene, sandbox_type="superSandbox")


@test
def a_sandbox_that_lacks_something_is_not_enough(scene):
    is_ended_and_failed(scene, "network, moon", dialect="execward", missing=["network", "moon"])


@test
def best_effort_takes_what_execward_there_can_do_and_tells(scene):
    for kind, missing in (("none", ["files"]), ("linuxSeccomp", ["moon"])):
        there = Peer(scene, "box-" + kind, dialect="execward", sandbox_type=kind, missing=missing)
        server = confining(scene, there, config=BEST_EFFORT, home=Home(scene, "home-" + kind))
        result = server.exec("echo on", environment=there.name, callId="c")
        equal(completed(result), "on\n", "output")
        program = server.wait_end_of_call("c")
        for part in (result, program.begin, program.end):
            sandbox = part["sandbox"]
            equal((sandbox["type"], sandbox["missing"]), (kind, missing), "sandbox")


@test
def best_effort_does_not_count_for_codex(scene):
    there = Peer(scene, sandbox_type="none")
    server = confining(scene, there, config=BEST_EFFORT)
    message = server.reply(later(server, "true"))
    check("sandboxUnavailable" in str(message), "answer %s" % message)


if __name__ == "__main__":
    main()

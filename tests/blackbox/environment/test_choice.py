"""The choice of an environment: environment/list, and `environment` of exec/command, exec/list and
exec/terminateAll, without a connection to an environment."""

import os
import sys

sys.path.insert(0, os.path.abspath(__file__ + "/../../.."))
from support.client import check, equal
from support.exec import Home, exec_server
from support.runner import main, test

TWO = """
[[environments]]
id = "box"
program = "ssh"
args = ["box", "execward", "serve"]
[[environments]]
id = "pod"
program = "/usr/bin/kubectl"
"""


def server_with(scene, config, **options):
    home = Home(scene)
    home.config(config)
    return exec_server(scene, home=home, **options)


def entries(server):
    return server.call("environment/list")["environments"]


# environment/list


@test
def without_environments_there_is_this_machine(scene):
    server = exec_server(scene)

    (here,) = entries(server)

    equal((here["id"], here["state"], here["isDefault"]), ("local", "local", True), "entry")
    equal(here["cwd"], server.home.project, "cwd")
    equal(here["shell"]["name"], "bash", "shell")
    equal(here["processes"], 0, "processes")


@test
def the_environments_of_the_file_are_listed_in_their_order(scene):
    server = server_with(scene, TWO)

    here, box, pod = entries(server)

    equal(here["id"], "local", "the first")
    equal(
        box,
        {
            "id": "box",
            "isDefault": False,
            "state": "idle",
            "program": "ssh",
            "args": ["box", "execward", "serve"],
            "processes": 0,
        },
        "box",
    )
    equal((pod["id"], pod["program"], pod["args"]), ("pod", "/usr/bin/kubectl", []), "pod")


@test
def the_default_is_told(scene):
    server = server_with(scene, 'default_environment = "pod"\n' + TWO)

    equal([entry["isDefault"] for entry in entries(server)], [False, False, True], "isDefault")


@test
def programs_that_live_here_are_counted(scene):
    server = exec_server(scene)
    process_id = server.left_running("exec sleep 600")
    server.start("p", ["sleep", "600"])
    server.exec("true")

    equal(entries(server)[0]["processes"], 2, "processes")

    server.call("exec/terminate", {"processId": process_id})
    server.wait_end(process_id)
    equal(entries(server)[0]["processes"], 1, "processes after an end")


@test
def listing_ignores_params(scene):
    server = exec_server(scene)
    for params in (None, {}, [], {"environment": "box"}):
        equal(len(server.call("environment/list", params)["environments"]), 1, "entries")


# exec/command


@test
def local_is_this_machine_whatever_the_default_is(scene):
    server = server_with(scene, 'default_environment = "box"\n' + TWO)

    result = server.exec("echo here", environment="local")

    equal((result["state"], result["output"]), ("completed", "here\n"), "result")
    check("environment" not in result, "an environment: %s" % result.get("environment"))
    program = server.wait_end_of_call(result["callId"])
    check("environment" not in program.begin, "an environment in exec/begin")
    check("environment" not in program.end, "an environment in exec/end")
    listed = server.listed(program.begin["processId"])
    check("environment" not in listed, "an environment in exec/list")


@test
def without_a_default_commands_run_here(scene):
    for text in (TWO, 'default_environment = ""\n' + TWO, 'default_environment = "local"\n' + TWO):
        server = server_with(scene, text)
        equal(server.output_of("echo here"), "here\n", "output with %s" % text.split("\n")[0])


@test
def an_environment_that_there_is_not_is_refused_with_those_that_there_are(scene):
    server = server_with(scene, TWO)
    for name in ("bx", "", "Local", "x" * 5000):
        error = server.exec_refused("echo here", "invalidParams", -32602, environment=name)
        equal(error["data"]["path"], "environment", "path")
        check(name[:20] in error["message"] and len(error["message"]) < 1000, error["message"])
        equal(error["data"]["hint"], 'there are "local", "box", "pod"', "hint")
    equal(server.events, [], "events")


@test
def without_environments_the_hint_says_where_they_come_from(scene):
    error = exec_server(scene).exec_refused("echo here", "invalidParams", environment="box")
    check("[[environments]] in config.toml" in error["data"]["hint"], error["data"]["hint"])


@test
def an_environment_is_a_string(scene):
    error = exec_server(scene).exec_refused("echo here", "invalidParams", environment=5)
    equal(error["data"]["path"], "environment", "path")


@test
def nothing_runs_here_that_was_to_run_elsewhere(scene):
    nowhere = '[[environments]]\nid = "box"\nprogram = "%s"\n' % scene.path("missing")
    patch = "apply_patch <<'EOF'\n*** Begin Patch\n*** Add File: new\n+text\n*** End Patch\nEOF\n"
    server = server_with(scene, 'default_environment = "box"\n' + nowhere)
    for params in ({}, {"environment": "box"}):
        for what in ("touch new", ["touch", "new"]):
            failure = server.exec(what, **params)["failure"]
            equal(failure["kind"], "environmentUnavailable", "failure")
            check("box" in failure["message"], failure["message"])
        error = server.exec_refused(patch, "environmentUnavailable", -32603, **params)
        check("box" in error["message"], error["message"])
    check(not os.path.exists(os.path.join(server.home.project, "new")), "it ran here")
    equal(server.output_of("ls", environment="local"), "", "files")


# exec/list and exec/terminateAll


@test
def lists_are_of_one_environment_if_they_are_asked_so(scene):
    server = server_with(scene, TWO, policy="untrusted")
    asking = server.exec_later("touch x", callId="asks")
    question = server.question()
    check("environment" not in question.params, "an environment in the question")
    server.call("session/configure", {"approvalPolicy": "on-request"})
    process_id = server.left_running("exec sleep 600")
    for params in (None, {}, [], {"environment": None}, {"environment": "local"}):
        listed = server.call("exec/list", params)
        equal([p["processId"] for p in listed["processes"]], [process_id], "of %s" % params)
        equal([c["callId"] for c in listed["calls"]], ["asks"], "calls of %s" % params)
        check("environment" not in listed["calls"][0], "an environment in a call")
    equal(
        server.call("exec/list", {"environment": "box"}), {"processes": [], "calls": []}, "of box"
    )
    server.answer(question, "denied")
    server.error(asking, kind="denied")


@test
def the_end_of_everything_can_be_of_one_environment(scene):
    server = server_with(scene, TWO)
    process_id = server.left_running("exec sleep 600")

    equal(server.call("exec/terminateAll", {"environment": "pod"}), {"terminated": []}, "of pod")
    equal(server.listed(process_id)["state"], "running", "state")
    equal(
        server.call("exec/terminateAll", {"environment": "local"}),
        {"terminated": [process_id]},
        "of this machine",
    )
    server.wait_end(process_id)


@test
def lists_and_ends_refuse_an_environment_that_there_is_not(scene):
    server = server_with(scene, TWO)
    process_id = server.left_running("exec sleep 600")
    for method in ("exec/list", "exec/terminateAll"):
        error = server.refused(method, {"environment": "bx"}, -32602, "invalidParams")
        equal(error["data"]["path"], "environment", "path")
    equal(server.listed(process_id)["state"], "running", "state")


# The configuration file


@test
def a_file_with_a_mistake_in_an_environment_is_refused(scene):
    home = Home(scene)
    path = home.config('default_environment = "bx"\n' + TWO + 'cwd = "here"\n')

    done = home.cli("serve")

    equal(done.returncode != 0, True, "it runs")
    check(path + ":1:23: key 'default_environment'" in done.stderr, done.stderr)
    check(path + ":10:7: key 'environments.cwd'" in done.stderr, done.stderr)


@test
def a_project_cannot_bring_environments(scene):
    home = Home(scene)
    home.file("project/.execward/config.toml", TWO)
    home.file("project/.execward/rules.d/own.toml", TWO)
    home.good_cli("project", "trust", home.project)

    equal(len(entries(exec_server(scene, home=home))), 1, "entries")


if __name__ == "__main__":
    main()

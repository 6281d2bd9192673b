"""execward config: the settings, their sources, and the mistakes in the file."""

import json
import os
import re
import sys
import tomllib

sys.path.insert(0, os.path.abspath(__file__ + "/../../.."))
from support.client import REPOSITORY, check, equal
from support.runner import main, test

VARIABLES = ("HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "EXECWARD_CONFIG")


def config(scene, *arguments, **variables):
    """Runs execward config with a home directory of the test."""
    environment = {name: value for name, value in os.environ.items() if name not in VARIABLES}
    environment.update({"HOME": scene.path("home")}, **variables)
    return scene.once("config", *arguments, env=environment)


def shown(scene, *arguments, **variables):
    done = config(scene, "show", "--json", *arguments, **variables)
    equal((done.returncode, done.stderr), (0, ""), "status and errors")
    return json.loads(done.stdout)


def settings_of(report):
    return {setting["name"]: setting for setting in report["settings"]}


@test
def without_a_file_every_setting_is_the_default(scene):
    report = shown(scene)

    equal(report["file"], scene.path("home/.config/execward/config.toml"), "file")
    equal(report["exists"], False, "exists")
    equal(report["rulesDirectory"], scene.path("home/.config/execward/rules.d"), "rules")
    equal(report["database"], scene.path("home/.local/state/execward/execward.db"), "database")
    settings = settings_of(report)
    for name, setting in settings.items():
        equal(setting["origin"], "default", name)
        equal(setting["value"], setting["default"], name)
        check(setting["meaning"].endswith("."), "%s has no meaning" % name)
    equal(settings["approval_policy"]["value"], "on-request", "approval_policy")
    equal(settings["sandbox"]["value"], "workspace-write", "sandbox")
    equal(settings["environment.default_excludes"]["value"], True, "default_excludes")
    equal(settings["max_poll_ms"]["value"], 300000, "max_poll_ms")
    check(not os.path.exists(scene.path("home")), "it made files")


@test
def what_the_file_says_is_shown_with_where_it_comes_from(scene):
    scene.file(
        "home/.config/execward/config.toml",
        'approval_policy = "never"\nmin_yield_ms = 250\ndatabase = "/x.db"\n'
        '[environment.set]\nA = "1"\n"odd \\"name" = "b\\\\"\n[granular]\nrules = false\n',
    )

    report = shown(scene)

    settings = settings_of(report)
    equal(report["exists"], True, "exists")
    equal(report["database"], "/x.db", "database")
    equal(settings["approval_policy"]["value"], "never", "approval_policy")
    equal(settings["approval_policy"]["default"], "on-request", "its default")
    equal(settings["environment.set"]["value"], {"A": "1", 'odd "name': "b\\"}, "set")
    given = {name for name, setting in settings.items() if setting["origin"] == "file"}
    equal(
        given,
        {"approval_policy", "min_yield_ms", "database", "environment.set", "granular.rules"},
        "settings from the file",
    )


@test
def what_is_shown_to_a_person_is_a_file_of_the_same_settings(scene):
    text = (
        'sandbox = "read-only"\nlogin_shell = true\n[environment]\nexclude = ["A*", "B\\"\\u007f"]\n'
        'set = { "x y" = "é\\n" }\n'
    )
    first = scene.file("first.toml", text)

    printed = config(scene, "show", "--config", first).stdout
    second = scene.file("second.toml", printed)

    tomllib.loads(printed)
    check("# from the file; default false" in printed, "it does not say what the default is")
    values = [
        {name: setting["value"] for name, setting in settings_of(shown(scene, "--config", f)).items()}
        for f in (first, second)
    ]
    equal(values[0], values[1], "settings")
    equal(values[0]["environment.exclude"], ["A*", 'B"\x7f'], "exclude")
    check(all(len(line) <= 100 for line in printed.splitlines()), "a line is too long")


@test
def what_is_shown_has_no_password_of_a_proxy(scene):
    with open(scene.path("config.toml"), "w") as file:
        file.write('[confinement]\nnetwork_proxy = "http://me:hidden@proxy.example:3128"\n')
    for options in ([], ["--json"]):
        done = config(scene, "show", *options, "--config", scene.path("config.toml"))
        equal(done.returncode, 0, done.stderr)
        check("hidden" not in done.stdout, done.stdout)
        check("http://***@proxy.example:3128" in done.stdout, done.stdout)


@test
def environments_are_shown_as_they_can_be_written(scene):
    text = (
        'default_environment = "box"\n[[environments]]\nid = "box"\nprogram = "ssh"\n'
        'args = ["box", "a \\"b\\""]\nenv = { A = "1", "x y" = "\\\\" }\ncwd = "/here"\n'
        'workspace_roots = ["/srv"]\nsandbox = "read-only"\ninitialize_timeout_sec = 1.5\n'
        '[[environments]]\nid = "pod"\nprogram = "/bin/kubectl"\n'
    )
    first = scene.file("first.toml", text)
    printed = config(scene, "show", "--config", first).stdout
    second = scene.file("second.toml", printed)

    values = [settings_of(shown(scene, "--config", f))["environments"] for f in (first, second)]

    equal(values[0], values[1], "environments")
    equal((values[0]["origin"], values[0]["default"]), ("file", []), "origin and default")
    box, pod = values[0]["value"]
    equal(
        box,
        {
            "id": "box",
            "program": "ssh",
            "args": ["box", 'a "b"'],
            "env": {"A": "1", "x y": "\\"},
            "cwd": "/here",
            "workspace_roots": ["/srv"],
            "sandbox": "read-only",
            "initialize_timeout_ms": 1500,
        },
        "box",
    )
    equal((pod["sandbox"], pod["cwd"], pod["initialize_timeout_ms"]), (None, "", 20000), "pod")
    check('    { id = "pod", program = "/bin/kubectl" },\n' in printed, printed)


def page(name):
    with open(os.path.join(REPOSITORY, "docs", name), encoding="utf-8") as file:
        return file.read()


@test
def every_key_of_an_environment_is_documented(scene):
    path = scene.file("c.toml", 'environments = [{ id = "box", program = "ssh" }]\n')
    for key in settings_of(shown(scene, "--config", path))["environments"]["value"][0]:
        row = "\n| `%s` |" % key
        check(row in page("environments.md"), "docs/environments.md lacks a row about " + key)


@test
def every_setting_is_documented(scene):
    for name, setting in settings_of(shown(scene)).items():
        row = "| `%s` | `%s` |" % (name, json.dumps(setting["default"], ensure_ascii=False))
        lacks = "docs/configuration.md lacks a row that begins with: " + row
        check(row in page("configuration.md"), lacks)


@test
def the_examples_of_the_pages_are_files_of_settings(scene):
    for name in ("configuration.md", "environments.md"):
        blocks = re.findall(r"^```toml\n(.*?)^```$", page(name), re.DOTALL | re.MULTILINE)
        check(blocks, "no examples in docs/" + name)
        for number, text in enumerate(blocks):
            shown(scene, "--config", scene.file("%s.%d.toml" % (name, number), text))


@test
def mistakes_are_told_with_their_places(scene):
    path = scene.file("bad.toml", 'sandbx = "read-only"\nlogin_shell = 1\n')

    done = config(scene, "show", "--config", path)

    equal((done.returncode, done.stdout), (1, ""), "status and output")
    lines = done.stderr.splitlines()
    equal(lines[0], path + ":1:1: unknown key 'sandbx'; did you mean 'sandbox'?", "first line")
    check(lines[1].startswith(path + ":2:15: key 'login_shell': expected true or false"), lines[1])


@test
def a_file_that_is_named_must_be_there(scene):
    for variables, arguments in (
        ({}, ("--config", scene.path("missing"))),
        ({"EXECWARD_CONFIG": scene.path("missing")}, ()),
    ):
        done = config(scene, "show", *arguments, **variables)
        equal(done.returncode, 1, "status")
        check(done.stderr.startswith("execward: ") and "No such file" in done.stderr, done.stderr)


@test
def a_file_that_others_can_write_is_refused_with_the_way_out(scene):
    path = scene.file("open.toml", "", mode=0o666)

    done = config(scene, "show", "--config", path)

    equal(done.returncode, 1, "status")
    check("writable by others" in done.stderr and "chmod go-w" in done.stderr, done.stderr)


@test
def path_prints_where_the_file_is(scene):
    equal(
        config(scene, "path").stdout, scene.path("home/.config/execward/config.toml") + "\n", "path"
    )
    equal(
        config(scene, "path", XDG_CONFIG_HOME="/etc/me").stdout,
        "/etc/me/execward/config.toml\n",
        "path below XDG_CONFIG_HOME",
    )
    equal(
        config(scene, "path", XDG_CONFIG_HOME="relative").stdout,
        scene.path("home/.config/execward/config.toml") + "\n",
        "path when XDG_CONFIG_HOME is relative",
    )
    equal(config(scene, "path", EXECWARD_CONFIG="/a/b").stdout, "/a/b\n", "path of EXECWARD_CONFIG")


@test
def what_it_cannot_do_is_a_usage_error(scene):
    for arguments in ((), ("list",), ("show", "more"), ("show", "--no-such"), ("show", "--config")):
        done = config(scene, *arguments)
        equal((done.returncode, done.stdout), (2, ""), "status and output of %r" % (arguments,))
        check("Usage: execward config" in done.stderr, "no usage after %r" % (arguments,))
    done = config(scene, "--help")
    equal((done.returncode, done.stderr), (0, ""), "status and errors of --help")
    check(done.stdout.startswith("Usage: execward config"), "no usage")


if __name__ == "__main__":
    main()

"""execward config init --write for the hosts of the Model Context Protocol."""

import json
import os
import re
import subprocess
import sys
import tomllib

sys.path.insert(0, os.path.abspath(__file__ + "/../../.."))
from support.client import check, equal, within
from support.runner import main, test

# The host, its file, and the names on the way to execward's entry.
HOSTS = (
    ("claude", "project/.mcp.json", ("mcpServers", "execward")),
    ("vscode", "project/.vscode/mcp.json", ("servers", "execward")),
    ("gemini", "home/.gemini/settings.json", ("mcpServers", "execward")),
    ("cursor", "home/.cursor/mcp.json", ("mcpServers", "execward")),
    ("zed", "settings/zed/settings.json", ("context_servers", "execward")),
    ("codex-mcp", "codex/config.toml", ("mcp_servers", "execward")),
)
JSON_HOSTS = [host for host in HOSTS if host[1].endswith(".json")]


def init(scene, client, *arguments):
    for name in ("project", "home", "settings"):
        os.makedirs(scene.path(name), exist_ok=True)
    environment = {
        **os.environ, "HOME": scene.path("home"), "CODEX_HOME": scene.path("codex"),
        "XDG_CONFIG_HOME": scene.path("settings"),
    }
    return subprocess.run(
        [os.path.abspath(scene.command[0]), "config", "init", "--client", client, "--write",
         *(arguments or ("--yes",))],
        env=environment, cwd=scene.path("project"), stdin=subprocess.DEVNULL,
        capture_output=True, text=True, timeout=within(30), start_new_session=True,
    )


def put(scene, name, text):
    path = scene.path(name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8", newline="") as file:
        file.write(text)
    return path


def text_of(scene, name):
    with open(scene.path(name), encoding="utf-8", newline="") as file:
        return file.read()


def parsed(name, text):
    if name.endswith(".toml"):
        return tomllib.loads(text)
    text = re.sub(r"(?m)(^|\s)//.*$", "", text)
    return json.loads(re.sub(r",(\s*[}\]])", r"\1", text))


def entry(name, text, path):
    value = parsed(name, text)
    for step in path:
        value = value[step]
    return value


def check_entry(scene, name, path):
    told = entry(name, text_of(scene, name), path)
    equal((told["command"], told["args"]), (os.path.realpath(scene.command[0]), ["mcp"]), name)
    return told


@test
def a_file_that_is_missing_is_made_and_a_second_time_nothing_changes(scene):
    for client, name, path in HOSTS:
        done = init(scene, client)
        equal((done.returncode, done.stderr), (0, ""), "status and errors for " + client)
        told = check_entry(scene, name, path)
        equal(told.get("type"), "stdio" if client == "vscode" else None, "type for " + client)
        check("+" in done.stdout and "Written: " in done.stdout, done.stdout)
        before = text_of(scene, name)
        again = init(scene, client)
        check("Already set up" in again.stdout and again.returncode == 0, again.stdout)
        equal(text_of(scene, name), before, "the file of " + client)
        equal(os.listdir(os.path.dirname(scene.path(name))), [os.path.basename(name)], "files")


@test
def what_the_host_asks_next_is_told(scene):
    for client, part in (("claude", "Use this MCP server"), ("codex-mcp", 'default_tools_approval_mode = "approve"')):
        _, told = init(scene, client).stdout.split("Written: ")
        check(part in told, told)


@test
def everything_else_in_the_file_stays(scene):
    for client, name, path in JSON_HOSTS:
        text = (
            "// mine\n{\n    \"a\": [1, 2,], // one\n    \"%s\": {\n        \"other\": {\"command\": "
            "\"x\"}\n    },\n    \"z\": \"é\"\n}\n" % path[0]
        )
        os.chmod(put(scene, name, text), 0o640)
        group = 12345 if os.geteuid() == 0 else os.getegid()
        os.chown(scene.path(name), -1, group)
        equal(init(scene, client).returncode, 0, "status for " + client)
        check_entry(scene, name, path)
        now = text_of(scene, name)
        for line in text.splitlines():
            check(line in now or line.strip() == '"other": {"command": "x"}', "%r is gone" % line)
        info = os.stat(scene.path(name))
        equal((info.st_mode & 0o777, info.st_gid), (0o640, group), "mode and group")
        equal(text_of(scene, name + ".bak"), text, "the old text")
    text = "# mine\nmodel = \"m\" # which\n\n[mcp_servers.other]\ncommand = \"x\"\n"
    put(scene, "codex/config.toml", text)
    equal(init(scene, "codex-mcp").returncode, 0, "status for codex-mcp")
    check(text_of(scene, "codex/config.toml").startswith(text), "the old lines have changed")
    check_entry(scene, "codex/config.toml", ("mcp_servers", "execward"))


@test
def an_entry_of_ours_gets_the_command_and_keeps_the_rest(scene):
    for client, name, path in JSON_HOSTS:
        put(scene, name, json.dumps({path[0]: {"execward": {"command": "old", "env": {"A": "1"}}}}))
        equal(init(scene, client).returncode, 0, "status for " + client)
        equal(check_entry(scene, name, path)["env"], {"A": "1"}, "env")
    put(scene, "codex/config.toml", "[mcp_servers.execward]\ncommand = \"old\"\n")
    done = init(scene, "codex-mcp")
    equal(done.returncode, 1, "status for codex-mcp")
    check("another command" in done.stderr and "[mcp_servers.execward]" in done.stdout, done)


@test
def what_cannot_be_read_is_refused_with_what_to_put_there(scene):
    for client, name, path in HOSTS:
        for text in ("{", "[1", "{'a': 1}", "= = ="):
            put(scene, name, text)
            done = init(scene, client)
            equal(done.returncode, 1, "status for %s with %r" % (client, text))
            check("by hand" in done.stdout and path[0] in done.stdout, done.stdout)
            check(os.path.basename(name) in done.stderr, done.stderr)
            equal(text_of(scene, name), text, "the file")
    for client, name, path in JSON_HOSTS:
        put(scene, name, json.dumps({path[0]: []}))
        equal(init(scene, client).returncode, 1, "status with a list of servers")


@test
def a_link_is_not_followed(scene):
    for client, name, path in HOSTS:
        place = scene.path(name)
        os.makedirs(os.path.dirname(place), exist_ok=True)
        target = put(scene, "elsewhere.json", "")
        os.symlink(target, place)
        done = init(scene, client)
        equal(done.returncode, 1, "status for " + client)
        check("symbolic link" in done.stderr and target in done.stderr, done.stderr)
        equal(text_of(scene, "elsewhere.json"), "", "the target")
    os.unlink(scene.path("project/.vscode/mcp.json"))
    os.rmdir(scene.path("project/.vscode"))
    os.makedirs(scene.path("outside"))
    os.symlink(scene.path("outside"), scene.path("project/.vscode"))
    done = init(scene, "vscode")
    check(done.returncode == 1 and "symbolic link" in done.stderr, done.stderr)
    equal(os.listdir(scene.path("outside")), [], "what is behind the link")


@test
def without_a_terminal_and_without_yes_nothing_is_written(scene):
    for client, name, _ in HOSTS:
        done = init(scene, client, "--id=execward")
        equal(done.returncode, 1, "status for " + client)
        check("--yes" in done.stderr and "+" in done.stdout, done)
        check(not os.path.exists(scene.path(name)), "it was written")


@test
def an_editor_whose_settings_are_a_program_is_named(scene):
    for client in ("emacs", "neovim", "vscode-jsonrpc"):
        done = init(scene, client)
        equal(done.returncode, 2, "status for " + client)
        check("program" in done.stderr, done.stderr)


if __name__ == "__main__":
    main()

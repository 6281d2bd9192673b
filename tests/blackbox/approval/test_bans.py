"""Bans: no detour, broken file or lost database lets a forbidden command run."""

import os
import sys

sys.path.insert(0, os.path.abspath(__file__ + "/../../.."))
from support.client import check, equal
from support.exec import (
    BAN,
    Home,
    decision,
    denied,
    exec_server,
    exists,
    trusted_ban,
    untrusting,
)
from support.runner import main, test


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


@test
def where_links_of_rules_and_settings_lead_is_hidden(scene):
    home = Home(scene)
    targets = [home.file("dot/own.toml", BAN), home.file("dot/config.toml", "# settings\n")]
    beside = home.file("dot/beside", "shown\n")
    home.file("config/execward/rules.d/other.toml", "")
    os.symlink(targets[0], os.path.join(home.rules_directory, "own.toml"))
    settings = os.path.join(os.path.dirname(home.rules_directory), "config.toml")
    os.symlink(targets[1], settings)
    server = exec_server(
        scene,
        policy="on-request",
        sandbox="workspace-write",
        settings={"confinement": {"sharedTmp": True, "excludeSlashTmp": True}},
        home=home,
    )
    equal(server.exec(["cat", beside])["output"], "shown\n", "a file beside them")
    for path in targets:
        result = server.exec(["cat", path])
        check(result["exitCode"] != 0 and not result["output"].startswith(("[", "#")), result)


@test
def rules_with_another_name_allow_nothing(scene):
    home = Home(scene)
    home.rules('[[rule]]\nprefix = ["touch"]\ndecision = "allow"\n')
    equal(decision(untrusting(scene, home=home), "touch made"), "allow", "decision with one name")
    rules = os.path.join(home.rules_directory, "own.toml")
    os.link(rules, os.path.join(home.project, "other.toml"))
    server = untrusting(scene, home=home)
    equal(decision(server, "touch made"), "prompt", "decision with two names")
    check("hard links" in server.warning("configInvalid"), "the warning")
    with open(os.path.join(home.project, "other.toml"), "a") as file:
        file.write('[[rule]]\nprefix = ["id"]\ndecision = "forbidden"\n')
    equal(decision(server, "id"), "forbidden", "decision after a change under the other name")


@test
def settings_with_another_name_start_no_session(scene):
    home = Home(scene)
    path = home.config("audit_keep_days = 9\n")
    os.link(path, os.path.join(home.project, "other.toml"))
    told = home.cli("config", "show").stdout
    check("audit_keep_days" in told, told)
    for sandbox, is_refused in (("workspace-write", True), ("danger-full-access", False)):
        client = scene.server(
            env=home.environment(), cwd=home.project, handshake=False
        )
        message_id = client.request(
            "initialize", {"clientName": "test", "settings": {"sandbox": sandbox}}
        )
        if is_refused:
            message = client.error(message_id, kind="configInvalid")["message"]
            check("has 2 names (hard links)" in message, message)
        else:
            client.result(message_id)


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


if __name__ == "__main__":
    main()

"""The documents: each command in them exists, and those of the first pages are run, or checked as excerpts."""

import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.abspath(__file__ + "/../../.."))
from support.client import PYTHON, REPOSITORY, check, equal, within
from support.exec import Home
from support.mcp import McpClient
from support.runner import main, test

SOURCE = pathlib.Path(REPOSITORY)
FIRST_PAGES = ("README.md", "docs/install.md", "docs/coming-from.md", "docs/mcp.md")
CODE = re.compile(r"`([^`\n]+)`")
HOSTS = "claude codex-mcp gemini vscode cursor zed".split()


def text_of(name):
    return (SOURCE / name).read_text(encoding="utf-8")


def documents():
    pages = [*SOURCE.glob("*.md"), *SOURCE.glob("docs/**/*.md"), SOURCE / "examples/README.md"]
    return sorted(str(page.relative_to(SOURCE)) for page in pages)


def indented(name):
    """Returns the lines of the blocks of code that are indented, without comments."""
    lines = re.findall(r"^    (?! )(.*)$", text_of(name), re.MULTILINE)
    return [re.sub(r"\s{2,}#.*$|\s+# .*$", "", line).rstrip() for line in lines]


def fenced(name):
    """Returns the lines of the blocks of code between fences, without what stands beside them."""
    blocks = re.findall(r"^```\w*\n(.*?)^```$", text_of(name), re.DOTALL | re.MULTILINE)
    return [re.sub(r"\s{2,}.*$", "", line) for block in blocks for line in block.split("\n")]


def known_commands(scene):
    listed = subprocess.run([scene.command[0], "completions", "json"], capture_output=True, check=True)
    return {
        command["name"]: {option["name"] for option in command["options"]}
        for command in json.loads(listed.stdout)
    }


def mistake_in(words, known):
    """Returns what is wrong with the words after `execward`, or None."""
    if not words or words[0] in ("--version", "-V", "--help", "help") or not words[0][0].isalpha():
        return None
    name = "config init" if words[:2] == ["config", "init"] else words[0]
    if name not in known:
        return "there is no command " + name
    for word in words[1:]:
        if word == "--":
            return None
        flag = re.match(r"--([a-z][a-z0-9-]*)", word)
        if flag and flag[1] != "help" and flag[1] not in known[name]:
            return "%s has no option --%s" % (name, flag[1])
    return None


@test
def each_command_of_execward_in_the_documents_exists(scene):
    known = known_commands(scene)
    seen = 0
    # The changelog tells of earlier versions.
    for page in documents():
        if page == "CHANGELOG.md":
            continue
        flowed = re.sub(r"(?<!\n)\n(?!\n|    )", " ", text_of(page))  # a span may go on in the next line
        for code in CODE.findall(flowed) + indented(page) + fenced(page):
            for call in re.findall(r"(?:^|[\s/|])execward ((?:[^|;&]|\|(?=\w))*)", code):
                seen += 1
                mistake = mistake_in(call.split(), known)
                check(mistake is None, "%s: `%s`: %s" % (page, code, mistake))
    check(seen > 100, "only %d commands" % seen)
    for wrong in ("doktor", "doctor --policy", "run --sandbx=x -- ls", "config init --json"):
        check(mistake_in(wrong.split(), known), "nothing is wrong with execward " + wrong)


# What the blocks of the first pages say, and how each line is checked.


def project_with_tests(scene):
    home = Home(scene)
    with open(os.path.join(home.project, "Makefile"), "w") as file:
        file.write("test:\n\t@echo tested\n")
    return home


def runs(scene, line, *more, home=None, output="", statuses=(0,)):
    """Runs a line of a document, with the program that is tested."""
    home = home or project_with_tests(scene)
    words = shlex.split(line)
    equal(os.path.basename(words[0]), "execward", "the program of: " + line)
    done = subprocess.run(
        [scene.command[0], *words[1:], *more], cwd=home.project, env=home.environment(),
        capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=within(60),
    )
    check(done.returncode in statuses, "%s: status %d: %s" % (line, done.returncode, done.stderr))
    check(output in done.stdout, "%s printed %r" % (line, done.stdout))


def runs_the_tests(scene, line):
    if shutil.which("make", path=Home(scene).environment()["PATH"]) is None:
        print("no make: skipped")
        return
    done = subprocess.run([scene.command[0], "doctor"], capture_output=True, timeout=within(60))
    if done.returncode == 0:
        runs(scene, line, output="tested\n")
    else:
        runs(scene, line, statuses=(125,))  # a machine that cannot confine it does not run it


def lists_and_is_refused(scene, line):
    home = project_with_tests(scene)
    done = subprocess.run([scene.command[0], "doctor"], capture_output=True, timeout=within(60))
    if done.returncode == 0:
        # Status 0 if this home is below /tmp: then the file is made in the session's own /tmp.
        runs(scene, line, home=home, output="Makefile\n", statuses=(0, 1))
    else:
        runs(scene, line, home=home, statuses=(125,))  # as above
    check(not os.path.exists(os.path.join(home.path, "x")), "it wrote into the home directory")


def tells_of_the_machine(scene, line):
    runs(scene, line, output="workspace-write", statuses=(0, 1))


def sets_up_a_client(scene, line):
    home = project_with_tests(scene)
    runs(scene, line, "--yes", home=home)
    written = [path for path in pathlib.Path(home.path).rglob("*") if path.is_file()
               and "execward" in path.read_text(encoding="utf-8", errors="replace")]
    check(written, "%s wrote no settings" % line)
    for client in HOSTS:
        runs(scene, "execward config init --client " + client, home=home)


def is_the_client_of_the_examples(_, line):
    script = line.split()[1]
    check((SOURCE / script).is_file(), "no " + script)
    check("execward_client.py" in text_of("tests/blackbox/protocol/test_examples.py"), "it is not tested")


def can_be_skipped(_, line):
    env = dict(os.environ, EXECWARD_SETUP="skip")
    done = subprocess.run([SOURCE / line], env=env, capture_output=True, text=True)
    equal((done.returncode, "skipped" in done.stdout), (0, True), line)


def names_the_package(_, line):
    check("\nPackage: execward\n" in text_of("debian/control"), line)


def names_the_tarball(_, line):
    script = text_of("scripts/dist")
    check("name=execward-$version-linux-x86_64\n" in script and "$name.tar.gz" in script, line)


def names_folder_and_project(_, line):
    check("project('execward'" in text_of("meson.build"), line)


README = {
    "build/execward run -- sh -c 'ls; touch ~/x'": lists_and_is_refused,
    "build/execward doctor": tells_of_the_machine,
    "execward config init --client claude --write": sets_up_a_client,
    "execward config init --client codex --write": sets_up_a_client,
    "python3 examples/python/execward_client.py build/execward serve": is_the_client_of_the_examples,
}
INSTALL = {
    # Excerpts: they need a network, root, or many minutes.
    "git clone REPOSITORY execward && cd execward": names_folder_and_project,
    "meson setup build --buildtype=release -Db_ndebug=if-release": names_folder_and_project,
    "meson install -C build": names_folder_and_project,
    "sudo apt build-dep ./": names_the_package,
    "dpkg-buildpackage -us -uc -b": names_the_package,
    "sudo apt install ../execward_*.deb": names_the_package,
    "scripts/setup": can_be_skipped,
    "scripts/dist": names_the_tarball,
    "tar xzf execward-*-linux-x86_64.tar.gz -C ~/.local/opt": names_the_tarball,
    "~/.local/opt/execward-*/bin/execward doctor": tells_of_the_machine,
    "execward doctor": tells_of_the_machine,
    "execward run -- make test": runs_the_tests,
    "execward config init --client claude --write": sets_up_a_client,
}
BLOCKS = {"README.md": README, "docs/install.md": INSTALL, "docs/coming-from.md": {}, "docs/mcp.md": {}}


@test
def each_line_of_the_blocks_of_the_first_pages_is_run_or_checked(scene):
    equal(sorted(BLOCKS), sorted(FIRST_PAGES), "pages")
    for page, lines in BLOCKS.items():
        equal(sorted(indented(page)), sorted(lines), "the lines of " + page)
        check("```" not in text_of(page), page + " has a block of another kind")
        for line, how in lines.items():
            how(scene, line)


@test
def the_picture_of_the_readme_is_of_a_real_session(scene):
    script = SOURCE / "scripts/generate/picture.py"
    done = subprocess.run(
        [PYTHON, script, "--check", scene.command[0]], capture_output=True, text=True, timeout=within(120)
    )
    if done.returncode == 77:
        print(done.stdout.strip())
        return
    equal((done.returncode, done.stdout, done.stderr), (0, "", ""), "status and output")


# Names in tables


def names_in(schema):
    """Returns the members and values in a JSON Schema."""
    found = set()
    if isinstance(schema, dict):
        found |= set(schema.get("properties", {}))
        found |= {value for value in schema.get("enum", []) if isinstance(value, str)}
    for part in schema.values() if isinstance(schema, dict) else schema:
        if isinstance(part, (dict, list)):
            found |= names_in(part)
    return found


def cells(page, column):
    """Returns the code in a column of the tables of a page; 0 is the first column."""
    rows = [row for row in text_of(page).split("\n") if row.startswith("| ")]
    return [code for row in rows for code in CODE.findall(row.split("|")[column + 1])]


@test
def what_the_page_for_newcomers_names_exists(scene):
    known = known_commands(scene)
    protocol = json.loads(text_of("schema/protocol.json"))
    methods = {method["name"] for method in protocol["methods"]}
    settings = subprocess.run(
        [scene.command[0], "config", "show", "--json"], capture_output=True, check=True,
        env=Home(scene).environment(),
    ).stdout.decode()
    client = McpClient(scene)
    tools = client.result("tools/list")["tools"]
    names = names_in(json.loads(text_of("schema/types.json"))) | {tool["name"] for tool in tools}
    names |= names_in([tool["inputSchema"] for tool in tools]) | {"TERM"}
    client.end()
    for code in cells("docs/coming-from.md", 1):
        word = code.split("=")[0]
        is_known = (
            code.startswith(("execward ", "[[network]]", "sh -c"))
            or code in methods | names
            or (word.startswith("--") and word[2:] in known["run"])
            or (code.startswith("confinement.") and '"%s"' % code in settings)
        )
        check(is_known, "docs/coming-from.md: there is no " + code)


@test
def the_tools_and_arguments_of_the_page_about_mcp_exist(scene):
    client = McpClient(scene)
    tools = client.result("tools/list")["tools"]
    client.end()
    names = names_in(tools) | {tool["name"] for tool in tools} | {"human_command"}
    known = set()
    for code in cells("docs/mcp.md", 0) + cells("docs/mcp.md", 1):
        known |= names & set(re.findall(r"[a-z_]+", code))
    beginning = text_of("docs/mcp.md").split("## Consent")[0]
    for code in CODE.findall(beginning.replace("\n", " ")):
        word = re.match(r"[a-z]+_[a-z_]+$", code)
        check(word is None or code in names, "docs/mcp.md: there is no " + code)
    for tool in tools:
        check(tool["name"] in known, "docs/mcp.md says nothing about " + tool["name"])


if __name__ == "__main__":
    main()

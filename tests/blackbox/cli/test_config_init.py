"""execward config init: its output for clients, and its changes to Codex's environments.toml."""

import difflib
import fcntl
import json
import os
import pty
import re
import select
import shutil
import signal
import subprocess
import sys
import termios
import time
import tomllib

sys.path.insert(0, os.path.abspath(__file__ + "/../../.."))
from support.client import PATIENCE, REPOSITORY, Failure, check, equal, within
from support.runner import main, test

PAGES = os.path.join(REPOSITORY, "docs", "integrations")
CLIENTS = {
    "vscode-jsonrpc": "js",
    "emacs": "elisp",
    "neovim": "lua",
    "claude": "json",
    "codex-mcp": "toml",
    "gemini": "json",
    "vscode": "json",
    "cursor": "json",
    "zed": "json",
}
FILE = "codex/environments.toml"
QUESTION = b"Write this? [y/N] "
OTHERS = (
    "# My machines.\n"
    "# Keep this.\n"
    "\n"
    "# The fast one\n"
    "[[environments]]\n"
    'id = "fast"   # with a blank or two\n'
    'url = "ws://127.0.0.1:1/\u00e9"\n'
    "\n"
    "[[environments]]\n"
    "  id = 'old'\n"
    '  program = """x"""\n'
    "  args = [ # none\n"
    "  ]\n"
)


def environment_of(scene, **variables):
    environment = {name: value for name, value in os.environ.items() if name != "CODEX_HOME"}
    environment.update({"HOME": scene.path("home"), "CODEX_HOME": scene.path("codex")}, **variables)
    return environment


def init(scene, *arguments, **variables):
    """Runs the subcommand without a terminal, in a session of its own."""
    return subprocess.run(
        [scene.command[0], "config", "init", *arguments],
        env=environment_of(scene, **variables),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        timeout=within(30),
        start_new_session=True,
    )


def codex(scene, *arguments, **variables):
    return init(scene, "--client", "codex", *arguments, **variables)


def written(scene, *arguments):
    """Writes without a question. Returns the output."""
    done = codex(scene, "--write", "--yes", *arguments)
    equal((done.returncode, done.stderr), (0, ""), "status and errors")
    return done.stdout


def refused(scene, reason, *arguments):
    """Checks that the subcommand fails, gives the reason, and changes no file. Returns the output.
    """
    before = snapshot(scene)
    done = codex(scene, "--write", *(arguments or ("--yes",)))
    equal(done.returncode, 1, "status")
    check(reason in done.stderr, "no '%s' in: %s" % (reason, done.stderr))
    equal(snapshot(scene), before, "the files after")
    return done.stdout


def snapshot(scene):
    """Returns names, modes and texts of all files in Codex's directory, or None if it does not
    exist.
    """
    directory = scene.path("codex")
    if not os.path.isdir(directory):
        return None
    return {
        name: (os.lstat(os.path.join(directory, name)).st_mode, text_of(directory, name))
        for name in os.listdir(directory)
    }


def text_of(*names):
    with open(os.path.join(*names), encoding="utf-8", newline="") as file:
        return file.read()


def now(scene):
    return text_of(scene.path(FILE))


def ours(scene, name="execward"):
    """Returns the one environment of that name, and the whole document."""
    document = tomllib.loads(now(scene))
    found = [entry for entry in document["environments"] if entry["id"] == name]
    equal(len(found), 1, "environments called " + name)
    return found[0], document


def wanted(scene, name="execward"):
    return {"id": name, "program": os.path.realpath(scene.command[0]), "args": ["serve"]}


class Asked:
    """The subcommand on a terminal, up to its question."""

    def __init__(self, scene, *arguments, is_controlling=True):
        self.master, slave = pty.openpty()
        self.said = b""

        def take_terminal():
            if is_controlling:
                fcntl.ioctl(slave, termios.TIOCSCTTY, 0)

        self.child = subprocess.Popen(
            [scene.command[0], "config", "init", "--client", "codex", "--write", *arguments],
            env=environment_of(scene),
            stdin=subprocess.DEVNULL if is_controlling else slave,
            stdout=subprocess.PIPE,
            stderr=slave,
            pass_fds=(slave,),
            start_new_session=True,
            preexec_fn=take_terminal,
        )
        os.close(slave)
        try:
            self._read_question()
        except Failure:
            self.kill()
            raise

    def _read_question(self):
        end = time.monotonic() + PATIENCE
        while QUESTION not in self.said:
            ready, _, _ = select.select([self.master], [], [], max(0, end - time.monotonic()))
            try:
                more = os.read(self.master, 4096) if ready else b""
            except OSError:  # the terminal has gone
                more = b""
            if not more:
                raise Failure("no question; it said %r" % self.said)
            self.said += more

    def kill(self):
        self.child.send_signal(signal.SIGKILL)
        self.child.communicate()
        os.close(self.master)

    def answer(self, keys):
        """Returns the exit status and stdout."""
        os.write(self.master, keys)
        try:
            output, _ = self.child.communicate(timeout=within(30))
        except subprocess.TimeoutExpired:
            self.kill()
            raise Failure("it does not end after the answer") from None
        os.close(self.master)
        return self.child.returncode, output.decode()


@test
def the_snippet_for_codex_names_this_program(scene):
    done = codex(scene)

    equal((done.returncode, done.stderr), (0, ""), "status and errors")
    document = tomllib.loads(done.stdout)
    equal(
        document,
        {"default": "execward", "include_local": False, "environments": [wanted(scene)]},
        "snippet",
    )
    check(scene.path(FILE) in done.stdout.splitlines()[0], "it does not say where it goes")
    check("# Without this Codex can" in done.stdout, "it does not say why nothing is local")
    check(snapshot(scene) is None, "it made files")


@test
def without_codex_home_the_snippet_is_for_the_home_directory(scene):
    done = codex(scene, CODEX_HOME="")

    check(scene.path("home/.codex/environments.toml") in done.stdout, done.stdout)
    equal(codex(scene, CODEX_HOME="", HOME="").returncode, 1, "status without any")


@test
def the_server_can_run_elsewhere(scene):
    for option, program, args in (
        ("--ssh=ada@build", "ssh", ["-T", "-o", "BatchMode=yes", "ada@build", "execward", "serve"]),
        ("--docker=shop", "docker", ["exec", "-i", "shop", "execward", "serve"]),
        ("--kubectl=shop-0", "kubectl", ["exec", "-i", "shop-0", "--", "execward", "serve"]),
    ):
        done = codex(scene, option, "--id=x_1-Y")
        document = tomllib.loads(done.stdout)
        equal(
            document["environments"], [{"id": "x_1-Y", "program": program, "args": args}], option
        )
        equal(document["default"], "x_1-Y", "default")


@test
def what_cannot_be_meant_is_a_usage_error(scene):
    for arguments in (
        [],
        ["--client", "vim"],
        ["--client", "codex", "--idd", "x"],
        ["--client", "codex", "extra"],
        ["--client", "codex", "--bogus"],
        ["--client", "codex", "--yes"],
        ["--client", "codex", "--id", "local"],
        ["--client", "codex", "--id", "none"],
        ["--client", "codex", "--id", ""],
        ["--client", "codex", "--id", "a b"],
        ["--client", "codex", "--id", "a" * 65],
        ["--client", "codex", "--ssh", "-oProxyCommand=x"],
        ["--client", "codex", "--docker", ""],
        ["--client", "codex", "--kubectl", "a\nb"],
        ["--client", "codex", "--ssh", "a", "--docker", "b"],
        ["--client", "emacs", "--write"],
        ["--client", "emacs", "--id", "x"],
    ):
        done = init(scene, *arguments)
        equal((done.returncode, done.stdout), (2, ""), "%s: status and output" % arguments)
        check("config init --help" in done.stderr, done.stderr)
    check("gemini, vscode, cursor or zed" in init(scene, "--client", "vim").stderr, "the clients are not listed")
    equal(codex(scene, "--id", "a" * 64).returncode, 0, "status with the longest name")


@test
def help_teaches(scene):
    done = init(scene, "--help")

    equal((done.returncode, done.stderr), (0, ""), "status and errors")
    for word in ("--client", "--write", "--yes", "--id", "--ssh", "--docker", "--kubectl", ".bak"):
        check(word in done.stdout, "nothing about " + word)
    check(all(len(line) <= 100 for line in done.stdout.splitlines()), "a line is too long")


@test
def a_file_that_is_missing_is_made_with_its_directory(scene):
    said = written(scene)

    equal(ours(scene)[0], wanted(scene), "environment")
    equal(ours(scene)[1]["include_local"], False, "include_local")
    equal(os.stat(scene.path("codex")).st_mode & 0o7777, 0o700, "mode of the directory")
    equal(os.stat(scene.path(FILE)).st_mode & 0o7777, 0o600, "mode of the file")
    equal(list(snapshot(scene)), ["environments.toml"], "files")
    check('+id = "execward"' in said and "Written: " + scene.path(FILE) in said, said)


@test
def what_remains_to_be_done_is_told_after_the_change(scene):
    said = written(scene, "--id=box")

    _, told = said.split("Written: ")
    for part in ("codex app-server daemon stop", '"Environment: box"', 'environment_id = "box"'):
        check(part in told, "nothing about %s: %s" % (part, told))

    scene.file(FILE, OTHERS)
    said = written(scene)
    check("codex app-server daemon stop" in said and "include_local = false" in said, said)
    check("environment_id" not in said, "MCP servers can still be started locally: " + said)


@test
def every_other_byte_stays(scene):
    for line_end in ("\n", "\r\n"):
        for last in (line_end, ""):
            before = OTHERS.removesuffix("\n").replace("\n", line_end) + last
            scene.file(FILE, "")
            with open(scene.path(FILE), "w", encoding="utf-8", newline="") as file:
                file.write(before)

            written(scene)

            matcher = difflib.SequenceMatcher(None, before, now(scene), autojunk=False)
            kinds = {kind for kind, *_ in matcher.get_opcodes()} - {"equal"}
            equal(kinds, {"insert"}, "what was done to the text")
            equal(now(scene).count("\n"), now(scene).count(line_end), "line ends")
            entry, document = ours(scene)
            equal(entry, wanted(scene), "environment")
            equal([each["id"] for each in document["environments"]], ["fast", "old", "execward"], "ids")
            equal(document["default"], "execward", "default")
            check("include_local" not in document, "it set include_local in a file of others")


@test
def the_default_goes_above_the_comment_of_what_is_first(scene):
    scene.file(FILE, OTHERS)

    written(scene)

    start = '# My machines.\n# Keep this.\n\ndefault = "execward"\n\n# The fast one\n'
    equal(now(scene)[: len(start)], start, "the beginning")


@test
def a_second_time_nothing_changes(scene):
    for text in (None, OTHERS, "include_local = true\n", "# only a comment"):
        if text is not None:
            scene.file(FILE, text)
        written(scene)
        before = snapshot(scene)

        done = codex(scene, "--write")

        equal((done.returncode, done.stderr), (0, ""), "status and errors")
        check("Already set up" in done.stdout, done.stdout)
        equal(snapshot(scene), before, "the files after")


@test
def an_environment_of_this_name_gets_program_and_arguments(scene):
    scene.file(
        FILE,
        "default = 'fast' # mine\n" + OTHERS + "\n[[environments]]\n"
        '  id = "execward" # ours\n  args = [ "a", # "]"\n    "b]\\"", ]  # after\n'
        '  env = { A = "1" }\n[[environments]]\nid = "last"\nprogram = "y"',
    )

    written(scene)

    equal(
        now(scene),
        'default = "execward" # mine\n' + OTHERS + "\n[[environments]]\n"
        '  id = "execward" # ours\n  program = "%s"\n  args = ["serve"]  # after\n'
        '  env = { A = "1" }\n[[environments]]\nid = "last"\nprogram = "y"'
        % wanted(scene)["program"],
        "file",
    )


@test
def inline_tables_are_changed_in_place(scene):
    scene.file(FILE, 'default = "execward"\nenvironments = [{ id = "execward", program = "x", args = [] }]\n')

    written(scene)

    equal(ours(scene)[0], wanted(scene), "environment")


@test
def what_was_there_is_kept_beside_it(scene):
    scene.file(FILE, OTHERS, mode=0o640)

    first = written(scene)
    second = written(scene, "--ssh", "build")

    check("As it was: %s.bak\n" % scene.path(FILE) in first, first)
    check("As it was: %s.bak2\n" % scene.path(FILE) in second, second)
    equal(text_of(scene.path(FILE + ".bak")), OTHERS, "backup")
    modes = {name: mode & 0o7777 for name, (mode, _) in snapshot(scene).items()}
    equal(
        modes,
        {
            "environments.toml": 0o640,
            "environments.toml.bak": 0o640,
            "environments.toml.bak2": 0o640,
        },
        "modes",
    )
    equal(ours(scene)[0]["program"], "ssh", "program")


@test
def a_file_with_a_mistake_is_not_touched(scene):
    scene.file(FILE, OTHERS + "x = \x1b[31m\n")

    said = refused(scene, ":%d:" % (OTHERS.count("\n") + 1))

    equal(tomllib.loads(said)["environments"], [wanted(scene)], "the snippet to paste")
    check("\x1b" not in codex(scene, "--write", "--yes").stderr, "an escape reaches the terminal")


@test
def what_cannot_be_added_alone_is_left_to_the_user(scene):
    for text, reason in (
        ('environments = [{ id = "a", program = "b" }]\n', "without changing more"),
        ("environments = 1\n", "is not [[environments]]"),
        ('[[environments]]\nid = "execward"\nurl = "ws://x"\n', "has a url"),
        ('[[environments]]\nid = "execward"\n[[environments]]\nid = "execward"\n', "two environments"),
        ("default = 1\n", "cannot be replaced"),
    ):
        scene.file(FILE, text)
        said = refused(scene, reason)
        equal(tomllib.loads(said)["environments"], [wanted(scene)], "the snippet to paste")


@test
def a_symbolic_link_is_not_replaced(scene):
    target = scene.file("dotfiles/environments.toml", OTHERS)
    os.mkdir(scene.path("codex"))
    os.symlink(target, scene.path(FILE))

    refused(scene, "is a symbolic link")

    check(target in codex(scene, "--write", "--yes").stderr, "it does not say where the link leads")
    equal(text_of(target), OTHERS, "what the link leads to")


@test
def a_file_of_somebody_else_is_refused(scene):
    if os.geteuid() != 0:
        return  # only root can change the owner of a file
    scene.file(FILE, OTHERS)
    os.chown(scene.path(FILE), 65534, 65534)
    refused(scene, "belongs to user 65534")
    os.chown(scene.path(FILE), 0, 0)
    os.chown(scene.path("codex"), 65534, 65534)
    refused(scene, "belongs to user 65534")


@test
def without_a_terminal_it_needs_yes(scene):
    scene.file(FILE, OTHERS)

    said = refused(scene, "--yes", "--id=execward")

    check('+id = "execward"' in said, "it does not show what it would do: " + said)
    shutil.rmtree(scene.path("codex"))
    refused(scene, "no terminal", "--id=execward")


@test
def it_asks_on_the_terminal_and_takes_yes(scene):
    for keys, is_controlling in ((b"y\n", True), (b"Y\n", True), (b"yes\n", True), (b"y\n", False)):
        scene.file(FILE, OTHERS)

        status, said = Asked(scene, is_controlling=is_controlling).answer(keys)

        equal(status, 0, "status")
        equal(ours(scene)[0], wanted(scene), "environment")
        check("Write this?" not in said, "the question went to stdout")


@test
def anything_else_is_no(scene):
    scene.file(FILE, OTHERS)
    before = snapshot(scene)
    for keys in (b"n\n", b"\n", b"yn\n", b"\x04"):
        status, said = Asked(scene).answer(keys)

        equal((status, said.splitlines()[-1]), (1, "Nothing was written."), "%r" % keys)
        equal(snapshot(scene), before, "the files after %r" % keys)


@test
def a_file_that_changed_during_the_question_is_not_overwritten(scene):
    scene.file(FILE, OTHERS)
    asked = Asked(scene)
    scene.file(FILE, OTHERS + "# more\n")

    status, _ = asked.answer(b"y\n")

    equal(status, 1, "status")
    equal(now(scene), OTHERS + "# more\n", "file")
    equal(list(snapshot(scene)), ["environments.toml"], "files")


@test
def the_difference_shows_what_is_in_the_file_without_obeying_it(scene):
    scene.file(FILE, '# \u202e\u200b\t\n[[environments]]\nid = "a"\nprogram = "b"\n')

    said = written(scene)

    check("\u202e" not in said and " # \\u{202e}\\u{200b}\\t\n" in said, said)


@test
def the_difference_has_one_part_for_each_change(scene):
    lines = "".join("# %d\n" % n for n in range(40))
    scene.file(FILE, 'include_local = false\n%s[[environments]]\nid = "a"\nprogram = "b"\n' % lines)

    said = written(scene)

    heads = [line for line in said.splitlines() if line.startswith("@@")]
    equal(heads, ["@@ -1,3 +1,4 @@", "@@ -42,3 +43,8 @@"], "parts")
    equal(sum(line.startswith("-") for line in said.splitlines()), 1, "lines with -")


def blocks_of(page):
    """Returns pairs of language and text."""
    return re.findall(r"^```(\w+)\n(.*?)^```$", text_of(PAGES, page), re.DOTALL | re.MULTILINE)


def pages():
    return sorted(name for name in os.listdir(PAGES) if name.endswith(".md"))


def checker_of(language, path):
    """Returns the command that checks a file of this language, or None if it is not installed."""
    elisp = "(progn (find-file (pop command-line-args-left)) (emacs-lisp-mode) (check-parens))"
    commands = {
        "js": ["node", "--check", path],
        "elisp": ["emacs", "-Q", "--batch", "--eval", elisp, path],
        "lua": ["nvim", "--headless", "-u", "NONE", "-i", "NONE"]
        + ["-c", "lua if not loadfile([[%s]]) then vim.cmd('cquit 1') end" % path, "-c", "qa!"],
    }
    command = commands[language]
    return command if shutil.which(command[0]) else None


def check_block(scene, page, language, text):
    if language == "toml":
        tomllib.loads(text)
        return
    if language == "json":
        json.loads(text)
        return
    path = scene.file("block.mjs" if language == "js" else "block." + language, text)
    command = checker_of(language, path)
    if command is None:
        return
    done = subprocess.run(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=within(30),
        env=environment_of(scene),
    )
    check(done.returncode == 0, "%s: %s\n%s" % (page, done.stdout, text))


@test
def the_blocks_of_the_pages_are_what_they_say(scene):
    seen = set()
    for page in pages():
        for language, text in blocks_of(page):
            check_block(scene, page, language, text)
            seen.add(language)
    check({"toml", "js", "elisp", "lua"} <= seen, "only %s" % seen)


@test
def the_pages_begin_with_what_is_printed(scene):
    for client, language in CLIENTS.items():
        done = init(scene, "--client", client)
        equal((done.returncode, done.stderr), (0, ""), "status and errors")
        first, snippet = done.stdout.split("\n", 1)
        check("docs/integrations/%s.md" % client in first, first)
        snippet = snippet.replace(wanted(scene)["program"], "execward")
        equal(blocks_of(client + ".md")[0], (language, snippet), client)


@test
def the_page_about_codex_has_what_is_printed(scene):
    documents = [tomllib.loads(text) for _, text in blocks_of("codex.md")]
    for options, document in zip(
        (
            ["--id=execward"],
            ["--id=build", "--ssh=ada@build"],
            ["--id=shop", "--docker=shop"],
            ["--id=shop-0", "--kubectl=shop-0"],
        ),
        documents,
    ):
        for entry in document["environments"]:
            entry.pop("initialize_timeout_sec", None)
            if entry["program"] == "/usr/local/bin/execward":
                entry["program"] = wanted(scene)["program"]
        equal(document, tomllib.loads(codex(scene, *options).stdout), " ".join(options))


@test
def links_of_the_pages_lead_somewhere(scene):
    for page in pages():
        for link in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", text_of(PAGES, page)):
            check(os.path.exists(os.path.join(PAGES, link)), "%s: %s" % (page, link))


if __name__ == "__main__":
    main()

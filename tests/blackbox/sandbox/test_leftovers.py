"""What one command leaves on the disk decides nothing about the next one.

Each test lets a first command prepare the workspace, as far as it can, and then checks what a second one
can plant or read there.
"""

import contextlib
import os
import shutil
import stat
import sys

sys.path.insert(0, os.path.abspath(__file__ + "/../../.."))
from support.client import check, equal, file_uri
from support.files import Files, writing
from support.runner import main
from support.sandboxes import READS_ALL, WRITES_WORKSPACE, at, matching, mode, permissions, sandbox_test

# Tries to plant what git or an agent would execute or obey in the work tree that it runs in.
PLANTS = """
(printf '[core]\\n\\tfsmonitor = evil\\n' >> .git/config) 2>/dev/null
for d in .git/hooks .git/info .git/modules/evil/hooks .codex .agents .execward; do
  mkdir -p $d 2>/dev/null; (echo evil > $d/evil) 2>/dev/null; done
for f in .git/config.worktree .git/commondir; do (echo evil > $f) 2>/dev/null; done
"""
MODES = (0o000, 0o111, 0o333, 0o444, 0o666)


SET_ASIDE = ".execward-set-aside-"  # neither git nor an agent looks there


def planted(directory):
    """Returns what PLANTS has changed in a work tree."""
    found = []
    for above, _, names in os.walk(directory):
        for name in names:
            path = os.path.join(above, name)
            with contextlib.suppress(OSError), open(path, errors="replace") as file:
                if "evil" in file.read():
                    found.append(os.path.relpath(path, directory))
    return [path for path in found if SET_ASIDE not in path]


def nothing_planted(site, directory, sandbox=None, what="", is_root=False):
    """In a nested repository, git's own is protected."""
    ended = site.run("cd %s && { %s }; true" % (directory, PLANTS), sandbox)
    missed = [denial for denial in ended.exited["denials"] if denial["operation"] == "look"]
    equal(missed, [], "looks that were missed")
    found = [path for path in planted(directory) if is_root or path.startswith(".git/")]
    equal(found, [], "planted " + what)
    for name in (".codex", ".agents", ".execward"):
        shutil.rmtree(os.path.join(directory, name), ignore_errors=True)


def refused(site, sandbox, cwd, words):
    """Expects that a start is refused with these words."""
    params = site.server.start_params(site.new_name(), ["true"], cwd=file_uri(cwd), sandbox=sandbox)
    error = site.server.refused("process/start", params, -32603, "sandboxUnavailable")
    check(words in error["message"], "message %r" % error["message"])
    check(error["data"].get("hint"), "no way out: %s" % error)


@contextlib.contextmanager
def with_mode(path, new):
    old = stat.S_IMODE(os.stat(path).st_mode)
    os.chmod(path, new)
    try:
        yield
    finally:
        os.chmod(path, old)


def writes(site, *more):
    """Returns a sandbox that may write the workspace and these directories."""
    entries = [READS_ALL, WRITES_WORKSPACE, *[at(path, "write") for path in more]]
    return permissions(entries, roots=[site.workspace])


# What looks like a repository


@sandbox_test(needs=["git"])
def a_root_that_looks_like_a_git_directory_is_protected_all_the_same(site):
    for number, forged in enumerate(
        ("touch HEAD; mkdir objects", "touch HEAD commondir", "ln -s a HEAD; ln -s b objects")
    ):
        root = site.repository("r%d" % number)
        nested = site.repository("r%d/nested" % number)
        sandbox = mode(policyCwd=root)
        site.works(forged, sandbox, cwd=file_uri(root))
        nothing_planted(site, nested, sandbox, "in a nested one after " + forged)
        nothing_planted(site, root, sandbox, "after " + forged, is_root=True)


@sandbox_test(needs=["git"])
def a_root_in_a_git_directory_is_protected_as_any_other(site):
    repository = site.repository("r")
    tree = repository + "/.git/wt/feature"
    site.git(repository, "worktree", "add", "-q", tree)
    nested = site.repository("r/.git/wt/feature/nested")
    for root in (tree, repository):
        sandbox = mode(policyCwd=root)
        site.run("cd %s && rm -f .git; mv .git x" % tree, sandbox)
        check(os.path.isfile(tree + "/.git"), "the file .git is gone")
        nothing_planted(site, nested, sandbox)
    nothing_planted(site, tree, mode(policyCwd=tree), is_root=True)


@sandbox_test(needs=["git"])
def made_up_repositories_take_no_protection_from_real_ones(site):
    real = site.repository("z")
    shutil.move(real + "/.git", real + "/.bare")
    site.file("z/.git", "gitdir: ./.bare\n")
    site.works("for i in $(seq 30); do mkdir -p 0$i/.git/objects; touch 0$i/.git/HEAD; done")
    text = site.run("cd z; echo evil >> .bare/config; echo evil > .bare/hooks/evil").text
    equal((planted(real), text.count("Read-only")), ([], 2), "planted")


@sandbox_test(needs=["git"])
def what_is_left_behind_makes_no_start_impossible(site):
    root = site.repository("r")
    sandbox = mode(policyCwd=root, denyRead=["**/*.pem"])
    for number in range(60):
        for name in ("objects", "refs"):
            os.makedirs("%s/.git/modules/%d/%s" % (root, number, name))
        site.file("r/.git/modules/%d/HEAD" % number)
    for number in range(300):
        os.makedirs("%s/d/%d/.git/x" % (root, number))
    for number in range(1100):
        site.file("r/keys/%d.pem" % number, "secret\n")
    ended = site.run(
        "cat keys/*.pem keys/7.pem; echo evil > .git/modules/7/config; echo evil > d/299/.git/HEAD; "
        "echo evil > d/99/.git/HEAD; git commit -q --allow-empty -m more && echo fine",
        sandbox,
        cwd=file_uri(root),
        env=site.git_environment(),
    )
    check(ended.text.endswith("fine\n") and "secret" not in ended.text, ended.text)
    equal(planted(root), [], "planted")
    told = " ".join(ended.started["notes"])
    for words in (".git/modules", "too many repositories", "**/*.pem"):
        check(words in told, "%s is not told: %s" % (words, told))


@sandbox_test(needs=["git"])
def what_is_open_to_all_in_the_repository_of_another_user_is_protected(site):
    if os.getuid() != 0:
        return  # only root can make one
    git = site.repository("theirs") + "/.git"
    for above, directories, names in os.walk(git):
        for name in directories + names:
            os.chown(os.path.join(above, name), 1000, 1000)
    os.chown(git, 1000, 1000)
    os.chmod(git + "/config", 0o666)
    os.chmod(git + "/hooks", 0o777)
    site.run("(echo evil >> theirs/.git/config; echo evil > theirs/.git/hooks/evil) 2>&1")
    equal(planted(site.inside("theirs")), [], "planted")


# What cannot be looked into


@sandbox_test(needs=["git"])
def a_root_that_was_closed_is_refused_and_opens_nothing(site):
    root = site.repository(site.beyond("root"))
    site.repository(site.beyond("root/a/b/nested"))
    sandbox = writes(site, root)
    for new in MODES:
        site.works("chmod %o %s" % (new, root), sandbox)
        try:
            refused(site, sandbox, site.workspace, "'%s' cannot be read" % root)
            best = {**sandbox, "enforcement": "best-effort"}
            site.run("chmod 755 %s; cd %s && { %s }" % (root, root, PLANTS), best)
            site.run("chmod 755 %s; cd %s/a/b/nested && { %s }" % (root, root, PLANTS), best)
        finally:
            os.chmod(root, 0o755)
        equal(planted(root), [], "planted with mode %o" % new)
    with_search_only = mode(policyCwd=site.repository("own"))
    site.works("chmod 311 .", with_search_only, cwd=file_uri(site.inside("own")))
    refused(site, with_search_only, site.inside("own"), "cannot be read")
    os.chmod(site.inside("own"), 0o755)
    site.works("true", with_search_only, cwd=file_uri(site.inside("own")))


@sandbox_test(needs=["git"])
def a_root_below_a_closed_directory_is_protected(site):
    nested = site.repository("closed/root/a/nested")
    with with_mode(site.inside("closed"), 0o311):
        nothing_planted(site, nested, writes(site, site.inside("closed/root")))


@sandbox_test
def patterns_hide_what_is_in_a_directory_that_cannot_be_read(site):
    for path in ("svc/.env", "svc/sub/.env", "x/a/c.pem"):
        site.file(path, "secret\n")
    reads = "cat svc/.env svc/sub/.env x/a/c.pem; "
    entries = [
        READS_ALL,
        WRITES_WORKSPACE,
        matching("**/.env", "deny"),
        matching(site.inside("x/*/c.pem"), "deny"),
    ]
    sandbox = permissions(entries, roots=[site.workspace])
    for new in (0o111, 0o311, 0o333, 0o444, 0o000):
        site.run("chmod %o svc x" % new, sandbox)
        text = site.run(reads + "chmod 755 svc x; " + reads, sandbox).text
        for name in ("svc", "x"):
            os.chmod(site.inside(name), 0o755)
        check("secret" not in text, "with mode %o: %s" % (new, text))
    with with_mode(site.workspace, 0o311):
        refused(site, sandbox, site.workspace, "cannot be looked into")


@sandbox_test
def alternatives_alone_are_a_pattern(site):
    for name in ("p.key", "q.key", "a/q.key"):
        site.file(name, "secret\n")
    for denied in (["{p,q}.key", "a/{q,r}.key"], [site.inside("{p,q}.key"), site.inside("a/{q,r}.key")]):
        text = site.run("cat p.key q.key a/q.key", mode(denyRead=denied)).text
        equal(text.count("Permission denied"), 3, "read with %s: %s" % (denied, text))


# What is missing, and what is a link


@sandbox_test(needs=["git"])
def what_git_obeys_cannot_be_made_where_it_is_missing(site):
    repository = site.repository("r")
    nested = site.repository("r/nested")
    for git in (repository + "/.git", nested + "/.git"):
        shutil.rmtree(git + "/info", ignore_errors=True)
        shutil.rmtree(git + "/hooks", ignore_errors=True)
    # The extension may stand where nobody looks.
    with open(repository + "/.git/config", "a") as file:
        file.write("# %s\n" % ("x" * 70000) + "[extensions]\n\tworktreeConfig = true\n")
    for root in (nested, repository):
        nothing_planted(site, root, mode(policyCwd=repository))
    left = [name for name in ("info", "hooks", "config.worktree", "commondir")
            if os.path.lexists(repository + "/.git/" + name)]
    equal(left, [], "left behind")


@sandbox_test(needs=["git"])
def links_in_a_git_directory_cannot_be_replaced(site):
    for name in ("hooks", "config", "info", "modules"):
        root = site.repository("r-" + name)
        shared = site.inside("r-" + name, "shared", name)
        own = root + "/.git/" + name
        os.makedirs(os.path.dirname(shared))
        if os.path.lexists(own):
            shutil.move(own, shared)
        else:
            os.makedirs(shared)
        os.symlink("../shared/" + name, own)
        sandbox = mode(policyCwd=root)
        ended = site.run(
            "rm .git/%s && mkdir .git/%s; (echo evil > shared/%s/evil; echo evil >> shared/%s; "
            "mv shared x; rm -r shared) 2>/dev/null; echo a > a" % ((name,) * 4),
            sandbox,
            cwd=file_uri(root),
        )
        check(os.path.islink(own), "the link %s is gone" % name)
        equal(planted(root), [], "planted in " + name)
        check(os.path.exists(root + "/a"), "nothing can be written")
        told = " ".join(ended.started.get("notes", ()))
        check("/.git' is read-only" in told and "link" in told, "notes %s" % told)


@sandbox_test
def no_device_is_opened_to_see_where_git_is_led(site):
    pipe = site.inside("n/.git/commondir")
    os.makedirs(site.inside("n/.git/objects"))
    site.file("n/.git/HEAD", "ref: refs/heads/main\n")
    os.mkfifo(pipe)  # who opened it for reading would wait
    os.makedirs(site.inside("m"))
    os.symlink("/dev/tty", site.inside("m/.git"))
    site.works("true")


@sandbox_test(needs=["git"])
def what_a_file_calls_a_repository_is_closed_and_told(site):
    os.makedirs(site.inside("src"))
    site.works("mkdir y; echo 'gitdir: ../src' > y/.git")
    ended = site.run("touch src/x")
    check(ended.code != 0, "it was writable")
    check(site.inside("src") in " ".join(ended.started.get("notes", ())), "it is not told")


# Roots that become something else


@sandbox_test
def a_root_of_a_session_that_became_something_else_is_refused(site):
    package = site.inside("pkg/b")
    home = site.beyond("home")
    for directory in (package, home):
        os.makedirs(directory)
    first = site.new_server()
    second = site.new_server()
    sandbox = mode(policyCwd=package)
    files = Files(second, sandbox=sandbox)
    site.works("true", sandbox, cwd=file_uri(package))
    files.write(package + "/mine", b"x")
    first.start("p", ["sh", "-c", "mv pkg/b pkg/b0; ln -s %s pkg/b" % home], sandbox=mode(),
                cwd=file_uri(site.workspace))
    equal(first.wait_closed("p").exited["exitCode"], 0, "exit code of the other session's command")
    refused(site, sandbox, package, "is not the directory that it was")
    error = files.fails("sandboxUnavailable", "writeFile", writing(package + "/evil", b"x"))
    check("is not the directory that it was" in error["message"], "message %r" % error["message"])
    equal(os.listdir(home), [], "written into another directory")
    os.remove(package)
    os.rename(site.inside("pkg/b0"), package)
    site.works("touch again", sandbox, cwd=file_uri(package))
    files.write(package + "/more", b"x")


if __name__ == "__main__":
    main()

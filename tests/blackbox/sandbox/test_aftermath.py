"""What a command leaves behind is looked at before its end is told.

Protected names that do not exist stay absent while a command runs, so tools work as outside. What
git or an agent would execute or obey, and was not there before, is moved aside.
"""

import os
import subprocess
import sys
import time

sys.path.insert(0, os.path.abspath(__file__ + "/../../.."))
from support.client import (
    check,
    equal,
    eventually,
    file_uri,
    kill_quietly,
    within,
)
from support.runner import main
from support.sandboxes import READS_ALL, WRITES_WORKSPACE, at, mode, permissions, sandbox_test

HOSTILE = "[core]\n\trepositoryformatversion = 0\n\tfsmonitor = \"touch %s; false\"\n"


def set_aside(ended):
    return [denial for denial in ended.exited["denials"] if denial["kind"] == "setAside"]


def git_works(site, script, **options):
    """Runs a script in an empty directory. It must succeed, and nothing may be moved aside."""
    ended = site.run(["sh", "-ec", script], env=site.git_environment(), **options)
    equal((ended.code, set_aside(ended)), (0, []), "end of %r: %s" % (script, ended.text[-800:]))
    return ended.text


# Tools find what they would find outside


@sandbox_test
def an_empty_directory_is_empty(site):
    equal(site.works("ls -A; test ! -e .git; test ! -d .codex"), "", "what is in it")
    equal(site.works("find . -mindepth 1 -delete; tar cf - . | tar tf -"), "./\n", "an archive")
    equal(os.listdir(site.workspace), [], "what is left")


@sandbox_test(needs=["git"])
def a_directory_without_a_repository_is_none(site):
    text = site.fails("git rev-parse --show-toplevel", env=site.git_environment())
    check("not a git repository" in text, "what git says: " + text)


@sandbox_test(needs=["git"])
def a_repository_can_be_made_in_the_root(site):
    git_works(site, "git init -q . && echo x > f && git add f && git commit -qm one")
    equal(site.git(site.workspace, "log", "--oneline").count("\n"), 1, "commits")
    equal(site.git(site.workspace, "status", "--porcelain"), "", "git status")
    # The next command finds a repository that is protected as any other.
    text = git_works(
        site, "git config core.fsmonitor evil || echo kept; git commit -qm two --allow-empty"
    )
    check("kept" in text, "the settings were changed")


@sandbox_test(needs=["git"])
def a_repository_can_be_cloned_into_the_root(site):
    source = site.repository(site.beyond("source"))
    site.git(source, "branch", "other")
    git_works(site, "git clone -q %s ." % source)
    git_works(site, "git switch -q other && git pull -q")
    equal(site.git(site.workspace, "remote"), "origin\n", "remotes")


@sandbox_test(needs=["git"])
def a_repository_with_submodules_can_be_cloned_into_the_root(site):
    library = site.repository(site.beyond("library"))
    source = site.repository(site.beyond("source"))
    allow = "-c protocol.file.allow=always"
    site.git(source, *allow.split(), "submodule", "--quiet", "add", library, "deep/lib")
    site.git(source, "commit", "-qm", "lib")
    git_works(site, "git %s clone -q --recurse-submodules %s ." % (allow, source))
    equal(site.git(site.inside("deep/lib"), "status", "--porcelain"), "", "git status")


@sandbox_test(needs=["git"])
def worktrees_and_git_clean_work(site):
    git_works(site, "git init -q . && git commit -qm one --allow-empty && git worktree add -q tree")
    equal(site.git(site.inside("tree"), "status", "--porcelain"), "", "git status")


@sandbox_test(needs=["npm", "git"])
def npm_makes_a_version_where_there_is_no_repository(site):
    site.file("package.json", '{"name": "a", "version": "1.0.0"}\n')
    equal(site.works("npm version patch").split()[-1], "v1.0.1", "the version")


@sandbox_test(needs=["cargo", "git"])
def cargo_makes_a_package_in_the_root(site):
    home = {"CARGO_HOME": site.inside("h"), "RUSTUP_HOME": os.path.expanduser("~/.rustup")}
    site.works("cargo init --name a --vcs git .", env={**site.git_environment(), **home})
    check(os.path.exists(site.inside(".git/config")), "no repository")


# What is dangerous is moved aside

ATTACKS = {
    "settings": ("git init -q .; printf '%s' > .git/config", ".git/config"),
    "hooks": ("git init -q .; echo x > .git/hooks/pre-commit", ".git/hooks"),
    "hooks path": ("git init -q .; git config core.hooksPath x", ".git/config"),
    "include": ("git init -q .; git config include.path x", ".git/config"),
    "filter": ("git init -q .; git config filter.f.clean x", ".git/config"),
    "work tree": ("git init -q .; git config core.worktree /tmp", ".git/config"),
    "common directory": ("git init -q .; echo ../evil > .git/commondir", ".git/commondir"),
    "template": ("mkdir -p t/hooks; echo x > t/hooks/x; git init -q --template=t .", ".git/hooks"),
    "link": ("mkdir own; git init -q own; ln -s own/.git .git", ".git"),
    "file": ("git init -q --separate-git-dir=own .; printf '%s' > own/config", "own/config"),
    "rename": ("git init -q own; echo x > own/.git/hooks/x; mv own/.git .git", ".git/hooks"),
    "archive": ("mkdir -p a/.codex; echo x > a/.codex/x; tar cC a . | tar x; rm -r a", ".codex"),
    "agents": ("mkdir .agents; echo x > .agents/x", ".agents"),
    "own": ("echo x > .execward", ".execward"),
    "bare": ("git init -q --bare .; printf '%s' > config", "config"),
    "daemon": ("(setsid sh -c 'mkdir .codex; echo x > .codex/x; sleep 9' &); "
               "until test -s .codex/x; do :; done", ".codex"),
    "modes": ("mkdir .codex; echo x > .codex/x; chmod 0 .codex", ".codex"),
}


def check_moved(ended, path):
    things = set_aside(ended)
    equal([thing["target"] for thing in things], [path], "what was moved: %s" % ended.text)
    check(not os.path.lexists(path), "%s is still there: %s" % (path, things))
    check(os.path.lexists(things[0]["movedTo"]), "lost: " + path)
    check(things[0]["allow"].startswith("mv -nT "), "the way back: %s" % things[0])
    return things[0]


@sandbox_test(needs=["git", "tar"])
def what_git_or_an_agent_would_obey_is_moved_before_the_end_is_told(site):
    for name, (script, path) in ATTACKS.items():
        root = site.inside(name.replace(" ", "-"))
        os.mkdir(root)
        marker = site.beyond("marker-" + name.replace(" ", "-"))
        ended = site.run(
            script.replace("%s", HOSTILE.replace("\n", "\\n").replace("\t", "\\t") % marker),
            mode(policyCwd=root, writableRoots=[root]),
            cwd=file_uri(root),
            env=site.git_environment(),
        )
        check_moved(ended, os.path.join(root, path))
        subprocess.run(["git", "status"], cwd=root, env=site.git_environment(),
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
        check(not os.path.exists(marker), "git ran a program: " + name)


@sandbox_test(needs=["git"])
def what_was_moved_can_be_brought_back(site):
    thing = check_moved(site.run("mkdir .codex; echo x > .codex/x"), site.inside(".codex"))
    subprocess.run(["sh", "-c", thing["allow"]], check=True)
    check(os.path.exists(site.inside(".codex/x")), "it is not back")
    # It was there before the next command, so it is a user's.
    equal(set_aside(site.run("true")), [], "what was moved later")


# Repositories that existed


@sandbox_test(needs=["git"])
def a_submodule_that_a_command_makes_runs_nothing(site):
    repository = site.repository()
    marker = site.beyond("marker")
    settings = (HOSTILE % marker).replace("\n", "\\n").replace("\t", "\\t")
    for number, form in enumerate(("--index-version=2", "--index-version=4", "--split-index")):
        site.git(repository, "update-index", form)
        ended = site.run(
            "git init -q $S && cd $S && git commit -qm x --allow-empty && h=$(git rev-parse HEAD) "
            "&& cd .. && git update-index --add --cacheinfo 160000,$h,$S && "
            "printf '%s' > $S/.git/config" % settings,
            env={**site.git_environment(), "S": "sub%d" % number},
        )
        check_moved(ended, "%s/sub%d/.git/config" % (repository, number))
        site.git(repository, "status")
        check(not os.path.exists(marker), "git ran a program")


@sandbox_test(needs=["git"])
def a_module_that_a_command_makes_runs_nothing(site):
    repository = site.repository()
    ended = site.run(
        "git init -q --bare .git/modules/evil; echo x > .git/modules/evil/hooks/post-checkout",
        env=site.git_environment(),
    )
    check_moved(ended, repository + "/.git/modules/evil/hooks")


@sandbox_test(needs=["git"])
def links_in_git_lead_nowhere(site):
    repository = site.repository()
    victim = site.file(site.beyond("victim"), "old\n")
    for path in ("COMMIT_EDITMSG", "FETCH_HEAD", "logs/refs/heads/x", "ORIG_HEAD"):
        ended = site.run(
            "mkdir -p .git/%s; ln -sf %s .git/%s" % (os.path.dirname(path), victim, path)
        )
        check_moved(ended, "%s/.git/%s" % (repository, path))
    site.git(repository, "commit", "-qm", "two", "--allow-empty")
    with open(victim) as file:
        equal(file.read(), "old\n", "the file outside")


@sandbox_test(needs=["git"])
def what_a_user_had_stays(site):
    repository = site.repository()
    site.git(repository, "config", "alias.x", "!true")
    site.git(repository, "config", "core.hooksPath", ".husky")
    site.file(".git/hooks/pre-commit", "#!/bin/sh\n")
    os.symlink("/tmp", repository + "/.git/rr-cache")
    git_works(site, "git commit -qm two --allow-empty; git pack-refs --all; git repack -adq")
    equal(site.git(repository, "config", "alias.x"), "!true\n", "a setting")


# Changes of protected settings


def outside(site, *arguments):
    return site.git(site.workspace, *arguments).strip()


@sandbox_test(needs=["git"])
def git_changes_harmless_settings(site):
    source = site.repository(site.beyond("source"))
    site.git(source, "branch", "feature")
    site.git(site.outside, "clone", "-q", source, site.workspace)
    inode = os.stat(site.inside(".git/config")).st_ino
    git_works(site, "git switch -q feature")
    equal(outside(site, "rev-parse", "--abbrev-ref", "@{u}"), "origin/feature", "the upstream")
    git_works(
        site,
        "git branch -q topic && git branch -m topic renamed && git branch -q -D renamed && "
        "git checkout -q -b x origin/feature && git remote add other %s && git remote rename other o"
        " && git config user.name Ada && git fetch -q o && git branch -q -u o/feature x" % source,
    )
    equal(outside(site, "config", "user.name"), "Ada", "a setting")
    equal(outside(site, "config", "branch.x.remote"), "o", "the remote")
    equal(os.stat(site.inside(".git/config")).st_ino, inode, "the file is another one")
    check(not os.path.exists(site.inside(".git/config.lock")), "a lock is left")


@sandbox_test(needs=["git"])
def other_settings_are_refused_by_name(site):
    repository = site.repository()
    before = read(repository + "/.git/config")
    for setting in ("core.fsmonitor", "alias.x", "extensions.worktreeConfig", "include.path"):
        ended = site.run(["git", "config", setting, "true"], env=site.git_environment())
        check(ended.code != 0, "it was written: " + setting)
        (denial,) = ended.exited["denials"]
        equal((denial["kind"], denial["operation"]), ("file", "rename"), "the denial")
        equal(denial["target"], repository + "/.git/config", "the target")
        check(setting.lower() in denial["rule"], "the rule: %s" % denial)
    equal(read(repository + "/.git/config"), before, "the settings")


@sandbox_test(needs=["git"])
def a_rename_leads_to_no_other_file(site):
    repository = site.repository()
    victim = site.file(site.beyond("victim"), "[user]\n\tname = old\n")
    before = read(repository + "/.git/config")
    text = site.works(
        "cd .git; ln -s %s config.lock; mv config.lock config || echo kept; rm config.lock; "
        "cd ..; mkdir -p d/.git; printf '[user]\n\tname = new\n' > d/.git/config.lock; "
        "ln -s %s d/.git/config; mv -T d/.git/config.lock d/.git/config; cat d/.git/config"
        % (victim, victim)
    )
    check("kept" in text, text)
    equal(read(victim), "[user]\n\tname = old\n", "the file outside")
    equal(read(repository + "/.git/config"), before, "the settings")


@sandbox_test(needs=["git"])
def settings_that_a_policy_closes_stay(site):
    repository = site.repository()
    before = read(repository + "/.git/config")
    sandbox = permissions(
        [READS_ALL, WRITES_WORKSPACE, at(repository + "/.git/config", "read")], roots=[repository]
    )
    site.fails("git config user.name Ada", sandbox, env=site.git_environment())
    equal(read(repository + "/.git/config"), before, "the settings")


@sandbox_test(needs=["git"])
def submodules_can_be_made_ready(site):
    library = site.repository(site.beyond("library"))
    source = site.repository(site.beyond("source"))
    allow = "-c protocol.file.allow=always"
    site.git(source, *allow.split(), "submodule", "--quiet", "add", library, "lib")
    site.git(source, "commit", "-qm", "lib")
    site.git(site.outside, "clone", "-q", source, site.workspace)
    git_works(site, "git %s submodule --quiet update --init" % allow)
    equal(outside(site, "submodule", "status")[:1] in "-+", False, "the submodule")


# More than one command


@sandbox_test(needs=["git"])
def a_command_beside_another_brings_nothing_back(site):
    first = site.start("git init -q .; git config core.fsmonitor x; read x", pipeStdin=True,
                       env=site.git_environment())
    eventually(lambda: "fsmonitor" in read(site.inside(".git/config")), "the settings of the first")
    second = site.start("read x; echo '[core]' > .git/config; echo 'editor = x' >> .git/config",
                        pipeStdin=True)
    site.server.write(first, b"go\n")
    check_moved(site.ended(first), site.inside(".git/config"))
    site.server.write(second, b"go\n")
    check_moved(site.ended(second), site.inside(".git/config"))


def read(path):
    try:
        with open(path) as file:
            return file.read()
    except OSError:
        return ""


@sandbox_test
def what_a_killed_server_has_not_looked_at_is_moved_by_the_next_start(site):
    server = site.new_server()
    site.start("mkdir .codex; echo x > .codex/x; sleep 600")
    eventually(lambda: read(site.inside(".codex/x")), "the file")
    server.may_be_cut = True
    os.kill(server.worker(), 9)
    server.exit_status()
    eventually(lambda: not server.programs(), "the end of all programs")

    site.new_server()
    equal(site.works("ls -d .codex 2>/dev/null || echo moved"), "moved\n", "what is there")
    equal(os.listdir(site.scene.path("state") + "/execward/looks"), [], "records")


def direct_children(pid):
    """Reads one file, which is fast enough to see a process that lives for a millisecond."""
    try:
        with open("/proc/%d/task/%d/children" % (pid, pid)) as file:
            return set(map(int, file.read().split()))
    except OSError:  # it has ended
        return set()


def killed_look(site):
    """Kills the process that looks at what a command has left, which has waited for its end, and the
    one that then tries again. Returns the command's end, or None."""
    server = site.server
    name = site.start("mkdir .codex; echo x > .codex/x; read line", pipeStdin=True)
    eventually(lambda: read(site.inside(".codex/x")), "the file")
    worker = server.worker()
    before = direct_children(worker)
    (waiting,) = [pid for pid in before if direct_children(pid)]
    server.write(name, b"go\n")
    end = time.monotonic() + within(10)
    while not server.process(name).closed and time.monotonic() < end:
        if not direct_children(waiting):
            kill_quietly(waiting)
        for pid in direct_children(worker) - before:
            kill_quietly(pid)
    ended = site.ended(name)
    return ended if os.path.exists(site.inside(".codex")) else None


@sandbox_test
def a_look_that_is_killed_is_told_and_made_up_for_by_the_next_start(site):
    end = time.monotonic() + within(60)
    ended = None
    while ended is None and time.monotonic() < end:
        ended = killed_look(site)
    check(ended, "each look was over before it was killed")
    (told,) = set_aside(ended)
    equal((told["operation"], told.get("movedTo")), ("look", None), "what is told")
    check("the look was ended" in told["rule"], told)
    # The killed process may keep its lock for a moment.
    listed = "ls -d .codex 2>/dev/null || echo moved"
    eventually(lambda: site.works(listed) == "moved\n", "a look at what was left")


if __name__ == "__main__":
    main()

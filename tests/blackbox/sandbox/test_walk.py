"""The walk of a workspace: each start finds what is there by then, whether its result is kept or not."""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.abspath(__file__ + "/../../.."))
from support import machines
from support.client import PATH, check, children_of, equal, eventually, file_uri, is_alive
from support.runner import main
from support.sandboxes import keeps_walks, mode, sandbox_test

PATTERNS = ["**/*.pem", "**/.env"] + ["**/*.secret%d" % number for number in range(13)]
DENIED = mode(denyRead=PATTERNS)


@sandbox_test
def what_one_command_makes_is_hidden_from_the_next(site):
    site.works("mkdir -p a/b; echo hidden > a/b/key.pem; echo shown > a/b/key.txt", DENIED)
    site.works("mkdir c; mv a/b c/moved; echo hidden > .env", DENIED)
    text = site.fails("cat c/moved/key.txt .env; cat c/moved/key.pem", DENIED)
    check("shown" in text and "hidden" not in text, text)
    site.works("mkdir n; for i in $(seq 14); do echo hidden > n/x.secret$((i % 13)); done", DENIED)
    check("hidden" not in site.fails("cat n/*", DENIED), "one of 15 patterns was not searched for")


@sandbox_test(needs=["git"])
def what_is_made_outside_is_seen_by_the_next_command(site):
    site.works("true", DENIED)
    site.file("deep/in/x.pem", "hidden\n")
    site.repository("deep/r")
    script = "exec 2> /dev/null; cat deep/in/x.pem; echo evil >> deep/r/.git/config || echo held"
    text = site.works(script, DENIED)
    check("hidden" not in text and text.endswith("held\n"), text)


@sandbox_test(needs=["git"])
def a_repository_that_one_command_makes_is_protected_from_the_next(site):
    environment = site.git_environment()
    site.works("mkdir -p far; cd far; git init -q made", DENIED, env=environment)
    site.works("mv far near; git init -q near/other", DENIED, env=environment)
    for name in ("near/made", "near/other"):
        script = "exec 2> /dev/null; echo evil > %s/.git/hooks/x || echo held" % name
        text = site.works(script, DENIED)
        check(text.endswith("held\n"), "%s: %s" % (name, text))


@sandbox_test
def many_files_hide_nothing(site):
    makes = "mkdir many; cd many; seq 25000 | xargs touch; mkdir d; echo hidden > d/x.pem; cd ..; "
    site.works("true", DENIED)
    site.works(makes + "mkdir -p r/.git/objects r/.git/hooks; echo x > r/.git/HEAD", DENIED)
    script = "exec 2> /dev/null; cat many/d/x.pem; echo evil > r/.git/hooks/x || echo held"
    text = site.works(script, DENIED)
    check("hidden" not in text and text.endswith("held\n"), text[-600:])


@sandbox_test
def a_match_in_a_directory_that_lets_nobody_through_is_closed_with_it(site):
    for new in (0o600, 0o400, 0o200):
        site.works("rm -rf s; mkdir s; echo hidden > s/x.pem; chmod %o s" % new, DENIED)
        text = site.run("chmod 755 s; cat s/x.pem", DENIED).text
        check("hidden" not in text, "mode %o: %s" % (new, text))
        os.chmod(site.inside("s"), 0o755)


def walkers_of(site):
    """Returns the processes that keep walks for the server of the site."""
    found, above = [], [site.server.pid]
    while above:
        below = children_of(above.pop())
        above += below
        found += [pid for pid in below if keeps_walks(pid)]
    return found


def walker_of(site):
    found = walkers_of(site)
    equal(len(found), 1, "processes that keep walks")
    return found[0]


def watched_by(pid):
    """Returns the number of directories that the process watches."""
    count = 0
    for name in os.listdir("/proc/%d/fdinfo" % pid):
        with contextlib.suppress(OSError), open("/proc/%d/fdinfo/%s" % (pid, name)) as file:
            count += sum(line.startswith("inotify ") for line in file)
    return count


def check_watched(pid, count):
    """Only root may look at the descriptors of a process that nobody may trace."""
    if os.geteuid() == 0:
        eventually(lambda: watched_by(pid) == count, "watches of %d directories" % count)


@contextlib.contextmanager
def stopped(pid):
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


def check_hidden(site, *names):
    for name in names:
        text = site.run("cat %s" % name, DENIED).text
        check("hidden" not in text, "%s: %s" % (name, text))


@sandbox_test
def a_walk_is_kept_and_knows_what_has_changed(site):
    for number in range(20):
        os.makedirs(site.inside("tree", str(number)))
    site.works("true", DENIED)
    walker = walker_of(site)
    check_watched(walker, 22)

    site.works("mkdir -p tree/3/new/deep; echo hidden > tree/3/new/deep/x.pem", DENIED)
    site.works("mkdir plain; echo hidden > plain/.env", DENIED)
    check_hidden(site, "tree/3/new/deep/x.pem", "plain/.env")
    site.works("mv tree/3 tree/moved; mv plain/.env plain/x.pem; rmdir tree/4", DENIED)
    check_hidden(site, "tree/moved/new/deep/x.pem", "plain/x.pem")
    check_watched(walker, 24)
    equal(walker_of(site), walker, "the process that keeps walks")


@sandbox_test(needs=["git"])
def a_repository_in_a_kept_walk_is_protected_wherever_it_is_moved(site):
    environment = site.git_environment()
    script = "exec 2> /dev/null; for d in */made; do echo x > $d/.git/hooks/x || echo held; done"
    site.works("mkdir a b", DENIED)
    site.works("git init -q a/made; mv a/made b/made", DENIED, env=environment)
    equal(site.works(script, DENIED), "held\n", "where it was made")
    for old, new in (("b/made", "a/made"), ("a", "c")):
        os.rename(site.inside(old), site.inside(new))
        equal(site.works(script, DENIED), "held\n", "after %s became %s" % (old, new))
    equal(len(walkers_of(site)), 1, "processes that keep walks")


@sandbox_test
def what_happens_while_nobody_keeps_a_walk_is_found(site):
    site.works("mkdir a", DENIED)
    walker = walker_of(site)
    site.works("echo hidden > a/x.pem", DENIED)
    os.kill(walker, signal.SIGKILL)
    eventually(lambda: not walkers_of(site), "end of the process")

    check_hidden(site, "a/x.pem")

    check(walker_of(site) != walker, "no new process keeps walks")
    site.works("echo hidden > a/y.pem", DENIED)
    check_hidden(site, "a/x.pem", "a/y.pem")


@sandbox_test
def what_keeps_walks_ends_with_the_server_however_that_ends(site):
    site.works("true", DENIED)
    walker = walker_of(site)
    site.server.end()
    eventually(lambda: not is_alive(walker), "end of the process after the end of input")

    site.new_server()
    site.works("true", DENIED)
    walker = walker_of(site)
    for pid in site.server.own_pids():
        os.kill(pid, signal.SIGKILL)
    eventually(lambda: not is_alive(walker), "end of the process after a kill")


@sandbox_test
def a_start_does_not_wait_for_ever_for_a_walk_that_is_kept(site):
    site.works("mkdir a", DENIED)
    walker = walker_of(site)
    with stopped(walker):
        site.works("echo hidden > a/x.pem", DENIED)
        check_hidden(site, "a/x.pem")
    check_hidden(site, "a/x.pem")


@sandbox_test
def more_changes_than_the_kernel_keeps_are_found(site):
    with open("/proc/sys/fs/inotify/max_queued_events") as file:
        most = int(file.read())
    if most > 100000:
        return print("not tried: the kernel keeps %d changes" % most)
    site.works("mkdir a", DENIED)
    walker = walker_of(site)
    with stopped(walker):
        for _ in range(most // 2 + 1):
            os.mkdir(site.inside("d"))
            os.rmdir(site.inside("d"))
        site.file("late/x.pem", "hidden\n")
    check_hidden(site, "late/x.pem")
    equal(walker_of(site), walker, "the process that keeps walks")
    check_watched(walker, 3)


@sandbox_test(needs=["nsenter", "mount"])
def what_is_mounted_after_a_walk_is_searched(site):
    if os.geteuid() != 0:
        return print("not tried: only root can mount")
    os.mkdir(site.inside("m"))
    site.works("true", DENIED)
    walker = walker_of(site)
    site.works("true", DENIED)
    place = site.inside("m")
    script = "mount -t tmpfs none %s; echo hidden > %s/x.pem" % (place, place)
    mounting = ["nsenter", "-t", str(walker), "-m", "sh", "-ec", script]
    subprocess.run(mounting, check=True, env={"PATH": PATH + ":/usr/sbin:/sbin"})

    check("x.pem" in site.works("ls m", DENIED), "the file system is not shown")
    check_hidden(site, "m/x.pem")


@sandbox_test
def too_few_watches_hide_and_protect_as_much(site):
    site.new_server(prepare=machines.without_watches)
    site.works("mkdir a", DENIED)
    check_watched(walker_of(site), 0)
    makes = "mkdir -p r/.git/objects r/.git/hooks; echo x > r/.git/HEAD"
    site.works("echo hidden > a/x.pem; " + makes, DENIED)
    check_hidden(site, "a/x.pem")
    text = site.works("exec 2> /dev/null; echo evil > r/.git/hooks/x || echo held", DENIED)
    equal(text, "held\n", "a hook")


# Alone: it makes more directories than one walk reads (200 000).
@sandbox_test(alone=True)
def what_is_too_large_to_be_searched_is_closed_and_the_rest_goes_on(site):
    root = tempfile.mkdtemp(prefix="execward-test-", dir="/dev/shm")  # in memory, where this is quick
    repository = "999/.git/hooks"
    try:
        for group in range(201):
            for number in range(1000):
                os.makedirs(os.path.join(root, "many", str(group), str(number)))
            os.makedirs(os.path.join(root, "many", str(group), repository))
            site.file(os.path.join(root, "many", str(group), "999/.git/HEAD"), "ref: refs/heads/x\n")
        os.mkdir(os.path.join(root, "src"))
        ended = site.run(
            "exec 2> /dev/null; echo x > src/file && echo src; echo x > file && echo root; "
            "for d in many/*; do echo x > $d/%s/x && echo planted; done; true" % repository,
            mode(policyCwd=file_uri(root)),
            cwd=file_uri(root),
        )
    finally:
        shutil.rmtree(root)
    equal(ended.text, "src\nroot\n", "what can be written")
    notes = ended.started.get("notes", ())
    check(any("too many directories" in note for note in notes), "notes %s" % (notes,))


if __name__ == "__main__":
    main()

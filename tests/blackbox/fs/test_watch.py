"""fs/watchMissing: one notification when a path appears, in whatever way, and none before."""

import os
import sys
import threading
import time

sys.path.insert(0, os.path.abspath(__file__ + "/../../.."))
from support.client import PATIENCE, check, children_of, equal, eventually, file_uri, within
from support.files import MOST_WATCHES, Files, content, put
from support.runner import main, test
from support.sandboxes import both_forms, sandbox_test

MOST_PATHS = 1024


class Place:
    """A directory and a server that watches paths in it."""

    def __init__(self, scene):
        self.scene, self.root = scene, os.path.realpath(scene.path("place"))
        os.mkdir(self.root)
        self.files, self.number = Files(scene.server()), 0

    def path(self, *names):
        return os.path.join(self.root, *names)

    def watch(self, *names):
        """Watches the paths. Returns the number of the watch."""
        self.number += 1
        watching = self.files.watch(self.number, *[self.path(name) for name in names])
        equal(watching, True, "watching %s" % (names,))
        return self.number

    def quiet(self, *expected):
        """Checks that every change has been handled, and that these are the only notifications."""
        mark, path = 10_000 + self.number, self.path("mark%d" % self.number)
        self.number += 1
        equal(self.files.watch(mark, path), True, "watching the mark")
        put(path)
        self.files.wait_news(mark)
        self.files.server.wait_idle(0.3)
        got = [number for number in self.files.news() if number < 10_000]
        equal(sorted(got), sorted(expected), "watches that were told of something")


# Changes that make a path appear


def makes_file(place):
    put(place.path("x"))


def makes_directory(place):
    os.mkdir(place.path("x"))


def makes_pipe(place):
    os.mkfifo(place.path("x"))


def renames_from_beside(place):
    put(place.path("before"))
    os.rename(place.path("before"), place.path("x"))


def renames_from_elsewhere(place):
    os.rename(put(place.scene.path("elsewhere")), place.path("x"))


def links_hard(place):
    os.link(put(place.scene.path("elsewhere")), place.path("x"))


def links_to_something(place):
    os.symlink("/", place.path("x"))


WAYS = (
    makes_file,
    makes_directory,
    makes_pipe,
    renames_from_beside,
    renames_from_elsewhere,
    links_hard,
    links_to_something,
)


def tells_once_when(way):
    def tells_once(scene):
        place = Place(scene)
        number = place.watch("x")
        put(place.path("y"))
        way(place)
        place.files.wait_news(number)
        place.quiet(number)
        put(place.path("z"))
        os.rename(place.path("x"), place.path("x2"))
        put(place.path("x"))
        place.quiet(number)

    tells_once.__name__ = "it_is_told_once_when_somebody_" + way.__name__
    return tells_once


for made in WAYS:
    test(tells_once_when(made))


@test
def parents_that_appear_step_by_step(scene):
    place = Place(scene)
    names = ["a", "b", "c", "d"]
    number = place.watch("a/b/c/d")
    for depth in range(1, 4):
        os.mkdir(place.path(*names[:depth]))
        place.quiet()
    put(place.path(*names))
    place.files.wait_news(number)
    place.quiet(number)


@test
def parents_that_appear_all_at_once(scene):
    place = Place(scene)
    for turn in range(20):
        top = "t%d" % turn
        number = place.watch(top + "/a/b/c/file")
        os.makedirs(place.path(top, "a", "b", "c"))
        put(place.path(top, "a", "b", "c", "file"))
        place.files.wait_news(number)
    place.quiet(*range(1, 21))


@test
def a_tree_that_is_moved_into_its_place(scene):
    place = Place(scene)
    number = place.watch("a/b/file")
    os.makedirs(scene.path("other", "b"))
    put(scene.path("other", "b", "file"))
    os.rename(scene.path("other"), place.path("a"))
    place.files.wait_news(number)
    place.quiet(number)


@test
def a_parent_that_goes_and_comes_back(scene):
    place = Place(scene)
    os.makedirs(place.path("a", "b"))
    number = place.watch("a/b/file")
    os.rmdir(place.path("a", "b"))
    os.rename(place.path("a"), place.path("away"))
    place.quiet()
    os.makedirs(place.path("a", "b"))
    place.quiet()
    put(place.path("a", "b", "file"))
    place.files.wait_news(number)
    place.quiet(number)


@test
def a_parent_that_is_moved_away_is_watched_no_longer(scene):
    place = Place(scene)
    os.makedirs(place.path("a"))
    number = place.watch("a/file")
    os.rename(place.path("a"), place.path("b"))
    put(place.path("b", "file"))
    place.quiet()
    os.mkdir(place.path("a"))
    put(place.path("a", "file"))
    place.files.wait_news(number)
    place.quiet(number)


@test
def a_parent_of_parents_that_is_exchanged(scene):
    place = Place(scene)
    os.makedirs(place.path("a", "b", "c"))
    number = place.watch("a/b/c/file")
    os.makedirs(place.path("new", "b", "c"))
    put(place.path("new", "b", "c", "file"))
    os.rename(place.path("a"), place.path("old"))
    os.rename(place.path("new"), place.path("a"))
    place.files.wait_news(number)
    place.quiet(number)


@test
def a_link_to_a_directory_that_is_made_to_lead_to_another(scene):
    place = Place(scene)
    for name in ("one", "two"):
        os.mkdir(place.path(name))
    put(place.path("two", "file"))
    os.symlink("one", place.path("link"))
    number = place.watch("link/file")
    os.symlink("two", place.path("other"))
    os.rename(place.path("other"), place.path("link"))
    place.files.wait_news(number)
    place.quiet(number)


@test
def a_dangling_link_that_becomes_valid(scene):
    place = Place(scene)
    os.makedirs(scene.path("target"))
    os.symlink(scene.path("target", "deep", "file"), place.path("second"))
    os.symlink("second", place.path("first"))
    number = place.watch("first")
    os.mkdir(scene.path("target", "deep"))
    place.quiet()
    put(scene.path("target", "deep", "file"))
    place.files.wait_news(number)
    place.quiet(number)


@test
def a_link_that_is_made_to_lead_somewhere_else(scene):
    place = Place(scene)
    os.symlink("none", place.path("link"))
    number = place.watch("link")
    os.symlink("none either", place.path("other"))
    os.rename(place.path("other"), place.path("link"))
    place.quiet()
    put(place.path("none"))
    place.quiet()
    put(place.path("none either"))
    place.files.wait_news(number)
    place.quiet(number)


@test
def a_parent_that_is_a_dangling_link(scene):
    place = Place(scene)
    os.symlink(scene.path("target"), place.path("link"))
    number = place.watch("link/file")
    os.mkdir(scene.path("target"))
    place.quiet()
    put(scene.path("target", "file"))
    place.files.wait_news(number)
    place.quiet(number)


@test
def a_parent_that_is_a_file_and_becomes_a_directory(scene):
    place = Place(scene)
    put(place.path("a"))
    number = place.watch("a/file")
    os.unlink(place.path("a"))
    os.mkdir(place.path("a"))
    put(place.path("a", "file"))
    place.files.wait_news(number)
    place.quiet(number)


@test
def a_loop_of_links_is_missing_until_it_is_none(scene):
    place = Place(scene)
    os.symlink("b", place.path("a"))
    os.symlink("a", place.path("b"))
    number = place.watch("a")
    os.unlink(place.path("b"))
    place.quiet()
    put(place.path("b"))
    place.files.wait_news(number)
    place.quiet(number)


# Several watches


@test
def several_watches_in_one_directory_are_told_each_of_its_own(scene):
    place = Place(scene)
    numbers = [place.watch("f%d" % n) for n in range(10)]
    twin = place.watch("f3")
    put(place.path("f3"))
    place.files.wait_news(numbers[3], twin)
    place.quiet(numbers[3], twin)
    for n in (0, 9, 5):
        put(place.path("f%d" % n))
    place.files.wait_news(numbers[0], numbers[9], numbers[5])
    place.quiet(*[numbers[n] for n in (0, 3, 5, 9)], twin)


@test
def one_of_several_paths_suffices_and_ends_the_watch(scene):
    place = Place(scene)
    os.mkdir(place.path("d"))
    number = place.watch("a", "d/b", "e/f/c", "a")
    put(place.path("d", "other"))
    place.quiet()
    put(place.path("d", "b"))
    place.files.wait_news(number)
    for name in ("a", "e"):
        os.mkdir(place.path(name))
    place.quiet(number)


@test
def nothing_is_watched_when_a_path_exists_or_none_is_named(scene):
    place = Place(scene)
    put(place.path("there"))
    os.symlink("there", place.path("link"))
    for paths in ((), ("there",), ("link",), (".",), ("missing", "there")):
        watching = place.files.watch(77, *[place.path(name) for name in paths])
        equal(watching, False, "watching %s" % (paths,))
    put(place.path("missing"))
    place.quiet()
    place.files.fails("invalidParams", "watchMissing", {"watchId": 1, "missing": ["relative"]})
    place.files.fails("invalidParams", "watchMissing", {"watchId": -1, "missing": []})
    place.files.fails("invalidParams", "watchMissing", {"watchId": 1})


@test
def the_same_id_again_replaces_the_watch(scene):
    place = Place(scene)
    for name in ("first", "second", "third"):
        equal(place.files.watch(5, place.path(name)), True, "watching " + name)
    put(place.path("first"))
    put(place.path("second"))
    place.quiet()
    put(place.path("third"))
    place.files.wait_news(5)
    place.quiet(5)
    # A watch of an existing path replaces it, too.
    equal(place.files.watch(6, place.path("fourth")), True, "watching the fourth")
    equal(place.files.watch(6, place.path("third")), False, "watching what is there")
    put(place.path("fourth"))
    place.quiet(5)
    # The number can be used again after its notification.
    equal(place.files.watch(5, place.path("fifth")), True, "watching the fifth")
    put(place.path("fifth"))
    place.files.server.wait(lambda: place.files.news().count(5) == 2, "the second notification")


@test
def an_empty_list_ends_the_watch_of_that_id(scene):
    place = Place(scene)
    equal(place.files.watch(8, place.path("x")), True, "watching")
    equal(place.files.watch(8), False, "watching nothing")
    put(place.path("x"))
    place.quiet()


@test
def ids_are_numbers_up_to_the_largest(scene):
    place, largest = Place(scene), (1 << 64) - 1
    for number in (0, 1 << 53, largest):
        equal(place.files.watch(number, place.path("x")), True, "watching")
    put(place.path("x"))
    place.files.wait_news(0, 1 << 53, largest)
    equal(sorted(place.files.news()), [0, 1 << 53, largest], "news")


@test
def no_more_watches_than_the_limit_and_no_more_paths(scene):
    place = Place(scene)
    for number in range(MOST_WATCHES):
        place.files.watch(number, place.path("f%d" % number))
    one_more = {"watchId": 5000, "missing": [file_uri(place.path("more"))]}
    place.files.fails("limit", "watchMissing", one_more)
    equal(place.files.watch(9, place.path("other")), True, "replacing one")
    put(place.path("f10"))
    place.files.wait_news(10)
    equal(place.files.call("watchMissing", one_more), {"watching": True}, "after one has ended")
    many = [file_uri(place.path("p%d" % number)) for number in range(MOST_PATHS + 1)]
    place.files.fails("limit", "watchMissing", {"watchId": 9, "missing": many})
    long = [file_uri(place.path("l" * 250 + "/%d" % number)) for number in range(1000)]
    place.files.fails("limit", "watchMissing", {"watchId": 9, "missing": long})
    equal(place.files.call("watchMissing", {"watchId": 9, "missing": many[1:]})["watching"], True, "1024")
    put(place.path("p1000"))
    place.files.wait_news(9)


# Among many other files


@test
def changes_that_do_not_concern_it_tell_nothing_and_cost_little(scene):
    place = Place(scene)
    place.watch("x")
    place.files.server.wait_idle(0.3)
    before = place.files.server.busy_seconds()
    for number in range(5000):
        path = put(place.path("f%d" % number), b"x")
        os.rename(path, path + ".moved")
        os.unlink(path + ".moved")
    place.quiet()
    busy = place.files.server.busy_seconds() - before
    check(busy < within(2), "the server was busy for %.1f s" % busy)


@test
def a_path_that_appears_amid_many_changes_is_told(scene):
    place, stop = Place(scene), threading.Event()

    def make_noise():
        number = 0
        while not stop.is_set():
            number += 1
            os.rmdir(place.path("noise")) if number % 2 else os.mkdir(place.path("noise"))

    os.mkdir(place.path("noise"))
    noise = threading.Thread(target=make_noise)
    noise.start()
    try:
        for turn in range(10):
            number = place.watch("x%d/y" % turn)
            os.mkdir(place.path("x%d" % turn))
            put(place.path("x%d" % turn, "y"))
            place.files.wait_news(number)
    finally:
        stop.set()
        noise.join()
    place.quiet(*range(1, 11))


@test
def what_appears_while_it_is_asked_for_is_either_there_or_told(scene):
    place = Place(scene)
    server = place.files.server
    told = []
    for number in range(200):
        path = place.path("r%d" % number)
        asked = place.files.send("watchMissing", {"watchId": number, "missing": [file_uri(path)]})
        if number % 3:
            time.sleep(number % 7 * 0.0002)
        put(path)
        if server.result(asked)["watching"]:
            told.append(number)
    place.files.wait_news(*told)
    place.quiet(*told)


@test
def watches_do_not_pile_up_in_the_kernel(scene):
    place = Place(scene)
    for turn in range(50):
        os.makedirs(place.path("d%d" % turn))
        number = place.watch("d%d/file" % turn)
        put(place.path("d%d" % turn, "file"))
        place.files.wait_news(number)
    place.quiet(*range(1, 51))
    left = inotify_watches(place.files.server.worker())
    check(left <= 3, "%d directories are still watched" % left)


def inotify_watches(pid):
    count = 0
    for name in os.listdir("/proc/%d/fdinfo" % pid):
        count += content("/proc/%d/fdinfo/%s" % (pid, name)).count(b"inotify wd:")
    return count


# In a sandbox


@sandbox_test
def a_watch_in_a_sandbox_is_told_too_and_rests(site):
    for number, sandbox in enumerate(both_forms(site.workspace).values()):
        files = Files(site.server, sandbox=sandbox)
        path = site.inside("d%d" % number, "file")
        equal(files.watch(number, path), True, "watching")
        site.server.wait_idle(0.3)
        os.mkdir(site.inside("d%d" % number))
        site.server.wait_idle(0.3)
        equal(number in files.news(), False, "told too early")
        put(path)
        files.wait_news(number)
        eventually(lambda: not site.litter(), "the end of what the sandbox put there")


@sandbox_test
def a_watch_in_a_sandbox_does_not_look_for_what_does_not_concern_it(site):
    """Each check needs a sandbox, and other programs create files in /tmp all the time."""
    files, stop = Files(site.server, sandbox=both_forms(site.workspace)["mode"]), threading.Event()

    def make_noise():
        number = 0
        while not stop.wait(0.002):
            number += 1
            for place in (site.scene.directory, site.workspace):
                path = put(os.path.join(place, "other%d" % (number % 50)))
                os.rename(path, path + ".moved")

    noise = threading.Thread(target=make_noise)
    noise.start()
    try:
        equal(files.watch(1, site.inside("a", "file")), True, "watching")
        own, end = set(site.server.own_pids()), time.monotonic() + PATIENCE
        os.mkdir(site.inside("a"))
        quiet_since = time.monotonic()
        while time.monotonic() - quiet_since < 2.5:  # checks would come once a second
            check(time.monotonic() < end, "it looks again and again")
            if set(descendants(site.server.pid)) - own:
                quiet_since = time.monotonic()
            time.sleep(0.01)
        put(site.inside("a", "file"))
        files.wait_news(1)
    finally:
        stop.set()
        noise.join()


def descendants(pid):
    found = children_of(pid)
    return found + [below for child in found for below in descendants(child)] + [pid]


@sandbox_test
def a_sandbox_does_not_tell_of_what_it_hides(site):
    secret = site.inside("secret")
    os.mkdir(secret)
    sandbox = both_forms(site.workspace)["permissions"]
    sandbox["permissions"]["file_system"]["entries"].append(
        {"path": {"type": "path", "path": file_uri(secret)}, "access": "deny"}
    )
    files = Files(site.server, sandbox=sandbox)
    put(os.path.join(secret, "there"))
    hidden = files.send(
        "watchMissing", {"watchId": 1, "missing": [file_uri(os.path.join(secret, "there"))]}
    )
    equal(site.server.reply(hidden).get("result"), {"watching": True}, "what is there and hidden")
    files.watch(2, os.path.join(secret, "later"))
    files.watch(3, site.inside("seen"))
    put(os.path.join(secret, "later"))
    put(site.inside("seen"))
    files.wait_news(3)
    site.server.wait_idle(0.5)
    equal(files.news(), [3], "news")


if __name__ == "__main__":
    main()

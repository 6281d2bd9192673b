"""Patches that are killed while they are applied, and the next `execward patch`, which must recover them.

A round: a tree, a patch that adds, changes, moves and removes files in several directories, SIGKILL at
some moment, sometimes a recovery that is killed too, and a last recovery. The tree must then be the old
or the new one, with nothing beside it and no journal left.
"""

import os
import random
import shutil
import signal
import subprocess
import time

DIRECTORIES = ["", "src", "src/deep/er", "docs"]
LONGEST_DELAY = 0.004  # after the first sign of a change


class Wrong(Exception):
    """The mistake that a round has found."""


def text_of(number, changed):
    lines = ["line %d of file %d\n" % (line, number) for line in range(40 + 60 * (number % 5))]
    if changed:
        lines[7] = "changed %d\n" % number
    return "".join(lines)


def update(number, path, destination=None):
    move = "*** Move to: %s\n" % destination if destination else ""
    return "*** Update File: %s\n%s@@\n line 6 of file %d\n-line 7 of file %d\n+changed %d\n" % (
        path, move, number, number, number)


def scene():
    """Returns the files before, the files after, and the patch in between."""
    before, after, changes = {}, {}, []
    for number in range(24):
        path = os.path.join(DIRECTORIES[number % len(DIRECTORIES)], "file%d" % number)
        if number % 6 == 3:
            after["new/%d/%s" % (number, path)] = "added %d\n" % number
            changes.append("*** Add File: new/%d/%s\n+added %d\n" % (number, path, number))
            continue
        before[path] = text_of(number, False)
        if number % 6 == 4:
            changes.append("*** Delete File: %s\n" % path)
        elif number % 6 == 5:
            after["moved/" + path] = text_of(number, True)
            changes.append(update(number, path, "moved/" + path))
        else:
            after[path] = text_of(number, True)
            changes.append(update(number, path))
    return before, after, "*** Begin Patch\n%s*** End Patch\n" % "".join(changes)


def write_tree(root, files):
    shutil.rmtree(root, ignore_errors=True)
    for path, text in files.items():
        os.makedirs(os.path.dirname(os.path.join(root, path)), exist_ok=True)
        with open(os.path.join(root, path), "w") as file:
            file.write(text)


def read_tree(root):
    files, directories = {}, set()
    for directory, _, names in os.walk(root):
        directories.add(os.path.relpath(directory, root))
        for name in names:
            with open(os.path.join(directory, name)) as file:
                files[os.path.relpath(os.path.join(directory, name), root)] = file.read()
    return files, directories


class Stress:
    def __init__(self, execward, place, seed):
        self.execward, self.random = execward, random.Random(seed)
        self.root, self.state = os.path.join(place, "tree"), os.path.join(place, "state")
        self.patch = os.path.join(place, "patch")
        self.journals = os.path.join(self.state, "execward", "patches")
        self.before, self.after, text = scene()
        with open(self.patch, "w") as file:
            file.write(text)
        self.environment = dict(os.environ, XDG_STATE_HOME=self.state)
        self.counts = dict.fromkeys(["old", "new", "torn", "journal", "recoveryKilled"], 0)
        self.usual = self.measured()

    def start(self, *arguments):
        return subprocess.Popen([self.execward, "patch", *arguments], env=self.environment,
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE)

    def apply(self):
        return self.start("apply", "--directory", self.root, self.patch)

    def measured(self):
        """Returns how long the patch takes if it is not interrupted."""
        write_tree(self.root, self.before)
        began = time.monotonic()
        child = self.apply()
        _, errors = child.communicate()
        if child.returncode != 0 or read_tree(self.root)[0] != self.after:
            raise Wrong("the patch cannot be applied: %s" % errors.decode())
        return time.monotonic() - began

    def staged(self):
        return any(name.startswith(".execward-") for name in os.listdir(self.root))

    def first_is_new(self):
        return os.stat(os.path.join(self.root, "file0")).st_size != len(self.before["file0"])

    def wait(self, child, is_near):
        """Waits until a moment that is worth a kill, or any moment."""
        if is_near is None:
            return time.sleep(self.random.uniform(0, self.usual * 1.1))
        while child.poll() is None and not is_near():
            pass
        return time.sleep(self.random.uniform(0, LONGEST_DELAY))

    def kill_near(self, is_near, number=signal.SIGKILL):
        """Starts the patch from the beginning, and kills it at such a moment."""
        write_tree(self.root, self.before)
        child = self.apply()
        self.wait(child, is_near)
        child.send_signal(number)
        child.communicate()

    def interrupt(self):
        """Kills the recovery of a patch half-way as well, sometimes more than once."""
        while os.listdir(self.journals) and self.random.random() < 0.4:
            child = self.start("recover")
            time.sleep(self.random.uniform(0, self.usual * 0.7))
            child.kill()
            child.communicate()
            self.counts["recoveryKilled"] += 1

    def recover(self):
        action = self.random.choice([["recover"], ["check", self.patch, "--directory", "/"]])
        child = self.start(*action)
        _, errors = child.communicate()
        if action == ["recover"] and child.returncode != 0:
            raise Wrong("recover: %s" % errors.decode())

    def round(self):
        self.kill_near(self.random.choice([None, self.staged, self.first_is_new]))
        files, _ = read_tree(self.root)
        self.counts["torn"] += files not in (self.before, self.after)
        self.counts["journal"] += bool(os.listdir(self.journals))
        self.interrupt()
        self.recover()
        files, directories = read_tree(self.root)
        if os.listdir(self.journals):
            raise Wrong("journals are left: %s" % os.listdir(self.journals))
        if files == self.before:
            self.counts["old"] += 1
            if "new" in directories or "moved" in directories:
                raise Wrong("directories are left: %s" % sorted(directories))
        elif files == self.after:
            self.counts["new"] += 1
        else:
            odd = sorted(set(files.items()) ^ set(self.before.items()))
            raise Wrong("the tree is neither old nor new: %s" % [name for name, _ in odd])

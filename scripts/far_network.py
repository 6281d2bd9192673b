"""A network of its own for a script, whose loopback device stands for the internet.

For scripts/bench/network.py and scripts/soak/network.py, which run execward with a network by host.
"""

import contextlib
import os
import subprocess
import sys

FAR, PORT = "203.0.113.5", 7000  # TEST-NET-3
ALLOW = "--allow-host=%s:%d" % (FAR, PORT)
MARK = "EXECWARD_FAR_NETWORK"  # in the environment of the script that is in one


def enter():
    """Starts this script again in such a network (unshare(1)). Returns if it is in one."""
    if MARK in os.environ:
        return
    user = [] if os.geteuid() == 0 else ["--map-root-user"]
    os.environ[MARK] = "own"
    os.execvp("unshare", ["unshare", "--net", *user, "--", sys.executable, *sys.argv])


@contextlib.contextmanager
def server(program):
    """Runs this Python program, which listens at the place in its arguments and then prints a line."""
    for words in (["link", "set", "lo", "up"], ["route", "add", "local", FAR, "dev", "lo"]):
        subprocess.run(["ip", *words], check=True)
    words = [sys.executable, "-c", program, FAR, str(PORT)]
    with subprocess.Popen(words, stdout=subprocess.PIPE) as child:
        child.stdout.readline()
        try:
            yield
        finally:
            child.kill()


def client(program, *arguments):
    """Returns the command of a Python program that connects to the place in its arguments."""
    return [sys.executable, "-c", program, FAR, str(PORT), *map(str, arguments)]


def environment(root):
    """Returns the environment of execward with its state and its settings below that directory."""
    return {**os.environ, "XDG_STATE_HOME": root + "/state", "XDG_CONFIG_HOME": root + "/c"}

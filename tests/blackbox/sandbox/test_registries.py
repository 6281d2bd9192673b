"""`npm install` and `apt-get download` with one host allowed, from where the machine itself is told to get them.

The hosts are those of the tools' own settings. A test is skipped where there are none, where a proxy leads to
them, or where they do not answer the same command without a sandbox.
"""

import ipaddress
import os
import re
import shutil
import socket
import subprocess
import sys
import urllib.parse

sys.path.insert(0, os.path.abspath(__file__ + "/../../.."))
from support.client import PROGRAM_MARK, check, equal
from support.runner import main, test
from support.sandboxes import PATH

PATIENCE = 60  # seconds
PROXIES = ("http_proxy", "https_proxy", "all_proxy")
SYSTEM_PATH = PATH + ":/usr/sbin:/sbin"


def run(scene, words, directory):
    os.makedirs(directory, exist_ok=True)
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith("npm_config_")},
        "PATH": SYSTEM_PATH,
        "XDG_STATE_HOME": os.path.join(os.path.dirname(scene.directory), "state"),
        "npm_config_cache": os.path.join(directory, ".cache"),
        PROGRAM_MARK: scene.mark,
    }
    try:
        return subprocess.run(words, cwd=directory, env=environment, stdin=subprocess.DEVNULL, timeout=PATIENCE,
                              capture_output=True, text=True)
    except (OSError, subprocess.TimeoutExpired) as error:
        return subprocess.CompletedProcess(words, 127, "", str(error))


def allowed(uri):
    """Options that allow the host of a URI, and its addresses if it is on a private network."""
    there = urllib.parse.urlsplit(uri)
    port = there.port or {"https": 443, "http": 80}[there.scheme]
    hosts = [there.hostname]
    for found in socket.getaddrinfo(there.hostname, port, type=socket.SOCK_STREAM):
        if not ipaddress.ip_address(found[4][0]).is_global:
            hosts.append(found[4][0])
    return ["--allow-host=%s:%d" % ("[%s]" % host if ":" in host else host, port) for host in sorted(set(hosts))]


def both_ways(scene, words, uri, is_there):
    """The command without a sandbox, with one and its host, and with one and another host."""
    name = words[0]
    if any(variable.lower() in PROXIES and value for variable, value in os.environ.items()):
        return print("SKIP %s: a proxy leads to its host" % name)
    plain = run(scene, words, scene.path("plain"))
    if plain.returncode != 0 or not is_there(scene.path("plain")):
        return print("SKIP %s: it does not reach its host without a sandbox" % name)
    for kind, options in (("allowed", allowed(uri)), ("refused", ["--allow-host=other.example"])):
        directory = scene.path(kind)
        done = run(scene, [scene.command[0], "run", *options, "--", *words], directory)
        if "cannot be kept here" in done.stderr or "sandboxUnavailable" in done.stderr:
            return print("SKIP %s: this machine has no network by host" % name)
        if kind == "allowed" and not is_there(directory):
            again = scene.path("again")
            if run(scene, words, again).returncode != 0 or not is_there(again):
                return print("SKIP %s: its host does not answer any more" % name)
        equal(is_there(directory), kind == "allowed", done.stdout + done.stderr)
        equal("refused" in done.stderr and ": connect " in done.stderr, kind == "refused", done.stderr)


def setting(words):
    if not shutil.which(words[0], path=PATH):
        return ""
    try:
        return subprocess.run(words, capture_output=True, text=True, timeout=PATIENCE).stdout.strip()
    except subprocess.TimeoutExpired:
        return ""


@test
def npm_installs_from_the_registry_that_is_set_up_and_nowhere_else(scene):
    registry = setting(["npm", "config", "get", "registry"])
    if not registry.startswith("http"):
        return print("SKIP npm: no registry is set up")
    words = ["npm", "install", "--no-audit", "--no-fund", "--no-update-notifier", "--fetch-retries=0",
             "--registry=" + registry, "ms"]
    both_ways(scene, words, registry, lambda place: os.path.exists(place + "/node_modules/ms/package.json"))


@test
def apt_downloads_from_the_mirror_that_is_set_up_and_nowhere_else(scene):
    listed = setting(["apt-get", "download", "--print-uris", "hostname"])
    uri = re.search(r"'(https?://[^']+)'", listed)
    if not uri:
        return print("SKIP apt-get: no mirror is set up, or its lists were never fetched")
    words = ["apt-get", "-o", "APT::Sandbox::User=", "-o", "Acquire::Retries=0", "download", "hostname"]

    def is_there(place):
        check(os.path.isdir(place), place)
        return any(name.endswith(".deb") for name in os.listdir(place))

    both_ways(scene, words, uri.group(1), is_there)


if __name__ == "__main__":
    main()

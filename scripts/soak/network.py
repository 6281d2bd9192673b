#!/usr/bin/env python3
"""Sends gigabytes both ways through the network by host, and compares every byte.

usage: scripts/soak/network.py [--megabytes N] [--connections N] BUILD_DIR

A server that sends back what comes is in a network of its own (unshare(1)). A client in a sandbox sends it
N megabytes over each of several connections at once, reads at an uneven pace, and compares.
"""

import argparse
import os
import pathlib
import subprocess
import sys
import tempfile

FAR, PORT = "203.0.113.5", 7000  # TEST-NET-3

SERVER = r"""
import socket, sys, threading
server = socket.create_server((sys.argv[1], int(sys.argv[2])), backlog=256)
print("ready", flush=True)

def echo(client):
    with client:
        while block := client.recv(1 << 18):
            client.sendall(block)

while True:
    threading.Thread(target=echo, args=(server.accept()[0],), daemon=True).start()
"""

CLIENT = r"""
import os, random, socket, sys, threading, time
place, port, size, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
wrong = []

def one(number):
    block = os.urandom((1 << 20) + number)  # no power of two: offsets differ with each repetition
    pace = random.Random(number)
    client = socket.create_connection((place, port))

    def send():
        rest = size
        while rest > 0:
            part = block[:rest]
            client.sendall(part)
            rest -= len(part)
        client.shutdown(socket.SHUT_WR)

    threading.Thread(target=send).start()
    got = 0
    while part := client.recv(pace.choice((100, 5000, 1 << 16, 1 << 20))):
        at = got % len(block)
        if (block[at:] + block)[:len(part)] != part:
            wrong.append("connection %d differs after %d bytes" % (number, got))
            break
        got += len(part)
        if pace.random() < 0.001:
            time.sleep(0.05)
    if got != size:
        wrong.append("connection %d: %d bytes came" % (number, got))

threads = [threading.Thread(target=one, args=(number,)) for number in range(count)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print("\n".join(wrong) or "ok")
sys.exit(bool(wrong))
"""


def soak(program, megabytes, connections, root):
    for words in (["link", "set", "lo", "up"], ["route", "add", "local", FAR, "dev", "lo"]):
        subprocess.run(["ip", *words], check=True)
    environment = {**os.environ, "XDG_STATE_HOME": root + "/state", "XDG_CONFIG_HOME": root + "/c"}
    server = subprocess.Popen([sys.executable, "-c", SERVER, FAR, str(PORT)], stdout=subprocess.PIPE)
    server.stdout.readline()
    size = (megabytes << 20) // connections
    words = [sys.executable, "-c", CLIENT, FAR, str(PORT), str(size), str(connections)]
    allow = "--allow-host=%s:%d" % (FAR, PORT)
    done = subprocess.run([program, "run", "--directory=" + root, allow, "--", *words], env=environment)
    server.kill()
    server.wait()
    return done.returncode


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--megabytes", type=int, default=1024, help="each way, over all connections")
    parser.add_argument("--connections", type=int, default=4)
    parser.add_argument("build", type=pathlib.Path)
    options = parser.parse_args()
    if "EXECWARD_SOAK_NETWORK" not in os.environ:
        user = [] if os.geteuid() == 0 else ["--map-root-user"]
        os.environ["EXECWARD_SOAK_NETWORK"] = "own"
        os.execvp("unshare", ["unshare", "--net", *user, "--", sys.executable, *sys.argv])
    program = str(options.build.resolve() / "execward")
    with tempfile.TemporaryDirectory(prefix="soak-", dir="/var/tmp") as root:
        sys.exit(soak(program, options.megabytes, options.connections, root))


main()

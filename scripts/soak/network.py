#!/usr/bin/env python3
"""Sends gigabytes both ways through the network by host, and compares every byte.

usage: scripts/soak/network.py [--megabytes N] [--connections N] BUILD_DIR

A server that sends back what comes is in a network of its own (unshare(1)). A client in a sandbox sends it
N megabytes over each of several connections at once, reads at an uneven pace, and compares.
"""

import argparse
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import far_network

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
    client = far_network.client(CLIENT, (megabytes << 20) // connections, connections)
    words = [program, "run", "--directory=" + root, far_network.ALLOW, "--", *client]
    with far_network.server(SERVER):
        return subprocess.run(words, env=far_network.environment(root)).returncode


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--megabytes", type=int, default=1024, help="each way, over all connections")
    parser.add_argument("--connections", type=int, default=4)
    parser.add_argument("build", type=pathlib.Path)
    options = parser.parse_args()
    far_network.enter()
    program = str(options.build.resolve() / "execward")
    with tempfile.TemporaryDirectory(prefix="soak-", dir="/var/tmp") as root:
        sys.exit(soak(program, options.megabytes, options.connections, root))


main()

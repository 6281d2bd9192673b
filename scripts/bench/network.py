#!/usr/bin/env python3
"""Measures what the network by host costs a program: connections, and a gigabyte each way.

usage: scripts/bench/network.py [--rounds N] [--megabytes N] BUILD_DIR

Server and client are on one machine, in a network of their own (unshare(1)) whose loopback device
stands for the internet. The same client runs without a sandbox and by `execward run` in turns. Times
are wall clock and medians of the rounds; the ratios count, since they come from one run. "connect" is
until connect(2) returns, "first byte" until the server's first byte has come, "exchange" until a
question was sent, its answer has come, and the server has closed the connection.
"""

import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import far_network

# Greets with a byte. What then comes says what it does: sends that many bytes, or takes them.
SERVER = r"""
import os, socket, sys
place, port = sys.argv[1], int(sys.argv[2])
server = socket.create_server((place, port), backlog=256)
print("ready", flush=True)
block = bytearray(1 << 20)
while True:
    client, _ = server.accept()
    with client:
        client.sendall(b"x")
        order = client.recv(64).split()
        if not order:
            continue
        if order[0] == b"ask":
            client.sendall(b"x")
            continue
        rest = int(order[1])
        client.sendall(b"x")
        while rest > 0 and order[0] == b"down":
            rest -= client.send(memoryview(block)[:rest])
        while rest > 0 and order[0] == b"up":
            count = client.recv_into(block)
            if count == 0:
                break
            rest -= count
        client.sendall(b"x")
"""

CLIENT = r"""
import json, socket, statistics, sys, time
place, port, size, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
block = bytearray(1 << 20)

def connected():
    client = socket.create_connection((place, port))
    client.recv(1)
    return client

def set_up():
    begun = time.perf_counter()
    with socket.create_connection((place, port)) as client:
        made = time.perf_counter()
        client.recv(1)
        greeted = time.perf_counter()
        client.sendall(b"ask")
        while client.recv(100):
            pass
    return made - begun, greeted - begun, time.perf_counter() - begun

def moved(way):
    with connected() as client:
        client.sendall(b"%s %d" % (way, size))
        client.recv(1)
        begun = time.perf_counter()
        rest = size
        while rest > 0 and way == b"up":
            rest -= client.send(memoryview(block)[:rest])
        while rest > 0 and way == b"down":
            rest -= client.recv_into(memoryview(block)[:rest])
        client.recv(1)
        return time.perf_counter() - begun

set_up()  # the first one waits for the look-up of the host
times = [set_up() for _ in range(count)]
figures = [statistics.median(figure) for figure in zip(*times)]
print(json.dumps({
    **dict(zip(("connect", "first byte", "exchange"), figures)),
    "down": moved(b"down"),
    "up": moved(b"up"),
}))
"""


def measure(program, rounds, megabytes, root):
    client = far_network.client(CLIENT, megabytes << 20, 200)
    kinds = {
        "without a sandbox": client,
        "network by host": [
            program, "run", "--directory=" + root, far_network.ALLOW, "--", *client
        ],
    }
    times = {name: [] for name in kinds}
    with far_network.server(SERVER):
        for name, words in list(kinds.items()) * rounds:
            environment = far_network.environment(root)
            done = subprocess.run(words, env=environment, cwd=root, capture_output=True, text=True)
            if done.returncode != 0:
                sys.exit("bench/network: %s: %s" % (name, done.stderr))
            times[name].append(json.loads(done.stdout))
    return times


def show(times, megabytes):
    def median(name, figure):
        return statistics.median(round_[figure] for round_ in times[name])

    plain, hosts = times
    print("%-24s %12s %12s %8s" % ("", "no sandbox", "by host", "ratio"))
    for figure in ("connect", "first byte", "exchange"):
        one, other = median(plain, figure) * 1e6, median(hosts, figure) * 1e6
        print("%-24s %9.0f us %9.0f us %8.2f" % (figure, one, other, other / one))
    for figure in ("down", "up"):
        one, other = (megabytes / median(name, figure) for name in (plain, hosts))
        print("%-24s %7.0f MB/s %7.0f MB/s %8.2f" % (figure, one, other, other / one))


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--megabytes", type=int, default=1024)
    parser.add_argument("build", type=pathlib.Path)
    options = parser.parse_args()
    far_network.enter()
    with tempfile.TemporaryDirectory(prefix="bench-", dir="/var/tmp") as root:
        times = measure(str(options.build.resolve() / "execward"), options.rounds, options.megabytes, root)
    show(times, options.megabytes)


main()

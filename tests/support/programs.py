"""Python programs that tests start, and their output."""

import hashlib

# argv: blocks, bytes per block, [a file that records how many blocks were written]
FLOOD = """
import os, sys
blocks, size = int(sys.argv[1]), int(sys.argv[2])
block = bytes(range(256)) * (size // 256)
for number in range(blocks):
    data = block[number % 251:] + block[:number % 251]
    while data:
        data = data[os.write(1, data):]
    if len(sys.argv) > 3 and number % 16 == 0:
        with open(sys.argv[3], "w") as file:
            file.write(str(number))
"""


def flood_md5(blocks, size):
    digest, block = hashlib.md5(), bytes(range(256)) * (size // 256)
    for number in range(blocks):
        digest.update(block[number % 251 :] + block[: number % 251])
    return digest.hexdigest()


# argv: descriptor, repetitions of all 256 byte values; a terminal becomes raw
ALL_BYTES = """
import os, sys
if os.isatty(1):
    import tty
    tty.setraw(1)
os.write(int(sys.argv[1]), bytes(range(256)) * int(sys.argv[2]))
"""

# argv: bytes in hexadecimal, written one at a time
BYTE_BY_BYTE = """
import os, sys, time
for byte in bytes.fromhex(sys.argv[1]):
    os.write(1, bytes([byte]))
    time.sleep(0.02)
"""

# argv: bytes in hexadecimal, repetitions, bytes per write
REPEATED = """
import os, sys
data = bytes.fromhex(sys.argv[1]) * int(sys.argv[2])
while data:
    data = data[os.write(1, data[:int(sys.argv[3])]):]
"""

ALTERNATING = """
import os, time
for number in range(60):
    os.write(1 + number % 2, b"%04d" % number * (1 + number * 7))
    time.sleep(0.002)
"""

# These wait for blocked signals: Python does not run a handler if its signal arrives just before a
# system call begins.
SAYS_ITS_SIZE = """
import os, signal
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGWINCH})
os.write(1, b"ready\\n")
while True:
    signal.sigwait({signal.SIGWINCH})
    size = os.get_terminal_size(0)
    os.write(1, b"%d %d\\n" % (size.lines, size.columns))
"""

# Names of signals in the protocol, and in programs.
SIGNAL_NAMES = {
    "interrupt": "INT",
    "terminate": "TERM",
    "hangup": "HUP",
    "quit": "QUIT",
    "usr1": "USR1",
    "usr2": "USR2",
    "continue": "CONT",
    "windowChange": "WINCH",
}

SAYS_SIGNALS = """
import os, signal
names = "INT TERM HUP QUIT USR1 USR2 CONT WINCH".split()
numbers = {getattr(signal, "SIG" + name) for name in names}
signal.pthread_sigmask(signal.SIG_BLOCK, numbers)
os.write(1, b"ready\\n")
while True:
    os.write(1, b"got %s\\n" % signal.sigwait(numbers).name.encode())
"""

# A leader, a member of its group, a daemon, and a member of another group; each prints the signals
# that it gets.
FAMILY = """
import os, signal
numbers = {2, 10, 15}
signal.pthread_sigmask(signal.SIG_BLOCK, numbers)
def say(name):
    os.write(1, b"%s ready\\n" % name)
    while True:
        os.write(1, b"%s got %d\\n" % (name, signal.sigwait(numbers)))
def child(name, prepare):
    if os.fork() == 0:
        prepare()
        say(name)
def daemon():
    os.setsid()
    if os.fork():
        os._exit(0)
child(b"member", lambda: None)
child(b"daemon", daemon)
child(b"group", lambda: os.setpgid(0, 0))
say(b"leader")
"""
FAMILY_NAMES = (b"leader", b"member", b"daemon", b"group")

# Takes the mark off, and leaves a daemon whose pid it prints. argv: "silent" for a daemon that holds
# no stream of the program
DROPS_ITS_MARK = """
import os, resource, sys, time
resource.setrlimit(resource.RLIMIT_RTTIME, (1000, 1000))
ready, told = os.pipe()
if os.fork() == 0:
    os.setsid()
    if os.fork():
        os._exit(0)
    if "silent" in sys.argv:
        nothing = os.open("/dev/null", os.O_RDWR)
        for number in (0, 1, 2):
            os.dup2(nothing, number)
    os.write(told, b"%d\\n" % os.getpid())
    while True:
        time.sleep(60)
os.wait()
os.write(1, os.read(ready, 20))
time.sleep(600)
"""

# Six programs that ignore signals: a leader, its child, one in another session, two kinds of
# daemons, and a foreground group.
ESCAPEES = """
import os, signal, sys, time
signal.signal(signal.SIGTTOU, signal.SIG_IGN)
def rest():
    for number in (1, 2, 3, 13, 15):
        signal.signal(number, signal.SIG_IGN)
    os.write(1, b"up\\n")
    while True:
        time.sleep(60)
def child(prepare):
    if os.fork() == 0:
        prepare()
        rest()
def daemon():
    os.setsid()
    if os.fork():
        os._exit(0)
def far_daemon():
    daemon()
    os.setsid()
    if os.fork():
        os._exit(0)
def foreground():
    os.setpgid(0, 0)
    try:
        os.tcsetpgrp(0, os.getpid())
    except OSError:
        pass
for prepare in (lambda: None, os.setsid, daemon, far_daemon, foreground):
    child(prepare)
rest()
"""
ESCAPEE_COUNT = 6

# Two programs that ignore signals, one of them in a session of its own.
STUBBORN = """
import os, signal, time
for number in (1, 2, 3, 13, 15):
    signal.signal(number, signal.SIG_IGN)
if os.fork() == 0:
    os.setsid()
os.write(1, b"up")
while True:
    time.sleep(60)
"""

# argv: a fifo that is opened and closed before reading begins, bytes to read
READS_WHEN_TOLD = """
import hashlib, os, sys
if os.isatty(0):
    import tty
    tty.setraw(0)
os.write(1, b"ready\\r\\n")
open(sys.argv[1]).read()
digest, size = hashlib.md5(), 0
while size < int(sys.argv[2]):
    data = os.read(0, 1 << 16)
    if not data:
        break
    digest.update(data)
    size += len(data)
os.write(1, b"%d %s\\r\\n" % (size, digest.hexdigest().encode()))
"""

# Reads a million bytes from a raw terminal and prints meanwhile.
READS_AND_TALKS = """
import hashlib, os, tty
tty.setraw(0)
os.write(1, b"go")
size, digest = 0, hashlib.md5()
while size < 1000000:
    data = os.read(0, 4096)
    size += len(data)
    digest.update(data)
    os.write(1, b"." * 50)
os.write(1, digest.hexdigest().encode())
"""

# Prints until the pipe takes no more, records how many bytes it took, and ends. argv: a file for
# the number, the pause after 16000 bytes
PRINTS_ALL_IT_CAN = """
import os, sys, time
if os.isatty(1):
    import tty
    tty.setraw(1)
os.set_blocking(1, False)
total, last = 0, time.monotonic()
while time.monotonic() - last < 1:
    try:
        total += os.write(1, b"x" * (16000 - total % 16000))
        last = time.monotonic()
        if total % 16000 == 0:
            time.sleep(float(sys.argv[2]))
    except BlockingIOError:
        time.sleep(0.01)
with open(sys.argv[1], "w") as file:
    file.write(str(total))
"""

# Can print a mebibyte and end without a reader. argv: bytes
FILLS_A_WIDE_PIPE = """
import fcntl, os, sys
fcntl.fcntl(1, fcntl.F_SETPIPE_SZ, 1 << 20)
data = b"k" * int(sys.argv[1])
while data:
    data = data[os.write(1, data):]
"""

# Leaves a daemon that prints the signals it gets, and ends once the daemon is ready.
LEAVES_A_DAEMON = """
import os
ready, told = os.pipe()
if os.fork():
    os.read(ready, 1)
    os._exit(0)
os.setsid()
os.write(told, b"x")
""" + SAYS_SIGNALS

# A daemon that the kernel ends only if it computes for a second without a pause.
CHANGES_A_DAEMONS_LIMIT = """
import os, resource, time
if os.fork() == 0:
    os.setsid()
    resource.setrlimit(resource.RLIMIT_RTTIME, (1000000, 1000000))
    os.write(1, b"up")
while True:
    time.sleep(60)
"""

# Closes its terminal and opens it again. argv: a file to create in between, a fifo to wait for
LEAVES_ITS_TERMINAL = """
import os, sys, time, tty
tty.setraw(0)
for descriptor in (0, 1, 2):
    os.close(descriptor)
os.close(os.open(sys.argv[1], os.O_CREAT | os.O_WRONLY))
open(sys.argv[2]).read()
terminal = os.open("/dev/tty", os.O_RDWR)
os.write(terminal, b"back")
while True:
    time.sleep(60)
"""

# Prints one line of JSON: the state of a program when it begins.
SURROUNDINGS = """
import json, os, resource
with open("/proc/self/status") as file:
    status = dict(line.split(":\\t", 1) for line in file.read().splitlines() if ":\\t" in line)
descriptors = {}
for name in os.listdir("/proc/self/fd"):
    try:
        descriptors[name] = os.readlink("/proc/self/fd/" + name)
    except OSError:
        pass
try:
    foreground = os.tcgetpgrp(0)
except OSError:
    foreground = None
limits = [name for name in dir(resource) if name.startswith("RLIMIT_")]
print(json.dumps({
    "blocked": int(status["SigBlk"], 16), "ignored": int(status["SigIgn"], 16),
    "descriptors": descriptors, "pid": os.getpid(), "group": os.getpgid(0),
    "session": os.getsid(0), "foreground": foreground, "umask": os.umask(0),
    "directory": os.getcwd(),
    "limits": {name: list(resource.getrlimit(getattr(resource, name))) for name in limits}}))
"""


def progress(path):
    """Returns how many blocks a flood has recorded in the file."""
    try:
        with open(path) as file:
            return int(file.read() or 0)
    except OSError:
        return 0

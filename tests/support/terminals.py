"""Programs in a terminal."""

import contextlib
import fcntl
import os
import pty
import re
import select
import signal
import struct
import termios
import time

from support.client import PATIENCE, Failure, eventually


class Terminal:
    """A process with a controlling terminal, like a shell in a terminal window."""

    def __init__(self, arguments, cwd, env, size=(30, 100), before=None):
        self.master, slave = pty.openpty()
        self.resize(*size)
        self.settings = termios.tcgetattr(slave)
        if before:
            before(slave, self.settings)
            self.settings = termios.tcgetattr(slave)
        self.slave = slave  # kept to read its settings
        self.seen = b""
        self.pid = os.fork()
        if self.pid == 0:
            try:
                os.setsid()
                fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
                for fd in range(3):
                    os.dup2(slave, fd)
                os.closerange(3, 256)
                os.chdir(cwd)
                os.execve(arguments[0], arguments, env)
            finally:
                os._exit(99)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.pid:
            with contextlib.suppress(OSError):
                os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        for fd in (self.master, self.slave):
            if fd >= 0:
                os.close(fd)

    def resize(self, rows, cols):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, cols, 0, 0))

    def send(self, data):
        while data:
            data = data[os.write(self.master, data[:512]) :]

    def read(self, timeout):
        if not select.select([self.master], [], [], timeout)[0]:
            return b""
        try:
            data = os.read(self.master, 1 << 16)
        except OSError:
            return b""
        self.seen += data
        return data

    def expect(self, pattern, timeout=None):
        """Waits for output, and consumes it with everything before it. Returns the match."""
        end = time.monotonic() + (timeout or PATIENCE)
        while not (found := re.search(pattern, self.seen, re.DOTALL)):
            if time.monotonic() > end:
                raise Failure("not seen: %r in %r" % (pattern, self.seen[-300:]))
            self.read(0.05)
        self.seen = self.seen[found.end() :]
        return found

    def now(self):
        return termios.tcgetattr(self.slave)

    def is_raw(self):
        return not self.now()[3] & (termios.ICANON | termios.ECHO | termios.ISIG)

    def wait_raw(self):
        eventually(self.is_raw, "raw mode")

    def status(self, timeout=None):
        """Returns the exit status, or minus the signal."""

        def ended():
            self.read(0)
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            return pid and (status,)

        (status,) = eventually(ended, "the end", timeout)
        self.pid = 0
        while self.read(0):
            pass
        return os.waitstatus_to_exitcode(status)

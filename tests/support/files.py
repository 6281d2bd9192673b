"""The methods fs/* for black-box tests: calls by name, and files whose opening can be delayed."""

import ctypes
import os
import select
import struct
import tempfile

from support.client import (
    PATIENCE,
    check,
    children_of,
    command_line,
    decoded,
    encoded,
    file_uri,
    is_alive,
)

LARGEST_CONTENT = 48 << 20
LARGEST_BLOCK = 1 << 20
MOST_HANDLES = 512
MOST_WATCHES = 256
MOST_REQUESTS = 1024  # requests that wait or run
MOST_AT_ONCE = 16  # requests that run in parallel
TEMPORARY = ".execward-"  # the beginning of the names of files that are not in place yet

# Error codes by kind
CODES = {
    "notFound": -32004,
    "unknownHandle": -32004,
    "permissionDenied": -32600,
    "wrongKind": -32600,
    "limit": -32600,
    "handleExists": -32600,
    "readOnly": -32603,
    "diskFull": -32603,
    "ioFailed": -32603,
    "sandboxUnavailable": -32603,
    "denied": -32603,
    "cancelled": -32800,
    "invalidParams": -32602,
}


def on(path, **more):
    """Returns the params of a method that takes one path."""
    return {"path": file_uri(path), **more}


def writing(path, data, **more):
    return on(path, dataBase64=encoded(data), **more)


def copying(source, destination, recursive=False, **more):
    return {
        "sourcePath": file_uri(source),
        "destinationPath": file_uri(destination),
        "recursive": recursive,
        **more,
    }


def walking(path, depth=10, directories=1000, entries=10000, follow=False, **more):
    options = {
        "maxDepth": depth,
        "maxDirectories": directories,
        "maxEntries": entries,
        "followDirectorySymlinks": follow,
    }
    if "prune" in more:
        options["pruneHiddenDirectories"] = more.pop("prune")
    return on(path, options=options, **more)


def block(handle, offset=0, length=LARGEST_BLOCK):
    return {"handleId": handle, "offset": offset, "len": length}


def part(handle, offset, data):
    return {"handleId": handle, "offset": offset, "chunk": encoded(data)}


class Files:
    """The methods of one server. `more` is added to the params of each call."""

    def __init__(self, server, **more):
        self.server, self.more = server, more

    def call(self, method, params):
        return self.server.call("fs/" + method, {**params, **self.more})

    def send(self, method, params):
        """Sends a request. Returns its id."""
        return self.server.request("fs/" + method, {**params, **self.more})

    def send_all(self, requests):
        """Sends (method, params) in a single write. Returns the ids."""
        return self.server.request_at_once(
            [("fs/" + method, {**params, **self.more}) for method, params in requests]
        )

    def fails(self, kind, method, params):
        """Expects an error of this kind. Returns the error."""
        return self.failed(kind, self.send(method, params))

    def failed(self, kind, message_id):
        return self.server.error(message_id, CODES[kind], kind)

    def read(self, path, **more):
        return decoded(self.call("readFile", on(path, **more))["dataBase64"])

    def write(self, path, data, **more):
        result = self.call("writeFile", writing(path, data, **more))
        check(result == {}, "result of fs/writeFile: %s" % result)

    def open(self, handle, path, mode="read", **more):
        result = self.call("open", on(path, handleId=handle, mode=mode, **more))
        check(result == {"handleId": handle}, "result of fs/open: %s" % result)

    def read_block(self, handle, offset=0, length=LARGEST_BLOCK):
        """Returns the bytes, and whether the file ends there."""
        result = self.call("readBlock", block(handle, offset, length))
        return decoded(result["chunk"]), result["eof"]

    def write_block(self, handle, offset, data):
        self.call("writeBlock", part(handle, offset, data))

    def close(self, handle):
        self.call("close", {"handleId": handle})

    def walk(self, path, **options):
        return self.call("walk", walking(path, **options))

    def watch(self, number, *paths):
        """Returns the answer of fs/watchMissing: True if the server watches."""
        missing = [file_uri(path) for path in paths]
        return self.call("watchMissing", {"watchId": number, "missing": missing})["watching"]

    def news(self):
        """Returns the watchId of every notification so far."""
        with self.server.changed:
            return [
                params["watchId"]
                for method, params in self.server.warnings
                if method == "fs/missingChanged"
            ]

    def wait_news(self, *numbers):
        """Waits for a notification of each of these watches."""
        self.server.wait(
            lambda: set(numbers) <= set(self.news()), "fs/missingChanged of %r" % (numbers,)
        )


# Files of the test


def put(path, data=b""):
    """Creates a file with this content in one step. Returns its path."""
    with open(path, "wb") as file:
        file.write(data)
    return path


def make_deep(root, levels, link=None):
    """Creates nested directories, deeper than a path can name, each with a link if one is wanted.
    """
    os.mkdir(root)
    at = os.open(root, os.O_RDONLY)
    for _ in range(levels):
        os.mkdir("directory", dir_fd=at)
        if link is not None:
            os.symlink(link, "link", dir_fd=at)
        inner = os.open("directory", os.O_RDONLY, dir_fd=at)
        os.close(at)
        at = inner
    os.close(at)


def content(path):
    with open(path, "rb") as file:
        return file.read()


def picture(root):
    """Returns everything below a directory: kind, mode and content, or target, by path."""
    seen = {}
    for directory, names, files in os.walk(root):
        for name in [*names, *files]:
            path = os.path.join(directory, name)
            status = os.lstat(path)
            seen[os.path.relpath(path, root)] = (
                status.st_mode,
                os.readlink(path) if os.path.islink(path) else None,
                content(path) if os.path.isfile(path) and not os.path.islink(path) else None,
            )
    return seen


def temporaries(root):
    """Returns the names in a tree of files that are not in place yet."""
    return [path for path in picture(root) if os.path.basename(path).startswith(TEMPORARY)]


def file_processes(server):
    """Returns the pids of the server's file processes outside of a sandbox."""
    found = []
    for pid in children_of(server.worker()):
        if command_line(pid).split()[1:2] == ["files"] and is_alive(pid):
            found.append(pid)
    return found


# Files that hang


class Held:
    """Stops every process that opens, reads or executes a file, as a dead network mount would.
    Needs privileges.
    """

    CLASS_CONTENT, CLOEXEC, NONBLOCK, ADD = 4, 1, 2, 1
    AT_FDCWD, ALLOW = -100, 1
    # FAN_OPEN_PERM, FAN_ACCESS_PERM, FAN_OPEN_EXEC_PERM
    OPEN, ACCESS, EXECUTE = 0x10000, 0x20000, 0x40000
    EVENT = struct.Struct("=IBBHQii")

    def __init__(self, path, what=OPEN):
        libc = ctypes.CDLL(None, use_errno=True)
        flags = self.CLASS_CONTENT | self.CLOEXEC | self.NONBLOCK
        self.group, self.held = libc.fanotify_init(flags, os.O_RDONLY | os.O_CLOEXEC), []
        if self.group < 0:
            raise OSError(ctypes.get_errno(), "fanotify_init")
        mask = ctypes.c_uint64(what)
        if libc.fanotify_mark(self.group, self.ADD, mask, self.AT_FDCWD, path.encode()) < 0:
            os.close(self.group)
            raise OSError(ctypes.get_errno(), "fanotify_mark")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def is_asked(self, timeout=PATIENCE):
        return bool(select.select([self.group], [], [], timeout)[0])

    def wait(self):
        """Waits until one more process is held. Returns its pid."""
        check(self.is_asked(), "nobody opens the file")
        event = self.EVENT.unpack(os.read(self.group, self.EVENT.size))
        self.held.append(event[5])
        return event[6]

    def release(self):
        """Lets the held processes go."""
        for descriptor in self.held:
            os.write(self.group, struct.pack("=iI", descriptor, self.ALLOW))
            os.close(descriptor)
        self.held.clear()

    def close(self):
        """Lets all processes go, including later ones."""
        for descriptor in self.held:
            os.close(descriptor)
        self.held.clear()
        if self.group >= 0:
            os.close(self.group)
        self.group = -1


def can_hold(what=Held.OPEN):
    try:
        with tempfile.NamedTemporaryFile() as file:
            Held(file.name, what).close()
        return os.geteuid() == 0
    except (OSError, AttributeError):
        return False


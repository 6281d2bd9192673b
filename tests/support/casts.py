"""Reads asciicast files, and checks them by the rules of the format (docs.asciinema.org)."""

import json
import re

from support.client import check, equal

HEADERS = {
    2: {"version", "width", "height", "timestamp", "command", "env"},
    3: {"version", "term", "timestamp", "command"},
}
CODES = {2: "oimr", 3: "oimrx"}


def sizes_of(header):
    if header["version"] == 2:
        return header["width"], header["height"]
    check(set(header["term"]) <= {"cols", "rows", "type", "version", "theme"}, "term: %s" % header)
    return header["term"]["cols"], header["term"]["rows"]


class Cast:
    """`events` have times since the beginning: [seconds, code, data]."""

    def __init__(self, text, version=3):
        check(text.endswith("\n"), "the last line has no end")
        lines = text.encode("utf-8").decode("utf-8", "strict").split("\n")[:-1]
        self.header = json.loads(lines[0])
        equal(self.header["version"], version, "version")
        check(set(self.header) <= HEADERS[version], "header: %s" % self.header)
        for size in sizes_of(self.header):
            check(isinstance(size, int) and size > 0, "size: %s" % self.header)
        if "timestamp" in self.header:
            check(isinstance(self.header["timestamp"], int), "timestamp: %s" % self.header)
        self.events = []
        now = 0
        for line in lines[1:]:
            time, code, data = json.loads(line)
            check(not isinstance(time, bool) and isinstance(time, (int, float)), "time: %s" % line)
            check(isinstance(data, str) and code in CODES[version], "event: %s" % line)
            check(time >= (now if version == 2 else 0), "time runs backwards: %s" % line)
            now = time if version == 2 else now + time
            if code == "r":
                check(re.fullmatch(r"[1-9]\d*x[1-9]\d*", data), "size: %s" % line)
            if code == "x":
                check(re.fullmatch(r"-?\d+", data), "exit status: %s" % line)
                equal(line, lines[-1], "what follows the exit")
            self.events.append([now, code, data])

    def size(self):
        return sizes_of(self.header)

    def codes(self):
        return "".join(code for _, code, _ in self.events)

    def data(self, code="o"):
        return "".join(data for _, kind, data in self.events if kind == code)

    def time_of(self, text):
        """Returns when an event with this text came."""
        return next(time for time, _, data in self.events if text in data)

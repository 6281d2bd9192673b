#!/usr/bin/env python3
"""Runs clang-tidy over src/ with the compile commands of a clang build folder.

usage: scripts/check/tidy.py [--all] [--since REV] BUILD_DIR

Compiler warnings count as well (clang-diagnostic-*), so nothing has to be built. The checks of clang's
analyzer take longer than all others together: they run over the .cc files that differ from REV, committed
or not, and with --all over every file. The default of REV is the commit at which the branch left
origin/main, or else the commit before HEAD.

A clean file is not checked again, in any checkout, until one of these changes: its text, the text of a
header of ours that it includes, the settings, the compiler options, or the version of clang-tidy. --all
checks it anyway; use it after libraries were updated.
"""

import argparse
import concurrent.futures
import functools
import hashlib
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
SRC = ROOT / "src"
INCLUDE = re.compile(rb'^\s*#\s*include\s*"([^"]+)"', re.MULTILINE)
NO_ANALYZER = "--checks=-clang-analyzer-*"
NOISE = re.compile(r"^\d+ warnings?.* generated|^Suppressed |^Use -header-filter")
KEPT_SECONDS = 60 * 24 * 3600  # after this time without use a file is removed from the cache


def cache():
    """The cache of clean files: an empty file for each, named by the digest of everything that
    counts.
    """
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    path = pathlib.Path(base, "execward", "tidy")
    path.mkdir(parents=True, exist_ok=True)
    return path


def forget_old(path):
    for stamp in path.iterdir():
        if time.time() - stamp.stat().st_mtime > KEPT_SECONDS:
            stamp.unlink(missing_ok=True)


@functools.cache
def text_and_includes(path):
    text = path.read_bytes()
    found = (SRC / os.fsdecode(name) for name in INCLUDE.findall(text))
    # The build writes the files that are not below src/.
    return text, [header for header in found if header.is_file()]


def closure(path):
    """Returns the file and all headers of ours that it includes, sorted."""
    seen, waiting = set(), [path]
    while waiting:
        here = waiting.pop()
        if here not in seen:
            seen.add(here)
            waiting += text_and_includes(here)[1]
    return sorted(seen)


def bare(command):
    """Drops ccache, and the option for ccache that names the checkout."""
    words = shlex.split(command)
    first = 1 if os.path.basename(words[0]) == "ccache" else 0
    return [word for word in words[first:] if not word.startswith("-fdebug-prefix-map=")]


def compile_commands(build):
    """Returns one entry for each file of src/: the differences between targets do not matter here.
    """
    entries = {}
    for entry in json.loads((build / "compile_commands.json").read_text()):
        path = pathlib.Path(os.path.normpath(os.path.join(entry["directory"], entry["file"])))
        if path.is_relative_to(SRC) and path not in entries:
            entries[path] = {"directory": entry["directory"], "file": str(path),
                             "arguments": bare(entry["command"])}
    return entries


def digest(path, options, common):
    parts = [common, json.dumps(options).encode()]
    for member in closure(path):
        parts += [os.fsencode(member.relative_to(ROOT)), text_and_includes(member)[0]]
    result = hashlib.sha256()
    for part in parts:
        result.update(b"%d " % len(part))
        result.update(part)
    return result.hexdigest()


def git(*arguments):
    done = subprocess.run(["git", "-C", ROOT, *arguments], capture_output=True, text=True, check=False)
    return done.stdout if done.returncode == 0 else None


def default_base():
    head = git("rev-parse", "HEAD")
    base = git("merge-base", "HEAD", "origin/main")
    if base is None or base == head:
        base = git("rev-parse", "HEAD~")
    return base and base.strip()


def changed(since):
    """Returns the files that differ from this commit, or None if git cannot say."""
    base = since or default_base()
    differing = base and git("diff", "--name-only", "-z", base, "--", "src")
    untracked = git("ls-files", "--others", "--exclude-standard", "-z", "--", "src")
    if differing is None or untracked is None:
        return None
    return {ROOT / name for name in (differing + untracked).split("\0") if name}


class Tidy:
    def __init__(self, build, ignores_stamps):
        self.ignores_stamps = ignores_stamps
        # Version 14 is the reference; other versions find other things in the same code.
        self.program = shutil.which("clang-tidy-14") or "clang-tidy"
        self.cache = cache()
        version = subprocess.run([self.program, "--version"], capture_output=True, check=True).stdout
        self.common = version + (ROOT / ".clang-tidy").read_bytes()
        self.commands = compile_commands(build)
        self.folder = build / "tidy"
        self.folder.mkdir(exist_ok=True)
        (self.folder / "compile_commands.json").write_text(json.dumps(list(self.commands.values())))

    def is_clean(self, stamp):
        if self.ignores_stamps or not stamp.exists():
            return False
        stamp.touch()
        return True

    def findings(self, path, is_analyzed):
        """Returns the findings for this file, or None if an earlier run found it clean."""
        name = digest(path, self.commands[path]["arguments"], self.common)
        analyzed, other = self.cache / f"{name}-analyzed", self.cache / name
        if self.is_clean(analyzed) or (not is_analyzed and self.is_clean(other)):
            return None
        command = [self.program, "--quiet", "-p", str(self.folder), *([] if is_analyzed else [NO_ANALYZER])]
        done = subprocess.run([*command, str(path)], cwd=ROOT, text=True, check=False,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        if done.returncode == 0:
            (analyzed if is_analyzed else other).touch()
            return ""
        rows = [row for row in done.stdout.splitlines() if not NOISE.match(row)]
        return "\n".join(rows) or f"{path}: clang-tidy ended with status {done.returncode}"


def look_at(tidy, paths, analyzed):
    """Prints the findings. Returns the number of files that were checked, and of those with
    findings.
    """
    looked = bad = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for findings in pool.map(lambda path: tidy.findings(path, path in analyzed), paths):
            looked += findings is not None
            bad += bool(findings)
            if findings:
                print(findings, flush=True)
    return looked, bad


def parse():
    parser = argparse.ArgumentParser(description="Runs clang-tidy over src/.")
    parser.add_argument("build", metavar="BUILD_DIR", type=pathlib.Path)
    parser.add_argument("--all", action="store_true", help="all checks over every file, whatever is kept")
    parser.add_argument("--since", metavar="REV", help="the analyzer's checks for what differs from REV")
    return parser.parse_args()


def main():
    options = parse()
    tidy = Tidy(options.build.resolve(), options.all)
    paths = sorted(SRC.rglob("*.cc"))
    strangers = [path for path in paths if path not in tidy.commands]
    for path in strangers:
        print(f"tidy: {path.relative_to(ROOT)} belongs to no target")
    paths = [path for path in paths if path in tidy.commands]

    different = None if options.all else changed(options.since)
    analyzed = set(paths) if different is None else different & set(paths)
    looked, bad = look_at(tidy, paths, analyzed)
    forget_old(tidy.cache)
    print(f"tidy: {len(paths)} files, {len(analyzed)} of them with the analyzer; {looked} looked at, {bad} bad")
    return 1 if bad or strangers else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""Writes the digest of execward-init as a C++ file: program_digest.py PROGRAM OUT"""
import hashlib
import pathlib
import sys

program, out = map(pathlib.Path, sys.argv[1:])
digest = hashlib.sha256(program.read_bytes()).hexdigest()
out.write_text(f'''#include "sandbox/launch/bubblewrap.h"

namespace ew::sandbox {{

const std::string_view init_digest = "{digest}";

}} // namespace ew::sandbox
''', encoding="utf-8")

// Directories and files that stand at protected paths that do not exist, while a sandbox runs.
// Several sandboxes and servers share them: each holds a shared flock(2) on the placeholder itself,
// and the last one removes it. The journal, a directory with one small file for each, records those
// that we made, so that the next start finds the placeholders of a killed server.
//
// A file or directory that another program made is never removed, nor is a directory that is no
// longer empty or a file whose content has changed. A placeholder that is held carries a second
// lock (fcntl_locking(2)), by which a server with another journal knows it and records it too.
//
// No path is followed through a link: if a directory was exchanged for a link, no placeholder is
// made. A placeholder that was moved, with its directory or alone, is removed at its new path.
#pragma once

#include "base/result.h"
#include "base/unique_fd.h"

#include <string>
#include <vector>

namespace ew::sandbox {

struct Placeholder {
    std::string path;
    UniqueFd lock; // the directory or file, open and locked shared; empty: we hold no lock
};

// Makes the directory (mode 0755), or shares the existing one; also makes the journal (mode 0700).
// The directory has a temporary name until it is recorded, so that a start may be killed at any
// moment. Errors: it cannot be made; another process keeps its lock on it.
Result<Placeholder> hold(const std::string& path, const std::string& journal);

// The same for a file (mode 0644) with that content, of at most 64 bytes.
Result<Placeholder> hold_file(const std::string& path, const std::string& content,
                              const std::string& journal);

// Removes the placeholder if it is in the journal, no other process holds it, and it is unchanged;
// then outer ones that were released before it. Without a lock it checks the path, where a start
// that was killed may have made one.
void release(Placeholder placeholder, const std::string& journal);

// Releases inner placeholders first: they were made after the outer ones.
void release_all(std::vector<Placeholder> placeholders, const std::string& journal);

// Removes the placeholders of servers that were killed. Looks at no more than most_swept entries,
// skips errors, and keeps placeholders that are still held.
constexpr std::size_t most_swept = 4096;
void sweep(const std::string& journal);

} // namespace ew::sandbox

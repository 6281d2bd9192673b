// Directories and files that hold the place of protected ones that do not exist, while a sandbox
// runs. Several sandboxes and servers share them: each holds a shared flock(2) on the place itself,
// and the last one removes it. The journal, a directory with one small file for each, names those
// that were made by us, so that what a killed server left is found at the next start.
//
// What somebody else made is never removed, nor what is no longer empty (for a file: holds anything
// but what was written into it). A lock is taken on an empty directory of somebody else too: it may
// be the placeholder of a server with another journal.
//
// No path is followed through a link: where a directory was exchanged for one nothing is made. A
// placeholder that was moved, with its directory or alone, is removed where it is.
#pragma once

#include "base/result.h"
#include "base/unique_fd.h"

#include <string>
#include <vector>

namespace ew::sandbox {

struct Placeholder {
    std::string path;
    UniqueFd lock; // the directory or file, open and locked shared; empty: nothing of ours is held
};

// Makes the directory (mode 0755), or joins what is there; the journal too, with mode 0700. It has
// a name of ours until it is noted, so that a start may be killed at any moment. Errors: it cannot
// be made; a lock of somebody else on it that does not go away.
Result<Placeholder> hold(const std::string& path, const std::string& journal);

// The same for a file (mode 0644) with that content, of at most 64 bytes.
Result<Placeholder> hold_file(const std::string& path, const std::string& content,
                              const std::string& journal);

// Removes it if it is in the journal, nobody else holds it, and it is still as it was made; and
// outer ones that were released before it. Without a lock: what is at the path, which a start that
// was killed may have made.
void release(Placeholder placeholder, const std::string& journal);

// Releases inner ones first: they were made after the outer ones.
void release_all(std::vector<Placeholder> placeholders, const std::string& journal);

// Removes what servers that were killed have left. Looks at no more than most_swept; errors are
// skipped, and what is still held stays.
constexpr std::size_t most_swept = 4096;
void sweep(const std::string& journal);

} // namespace ew::sandbox

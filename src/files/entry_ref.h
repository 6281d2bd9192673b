// Paths as an open directory and a name in it. So a check and the operation after it concern the
// same directory, even if a path is renamed in between.
#pragma once

#include "base/unique_fd.h"
#include "files/outcome.h"

#include <string>

namespace ew::files {

struct EntryRef {
    UniqueFd directory = {};
    std::string name = {}; // without '/'; "." for the root
};

// Like open(2), but does not wait for the other end of a pipe and gets no controlling terminal.
// Without `follows_links`, no component may be a symlink (ELOOP). Returns an empty descriptor and
// sets errno on failure.
UniqueFd open_at(int directory, const std::string& path, int flags, bool follows_links);

// The implementation of open_at() without `follows_links` for kernels that have no openat2(2).
UniqueFd open_without_links(int directory, const std::string& path, int flags);

constexpr int most_links = 40; // symlinks followed; the kernel's limit (path_resolution(7))

// Returns the target of a symlink (readlinkat(2)). `name` may be empty for an open symlink. Returns
// an empty string and sets errno if it is not a symlink, or if the target exceeds PATH_MAX.
std::string link_text(int directory, const std::string& name);

// The failure of a path that is a symlink where none is allowed.
Failed is_a_link(const std::string& path);

// Finds the directory and name of `path`. Symlinks before the last component are followed or
// refused (ELOOP); the last component may be a symlink. The failure names `path`.
Failure find_entry(const std::string& path, bool follows_links, EntryRef& place);

// The same, but follows a symlink in the last component. Its target may be missing.
Failure find_end(const std::string& path, bool follows_links, EntryRef& place);

// The failure of something that is not a regular file. A device that cannot be opened because of
// its mount (mount(8), nodev) is EACCES, as for open(2): sandboxes mount one over a denied file.
Failed not_regular(const std::string& path, int file);

// Opens the file at `place` with open(2) and `flags`; O_NOFOLLOW refuses a symlink. Opens only
// regular files: other files may never end, cannot be read twice, or react when they are opened.
Failure open_regular(const std::string& path, const EntryRef& place, int flags, UniqueFd& file);

} // namespace ew::files

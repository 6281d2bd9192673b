// Paths as an open directory and a name in it: what is decided about a path and what is done to it
// then concern the same directory, whatever somebody renames meanwhile.
#pragma once

#include "base/unique_fd.h"
#include "files/outcome.h"

#include <string>

namespace ew::files {

struct EntryRef {
    UniqueFd directory = {};
    std::string name = {}; // without '/'; "." of the root
};

// open(2) that does not wait for the other end of a pipe and has no controlling terminal; without
// `follows_links` no component may be a link (ELOOP). Empty, with errno.
UniqueFd open_at(int directory, const std::string& path, int flags, bool follows_links);

// What open_at() does without `follows_links` where the kernel has no openat2(2).
UniqueFd open_without_links(int directory, const std::string& path, int flags);

constexpr int most_links = 40; // that are followed, as by the kernel (path_resolution(7))

// What a symbolic link says (readlinkat(2)); `name` may be empty for an open link. Empty, with
// errno: it is none, or says more than PATH_MAX.
std::string link_text(int directory, const std::string& name);

// Of a path that is a link where none may be.
Failed is_a_link(const std::string& path);

// Where `path` is: links on the way to its last component are followed, or refused (ELOOP); that
// one may be a link. The failure names `path`.
Failure find_entry(const std::string& path, bool follows_links, EntryRef& place);

// The same, and where the last component is a link, what it leads to, which may be missing.
Failure find_end(const std::string& path, bool follows_links, EntryRef& place);

// Of what is found to be no regular file. A device that cannot be opened where it is (mount(8),
// nodev) is EACCES, as open(2) has it: sandboxes put one in the place of a file that is denied.
Failed not_regular(const std::string& path, int file);

// The file at `place`, by open(2) with `flags`; with O_NOFOLLOW no link. Only if it is a regular
// one: nothing else ends, can be read twice, or is opened without a further effect.
Failure open_regular(const std::string& path, const EntryRef& place, int flags, UniqueFd& file);

} // namespace ew::files

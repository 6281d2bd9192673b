// Paths as an open directory and a name in it: what is decided about a path and what is done to it
// then concern the same directory, whatever somebody renames meanwhile.
#pragma once

#include "base/unique_fd.h"
#include "files/outcome.h"

#include <string>
#include <string_view>

namespace ew::files {

struct Place {
    UniqueFd directory = {};
    std::string name = {}; // without '/'; "." of the root
};

// open(2) that does not wait for the other end of a pipe and has no controlling terminal; without
// `follows_links` no component may be a link (ELOOP). Empty, with errno.
UniqueFd open_at(int directory, const std::string& path, int flags, bool follows_links);

// Where `path` is: links on the way to its last component are followed, or refused (ELOOP); that
// one may be a link. The failure names `path`.
Failure find_place(const std::string& path, bool follows_links, Place& place);

// The same, and where the last component is a link, what it leads to, which may be missing.
Failure find_end(const std::string& path, bool follows_links, Place& place);

std::string_view last_of(std::string_view path);

} // namespace ew::files

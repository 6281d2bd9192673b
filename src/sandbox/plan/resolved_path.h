// The real positions of paths. Links are resolved once, before any decision: two names of one file
// must not get different answers, and nothing is ever mounted over a link.
#pragma once

#include "base/unique_fd.h"
#include "core/text/paths.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ew::sandbox {

struct ResolvedPath {
    enum class Kind : std::uint8_t {
        directory,
        file,   // or a socket or a pipe
        device, // a character device
        missing,
        unreachable, // for us and for programs that we start: no permission, a loop, a file as
                     // parent
    };

    std::string path = {}; // the canonical path of the part that exists, and the rest as given
    Kind kind = Kind::missing;

    bool exists() const { return kind != Kind::missing && kind != Kind::unreachable; }
};

// `path` is absolute. A link to something missing is resolved too.
ResolvedPath locate(const std::string& path);

// The same, but cheaper. The directory of `path` must be canonical.
ResolvedPath locate_last(const std::string& path);

using core::Link;
using core::Way;

Way way_to(const std::string& path);

using core::is_at_or_below;
using core::is_below;
using core::joined;
using core::parent_of;

// Does the path belong to the machine, or lie in a directory that does, rather than to a user? This
// includes the directories that contain all users' directories, such as /home, and "/".
bool is_of_the_machine(std::string_view path);

// A directory that can be read, with nothing in it.
bool is_empty_directory(const std::string& path);

// The order of mounts: depth first, parents before children.
struct DepthFirst {
    using is_transparent = void;
    bool operator()(std::string_view left, std::string_view right) const;
};

// Could a program with our rights make a file in the nearest existing directory above `path`?
enum class Making : std::uint8_t { possible, after_chmod, impossible };
Making making_of(const std::string& path);

// Is there such a name? A link counts, wherever it leads.
bool exists(const std::string& path);

// Is the last component a link?
bool is_link(const std::string& path);

// open(2) of a canonical path; fails if a component has become a link since, as other programs may
// exchange it. Returns an empty descriptor, with errno, if it cannot be opened; ELOOP for a link.
UniqueFd open_without_links(const std::string& path, int flags);

// Does the path exist, without a link on the way?
bool exists_without_links(const std::string& path);

} // namespace ew::sandbox

// Where paths really are. Links are resolved once, before anything is decided: two names of one
// place must not get different answers, and nothing is ever mounted over a link.
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
        file,   // or a socket, a pipe
        device, // a character device
        missing,
        unreachable, // for us, so for what we start too: no permission, a loop, a file as parent
    };

    std::string path = {}; // canonical: that of what exists, and the rest as it was given
    Kind kind = Kind::missing;

    bool exists() const { return kind != Kind::missing && kind != Kind::unreachable; }
};

// `path` is absolute. A link to something missing is resolved too.
ResolvedPath locate(const std::string& path);

// The same, cheaper, where the directory that `path` lies in is canonical already.
ResolvedPath locate_last(const std::string& path);

// A link that `path` leads through: where it is, canonical, and what it says.
struct Link {
    std::string path;
    std::string target;
};

// The links that a path leads through, in the order in which the kernel meets them, and where it
// ends, canonical. Somebody may exchange what it leads through between two looks: only if `end` is
// where another look has found it, both have seen the same.
struct Way {
    std::vector<Link> links;
    std::string end;
};

Way way_to(const std::string& path);

using core::is_at_or_below;
using core::is_below;
using core::joined;
using core::parent_of;

// Is it, or does it lie in, what belongs to the machine and not to somebody who works on it? So do
// the directories that everybody's are in, such as /home; "/" does.
bool is_of_the_machine(std::string_view path);

// A directory that can be read, with nothing in it.
bool is_empty_directory(const std::string& path);

// The order of mounts: depth first, parents before children.
struct DepthFirst {
    using is_transparent = void;
    bool operator()(std::string_view left, std::string_view right) const;
};

// Could somebody with our rights make something in the nearest directory above `path` that exists?
enum class Making : std::uint8_t { possible, after_chmod, impossible };
Making making_of(const std::string& path);

// open(2) of a canonical path, none of whose components may have become a link since: what others
// may write could lead anywhere by now. Empty, with errno: it cannot be opened; ELOOP for a link.
UniqueFd open_without_links(const std::string& path, int flags);

// Is there something at the path, without a link on the way?
bool exists_without_links(const std::string& path);

} // namespace ew::sandbox

// Where paths really are. Links are resolved once, before anything is decided: two names of one
// place must not get different answers, and nothing is ever mounted over a link.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ew::sandbox {

struct Place {
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
Place locate(const std::string& path);

// The same, cheaper, where the directory that `path` lies in is canonical already.
Place locate_last(const std::string& path);

// A link that `path` leads through: where it is, canonical, and what it says.
struct Link {
    std::string path;
    std::string target;
};

std::vector<Link> links_on(const std::string& path);

// "/a" + "b"; "/" + "b"; either may be empty.
std::string joined(std::string_view directory, std::string_view rest);

std::string parent_of(std::string_view path); // of "/a" and of "/": "/"

// Strictly below.
bool is_below(std::string_view path, std::string_view directory);

bool is_at_or_below(std::string_view path, std::string_view directory);

// The order of mounts: depth first, parents before children.
struct DepthFirst {
    using is_transparent = void;
    bool operator()(std::string_view left, std::string_view right) const;
};

// Could somebody with our rights make something in the nearest directory above `path` that exists?
enum class Making : std::uint8_t { possible, after_chmod, impossible };
Making making_of(const std::string& path);

} // namespace ew::sandbox

// Operations on absolute paths as text. They do not access the file system by themselves.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ew::core {

// Returns "/a/b" for "/a" and "b", and "/b" for "/" and "b". Either may be empty.
std::string joined(std::string_view directory, std::string_view rest);

std::string parent_of(std::string_view path); // "/" for "/a" and for "/"

// Returns true if `path` is strictly below `directory`. Returns false if one of them is not a path.
bool is_below(std::string_view path, std::string_view directory);

bool is_at_or_below(std::string_view path, std::string_view directory);

// Returns the directory at that many levels below the one that the first `above` bytes of the path
// name (0 for "/"), or the path itself if it is not as deep.
std::string cut_below(const std::string& path, std::size_t above, std::size_t levels);

// Resolves "." and ".." as text. The result begins with '/'. It is the same file only if no link is
// on the way.
std::string without_dots(std::string_view path);

// Normalises an absolute path of a file system that cannot be accessed here. Returns nullopt if the
// path has a "..", which leads elsewhere behind a symlink, or a NUL.
std::optional<std::string> path_as_written(const std::string& path);

constexpr int most_links = 40; // that the kernel follows (path_resolution(7))

// A link in the way of a path: its own canonical path, and its target as written.
struct Link {
    std::string path;
    std::string target;
};

// The links of a path in the order in which the kernel follows them, and the canonical end. A
// program may exchange a link between two looks: both looks have seen the same only if `end` is
// where the other look has found it.
struct Way {
    std::vector<Link> links;
    std::string end;
};

// `link_target` reads a link, and returns nullopt for anything else.
Way way_to(const std::string& path,
           const std::function<std::optional<std::string>(const std::string&)>& link_target);

} // namespace ew::core

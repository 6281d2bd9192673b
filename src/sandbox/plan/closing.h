// Which directories to close so that nothing below them can be reached or changed: as few as there
// is room for, and as far down as that allows.
#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <vector>

namespace ew::sandbox {

constexpr std::size_t most_closed = 64;     // directories that are closed for one reason
constexpr std::ptrdiff_t most_levels = 32;  // from a root to a path with a rule of its own in it
constexpr std::size_t longest_ruled = 2048; // bytes; bubblewrap may not accept a longer path

// Returns directories at or above `paths` and below `root`. None of them is at or above one of
// `kept_open`. Returns nothing if more than most_closed were necessary, or if a path cannot be
// closed.
std::set<std::string> closing_for(const std::string& root, const std::vector<std::string>& paths,
                                  const std::vector<std::string>& kept_open = {});

// Returns the path, or the directory above it and not above `root` that is not too far down.
std::string near_enough(const std::string& root, std::string path);

} // namespace ew::sandbox

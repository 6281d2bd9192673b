// The search for git repositories in a writable tree. All that it cannot look at is told.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace ew::sandbox {

struct Repositories {
    std::vector<std::string> work_trees = {}; // directories that contain an entry .git
    // Directories that cannot be read, although a program that may write there can change that or
    // can use what is in them.
    std::vector<std::string> unreadable = {};
    // Directories that were not searched, because the bound was reached; what is below them was not
    // searched either.
    std::vector<std::string> unsearched = {};
};

// Searches below `root`, not `root` itself. It follows no link; in a .git it leaves out the
// directories of git's own. It searches node_modules and similar directories last. `skips` returns
// true for directories to leave out.
Repositories find_repositories(const std::string& root, std::size_t most_visited,
                               const std::function<bool(const std::string&)>& skips);

} // namespace ew::sandbox

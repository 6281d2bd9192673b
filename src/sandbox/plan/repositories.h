// Git repositories in a writable tree, and their files that must not change because git would
// execute or obey them. Refs, objects and the index stay writable, so that commits work.
#pragma once

#include "sandbox/plan/resolved_path.h"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace ew::sandbox {

// A path of a repository that must not change.
struct GitPin {
    std::string path = {};
    // The placeholder to make if the path is missing: none, a directory, or a file with that
    // content.
    enum class StandIn : std::uint8_t { none, directory, file };

    StandIn stand_in = StandIn::none;
    std::string content = {};

    bool operator==(const GitPin&) const = default;
};

// Is it a git directory in the sense of git, which includes that of a linked worktree?
bool is_git_directory(const std::string& path);

// Returns the pins of one git directory, its submodules and its linked worktrees. Bound:
// most_modules of either, most_module_levels deep. If there are more, or some that cannot be read,
// the directory that contains all of them must not change.
constexpr std::size_t most_modules = 256;
constexpr std::ptrdiff_t most_module_levels = 16;
std::vector<GitPin> git_pins(const std::string& git_directory);

// The target of a file ".git" (gitrepository-layout(5)): its git directory and the common one,
// canonical. Returns nullopt if the file names none that can be used.
struct Linked {
    std::string git_directory;
    std::string common_directory;
};

std::optional<Linked> linked_by(const std::string& git_file);

// Is the directory within the work tree of a repository above it?
bool is_inside_repository(const std::string& directory);

struct Repositories {
    std::vector<std::string> work_trees = {}; // directories that contain an entry .git
    // Directories of our user that cannot be read: a program that may write there can change that.
    std::vector<std::string> unreadable = {};
    bool is_complete = true;
};

// Searches below `root`, not `root` itself. It follows no link and does not enter any .git; it
// searches node_modules and similar directories last. `skips` returns true for directories to leave
// out.
Repositories find_repositories(const std::string& root, std::size_t most_visited,
                               const std::function<bool(const std::string&)>& skips);

} // namespace ew::sandbox

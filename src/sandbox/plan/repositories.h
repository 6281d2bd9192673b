// Git repositories in a tree that is to be writable, and what of them has to stay as it is: what
// git would execute. Refs, objects and the index stay writable, so that commits work.
#pragma once

#include "sandbox/plan/resolved_path.h"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace ew::sandbox {

// Something of a repository that must not change.
struct GitPin {
    std::string path = {};
    // What is to be made where it is missing, so that nobody else can: absent: nothing; a
    // directory; or a file with that content.
    enum class StandIn : std::uint8_t { none, directory, file };

    StandIn stand_in = StandIn::none;
    std::string content = {};

    bool operator==(const GitPin&) const = default;
};

// Is it what git calls a git directory, be it that of a linked worktree?
bool is_git_directory(const std::string& path);

// Of one git directory, with those of its submodules and linked worktrees. Bound: most_modules of
// either, most_module_levels down; where there are more, or some that cannot be looked into, the
// directory that all of them are in must not change.
constexpr std::size_t most_modules = 256;
constexpr std::ptrdiff_t most_module_levels = 16;
std::vector<GitPin> git_pins(const std::string& git_directory);

// Where a file ".git" leads (gitrepository-layout(5)): its git directory and the common one,
// canonical. Absent: it says nothing that can be used.
struct Linked {
    std::string git_directory;
    std::string common_directory;
};

std::optional<Linked> linked_by(const std::string& git_file);

// Is the directory, which need not be one itself, within the work tree of a repository above it?
bool is_inside_repository(const std::string& directory);

struct Repositories {
    std::vector<std::string> work_trees = {}; // directories with something called .git
    // Directories that are ours and cannot be looked into: whoever may write there can change that.
    std::vector<std::string> unreadable = {};
    bool is_complete = true;
};

// Below `root`, not `root` itself. Follows no link and does not look into any .git; looks into
// node_modules and its like last. `skips` says which directories are not of interest.
Repositories find_repositories(const std::string& root, std::size_t most_visited,
                               const std::function<bool(const std::string&)>& skips);

} // namespace ew::sandbox

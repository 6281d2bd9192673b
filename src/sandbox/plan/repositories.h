// Git repositories in a writable tree, and their files that must not change because git would
// execute or obey them. Refs, objects and the index stay writable, so that commits work.
#pragma once

#include "sandbox/plan/resolved_path.h"

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

// Does it look like a git directory, which includes that of a linked worktree? A program may have
// made it look so: the answer may add protection, and never take any away.
bool is_git_directory(const std::string& path);

// Returns the pins of one git directory, its submodules and its linked worktrees. Bound:
// most_modules of either, most_module_levels deep. If there are more, or some that cannot be read,
// the directory that contains all of them must not change.
constexpr std::size_t most_modules = 256;
constexpr std::size_t most_module_levels = 16;
std::vector<GitPin> git_pins(const std::string& git_directory);

// A git directory and the common one (gitrepository-layout(5)), canonical, with the links that lead
// to them from the files that name them.
struct Linked {
    std::string git_directory;
    std::string common_directory;
    std::vector<std::string> links = {};
};

// Follows the file commondir of a git directory; without one, it is the common directory itself.
Linked linked_from(const std::string& git_directory);

// Follows a file ".git". Returns nullopt if it names no directory.
std::optional<Linked> linked_by(const std::string& git_file);

// Does the repository belong to another user, in a directory that we share, with nothing open to us
// that git executes or obeys?
bool is_out_of_our_hands(const std::string& git);

// Is the directory within the work tree of a repository above it?
bool is_inside_repository(const std::string& directory);

} // namespace ew::sandbox

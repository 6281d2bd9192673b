// What a walk of a workspace looks for, and what it has found: git repositories below the writable
// roots, and the files that match patterns. All paths are absolute, and the directories canonical.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ew::sandbox {

struct WalkPattern {
    std::string base = {};
    std::vector<std::string> parts = {};     // see Glob
    std::optional<std::uint64_t> depth = {}; // levels of directories below the base; nullopt: all

    bool operator==(const WalkPattern&) const = default;
};

struct WalkOrder {
    std::vector<std::string> roots = {}; // searched for repositories
    std::vector<WalkPattern> patterns = {};
    // Nothing at or below these is searched for repositories, unless it is a root.
    std::vector<std::string> closed = {};

    bool operator==(const WalkOrder&) const = default;
};

// A directory that was not searched, nor anything below it.
struct LeftOut {
    std::string path = {};
    bool is_in_root = false;                  // there may be repositories
    std::vector<std::uint32_t> patterns = {}; // that may match something in it

    bool operator==(const LeftOut&) const = default;
};

struct WalkFindings {
    // Directories that contain an entry .git, but no outermost root. Sorted.
    std::vector<std::string> work_trees = {};
    // For each pattern: the files, directories and links that match, none below another. Sorted. A
    // directory with more than most_matches of them has that many and one more.
    std::vector<std::vector<std::string>> matches = {};
    // Directories that cannot be read, although a program that may write there can change that or
    // can use what is in them. Sorted.
    std::vector<LeftOut> unreadable = {};
    std::vector<LeftOut> unsearched = {}; // beyond a bound. Sorted.
    bool is_late = false;                 // the bound was that of time

    bool operator==(const WalkFindings&) const = default;
};

constexpr std::size_t most_directories = 200'000;    // that one walk reads
constexpr std::size_t most_matches = 1'024;          // of one pattern; each is a mount, or several
constexpr std::size_t most_kept_matches = 1'000'000; // of one walk

} // namespace ew::sandbox

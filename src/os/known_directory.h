// A directory as a path has led to it once: the name may come to lead elsewhere.
#pragma once

#include "base/unique_fd.h"

#include <cstdint>
#include <optional>
#include <string>

namespace ew::os {

struct KnownDirectory {
    std::string name = {}; // absolute, as it was given
    std::string path = {}; // without links
    std::uint64_t device = 0;
    std::uint64_t inode = 0;

    bool operator==(const KnownDirectory&) const = default;
};

// While a directory is held, the file system gives its number to no other one.
struct HeldDirectory {
    KnownDirectory known = {};
    UniqueFd directory = {}; // O_PATH
};

// Returns nullopt if the path leads to no directory that can be reached.
std::optional<HeldDirectory> hold_directory(const std::string& name);

} // namespace ew::os

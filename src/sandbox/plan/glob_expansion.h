// Finds the files that match a pattern now, below its directory.
#pragma once

#include "sandbox/policy/glob.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ew::sandbox {

struct GlobBounds {
    std::optional<std::uint64_t> depth = {}; // directories below the base; nullopt: any number
    std::size_t directories = 100'000;       // that are searched
    std::size_t matches = 1'024;             // each is a mount, or several
};

struct Expansion {
    std::vector<std::string> paths = {}; // of files, directories and links; none is below another
    // Directories in which there may be further matches: they cannot be read, although a program
    // may be able to change that or to use what is in them; or they have too many matches in them.
    std::vector<std::string> unclear = {};
    bool is_complete = true; // false: a bound (but not the depth) was reached
};

// Returns the existing paths below `base` (absolute) that match. It follows no link, and does not
// search below a match.
Expansion expand(const std::string& base, const std::vector<std::string>& parts,
                 const GlobBounds& bounds);

} // namespace ew::sandbox

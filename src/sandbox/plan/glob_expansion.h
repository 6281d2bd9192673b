// Which files a pattern stands for at this moment: the search below its directory.
#pragma once

#include "sandbox/policy/glob.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ew::sandbox {

struct GlobBounds {
    std::optional<std::uint64_t> depth = {}; // directories below the base; absent: any
    std::size_t directories = 100'000;       // that are looked into
    std::size_t matches = 1'024;             // each is a mount, or several
};

struct Expansion {
    std::vector<std::string> paths = {}; // of files, directories and links; not below other ones
    bool is_complete = true;             // false: a bound (but not the depth) was reached
};

// What exists below `base` (absolute) and matches. No link is followed, and below a match nothing
// is looked for.
Expansion expand(const std::string& base, const std::vector<std::string>& parts,
                 const GlobBounds& bounds);

} // namespace ew::sandbox

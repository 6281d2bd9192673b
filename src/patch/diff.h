// The difference between two texts, for a person to review before a file is written.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace ew::patch {

struct DiffLimits {
    std::size_t context = 3;          // lines around each change
    std::size_t most_bytes = 1 << 20; // of the diff, without its names and a last line
};

// Returns a unified diff, or an empty string if the texts are equal. Lines are made visible
// (core/text/display.h), so the diff is for reading and not for patch(1). The caller must make
// `old_name` and `new_name` visible.
//
// If the texts have too little in common, the diff replaces one by the other between their common
// first and last lines. A diff that would be too long ends early with a line that begins with "…"
// and says so. The same happens if the texts have more lines than are compared.
std::string unified_diff(std::string_view before, std::string_view after, std::string_view old_name,
                         std::string_view new_name, DiffLimits limits = {});

} // namespace ew::patch

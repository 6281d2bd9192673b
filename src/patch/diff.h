// What changed between two texts, for a person to read before a file is written.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace ew::patch {

struct DiffLimits {
    std::size_t context = 3;          // lines around each change
    std::size_t most_bytes = 1 << 20; // of the diff, beside its names and a last line
};

// A unified diff; empty if the texts are equal. Lines are made visible (core/text/display.h), so it
// is for reading and not for patch(1). `old_name` and `new_name` must be so already.
//
// Texts that have too little in common are shown as one replaced by the other, between the lines
// that they begin and end with. A diff that would be too long ends early, with a line that begins
// with "…" and says so; so does one of texts with more lines than are compared.
std::string unified_diff(std::string_view before, std::string_view after, std::string_view old_name,
                         std::string_view new_name, DiffLimits limits = {});

} // namespace ew::patch

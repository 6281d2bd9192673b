// Patterns for paths: * and ? and [a-z] [!a-z] within one component, ** for any number of
// components, {a,b} for alternatives, \x for x itself. Leading dots have no special meaning, since
// most patterns name files to hide.
#pragma once

#include "base/result.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ew::sandbox {

// One pattern without alternatives: a directory without wildcards, and the pattern below it.
struct Glob {
    std::string base = {}; // absolute, or empty for a pattern that is relative
    std::vector<std::string> parts =
        {}; // components, the first of which has a wildcard; may be empty

    bool operator==(const Glob&) const = default;
};

constexpr std::string_view any_depth = "**"; // a part of a pattern: any number of components

constexpr std::size_t most_alternatives = 64; // of one pattern with braces

// Errors (invalid_params): an open bracket or brace, an empty pattern, more than most_alternatives.
Result<std::vector<Glob>> parse_glob(std::string_view pattern);

// Does the component match? Not for "**".
bool matches(std::string_view part, std::string_view name);

} // namespace ew::sandbox

// Patterns for paths: * and ? and [a-z] [!a-z] within one component, ** for any number of
// components, {a,b} for alternatives, \x for x itself. Leading dots are nothing special: a pattern
// mostly names what is to be hidden.
#pragma once

#include "base/result.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ew::sandbox {

// One pattern without alternatives: a directory without wildcards, and what is below it.
struct Glob {
    std::string base = {}; // absolute, or empty for a pattern that is relative
    std::vector<std::string> parts =
        {}; // components, the first of which has a wildcard; may be none

    bool operator==(const Glob&) const = default;
};

constexpr std::string_view any_depth = "**"; // a part of a pattern: any number of components

constexpr std::size_t most_alternatives = 64; // that one pattern with braces may stand for

// Errors (invalid_params): an open bracket or brace, nothing at all, more than most_alternatives.
Result<std::vector<Glob>> parse_glob(std::string_view pattern);

// Does one component match? Not for "**".
bool matches(std::string_view part, std::string_view name);

} // namespace ew::sandbox

// Names of hosts in lower case: only ASCII has capitals there (RFC 4343).
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

namespace ew::core {

inline std::string in_lower_case(std::string_view name) {
    std::string lower(name);
    std::ranges::transform(lower, lower.begin(), [](char c) {
        return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    });
    return lower;
}

} // namespace ew::core

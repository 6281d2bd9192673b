// How often a text stands in another one.
#pragma once

#include <cstddef>
#include <string_view>

inline std::size_t count_of(std::string_view part, std::string_view text) {
    std::size_t count = 0;
    for (std::size_t at = text.find(part); at != std::string_view::npos;
         at = text.find(part, at + 1))
        ++count;
    return count;
}

// The properties from the Unicode character database that canonical equivalence needs.
#pragma once

#include <cstdint>

namespace ew::core {

struct Decomposition {
    char32_t character = 0; // 0: it has none
    char32_t first = 0;     // may have one too
    char32_t second = 0;    // 0: none
};

// Returns the canonical decomposition, not of Hangul syllables.
Decomposition decomposition_of(char32_t character);

// Returns Canonical_Combining_Class.
std::uint8_t combining_class(char32_t character);

} // namespace ew::core

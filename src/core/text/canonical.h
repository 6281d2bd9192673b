// Canonical equivalence: texts that look the same because a character and its accent are written
// as one character or as two (Unicode Standard Annex #15).
#pragma once

#include <string>
#include <string_view>

namespace ew::core {

// Returns the text in Normalization Form D. Bytes that are not UTF-8 stay as they are.
std::string decomposed(std::string_view text);

} // namespace ew::core

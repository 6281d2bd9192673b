// SHA-256 (FIPS 180-4), for values that must be compared later but not stored.
#pragma once

#include <string>
#include <string_view>

namespace ew::core {

// Returns 64 hexadecimal digits.
std::string sha256(std::string_view bytes);

} // namespace ew::core

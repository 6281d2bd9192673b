// The bytes of UTF-8 inside a character.
#pragma once

namespace ew::core {

// Returns true for a byte that a character cannot begin with.
inline bool continues_character(char byte) {
    constexpr unsigned mask = 0xc0;
    constexpr unsigned continuation = 0x80;
    return (static_cast<unsigned char>(byte) & mask) == continuation;
}

} // namespace ew::core

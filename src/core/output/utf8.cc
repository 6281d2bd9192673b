#include "core/output/utf8.h"

#include <algorithm>
#include <cstdint>

namespace ew::core {

namespace {

bool is_continuation(std::uint8_t byte) {
    return (byte & 0xc0) == 0x80;
}

std::size_t length_announced_by(std::uint8_t lead) {
    if (lead >= 0xc2 && lead <= 0xdf) return 2;
    if (lead >= 0xe0 && lead <= 0xef) return 3;
    if (lead >= 0xf0 && lead <= 0xf4) return 4;
    return 1; // ASCII, or not a valid first byte
}

// Some first bytes restrict the second byte: no overlong forms, no surrogates, nothing above
// U+10FFFF.
bool is_valid_second(std::uint8_t lead, std::uint8_t second) {
    if (lead == 0xe0) return second >= 0xa0 && second <= 0xbf;
    if (lead == 0xed) return second >= 0x80 && second <= 0x9f;
    if (lead == 0xf0) return second >= 0x90 && second <= 0xbf;
    if (lead == 0xf4) return second >= 0x80 && second <= 0x8f;
    return is_continuation(second);
}

constexpr std::size_t shown = 200; // bytes

} // namespace

std::size_t unfinished_tail(std::string_view bytes) {
    const auto at = [&](std::size_t from_end) {
        return static_cast<std::uint8_t>(bytes[bytes.size() - from_end]);
    };
    const std::size_t most = std::min(bytes.size(), longest_unfinished);
    for (std::size_t length = 1; length <= most; ++length) {
        const std::uint8_t byte = at(length);
        if (is_continuation(byte)) continue;
        if (length_announced_by(byte) <= length) return 0;
        if (length > 1 && !is_valid_second(byte, at(length - 1))) return 0;
        return length;
    }
    return 0;
}

std::string shortened(std::string_view text) {
    if (text.size() <= shown) return std::string(text);
    const std::string_view start = text.substr(0, shown);
    return std::string(start.substr(0, shown - unfinished_tail(start))) + "…";
}

} // namespace ew::core

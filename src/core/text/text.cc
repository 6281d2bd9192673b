#include "core/text/text.h"

#include <cstdint>
#include <cstring>

namespace ew::core {

namespace {

struct Lead {
    std::size_t size;      // of the character that this byte begins; 0 if it begins none
    std::uint8_t least;    // range of the second byte: no overlong forms, no surrogates,
    std::uint8_t greatest; // nothing above U+10FFFF (Unicode 15, table 3-7)
};

Lead lead_of(std::uint8_t byte) {
    constexpr std::uint8_t least = 0x80;
    constexpr std::uint8_t greatest = 0xbf;
    if (byte < 0x80) return {1, least, greatest};
    if (byte < 0xc2 || byte > 0xf4) return {0, least, greatest};
    if (byte < 0xe0) return {2, least, greatest};
    if (byte == 0xe0) return {3, 0xa0, greatest};
    if (byte == 0xed) return {3, least, 0x9f};
    if (byte < 0xf0) return {3, least, greatest};
    if (byte == 0xf0) return {4, 0x90, greatest};
    if (byte == 0xf4) return {4, least, 0x8f};
    return {4, least, greatest};
}

std::size_t ascii_prefix(std::string_view bytes) {
    constexpr std::uint64_t high_bits = 0x8080808080808080;
    std::size_t size = 0;
    for (std::uint64_t word = 0; size + sizeof word <= bytes.size(); size += sizeof word) {
        std::memcpy(&word, bytes.data() + size, sizeof word);
        if ((word & high_bits) != 0) break;
    }
    while (size < bytes.size() && static_cast<std::uint8_t>(bytes[size]) < 0x80)
        ++size;
    return size;
}

} // namespace

Character first_character(std::string_view bytes) {
    if (bytes.empty()) return {};
    const auto at = [&](std::size_t place) { return static_cast<std::uint8_t>(bytes[place]); };
    const Lead lead = lead_of(at(0));
    if (lead.size == 0) return {1, false, 0};
    if (lead.size == 1) return {1, true, at(0)};
    char32_t code_point = at(0) & (0x7fU >> lead.size);
    for (std::size_t place = 1; place < lead.size; ++place) {
        const std::uint8_t least = place == 1 ? lead.least : 0x80;
        const std::uint8_t greatest = place == 1 ? lead.greatest : 0xbf;
        if (place == bytes.size() || at(place) < least || at(place) > greatest)
            return {place, false, 0};
        code_point = code_point << 6 | (at(place) & 0x3fU);
    }
    return {lead.size, true, code_point};
}

std::size_t valid_prefix(std::string_view bytes) {
    std::size_t size = ascii_prefix(bytes);
    while (size < bytes.size()) {
        const Character character = first_character(bytes.substr(size));
        if (!character.is_valid) break;
        size += character.size;
        if (character.size == 1) size += ascii_prefix(bytes.substr(size));
    }
    return size;
}

std::string lossy(std::string_view bytes) {
    std::string text;
    append_lossy(text, bytes);
    return text;
}

void append_lossy(std::string& out, std::string_view bytes) {
    while (!bytes.empty()) {
        const std::size_t valid = valid_prefix(bytes);
        out += bytes.substr(0, valid);
        bytes.remove_prefix(valid);
        if (bytes.empty()) return;
        out += replacement;
        bytes.remove_prefix(first_character(bytes).size);
    }
}

} // namespace ew::core

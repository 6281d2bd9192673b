// A second, slow way to find where UTF-8 may be cut: it looks up every beginning of every
// character.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_set>

namespace ew::test {

inline std::string encoded(std::uint32_t code_point) {
    const auto low = [&](unsigned shift) {
        return static_cast<char>(0x80 | ((code_point >> shift) & 0x3f));
    };
    if (code_point < 0x80) return {static_cast<char>(code_point)};
    if (code_point < 0x800) return {static_cast<char>(0xc0 | code_point >> 6), low(0)};
    if (code_point < 0x10000) return {static_cast<char>(0xe0 | code_point >> 12), low(6), low(0)};
    return {static_cast<char>(0xf0 | code_point >> 18), low(12), low(6), low(0)};
}

inline bool is_surrogate(std::uint32_t code_point) {
    return code_point >= 0xd800 && code_point <= 0xdfff;
}

class SlowUtf8 {
public:
    SlowUtf8() {
        constexpr std::uint32_t step = 64; // the last byte is never part of a beginning
        for (std::uint32_t at = 0x80; at <= 0x10ffff; at += step) {
            if (is_surrogate(at)) continue;
            const std::string character = encoded(at);
            for (std::size_t size = 1; size < character.size(); ++size)
                beginnings_.insert(character.substr(0, size));
        }
    }

    std::size_t unfinished_tail(std::string_view bytes) const {
        for (std::size_t size = 1; size <= std::min<std::size_t>(bytes.size(), 3); ++size)
            if (beginnings_.contains(std::string(bytes.substr(bytes.size() - size)))) return size;
        return 0;
    }

    // Returns true if a whole character lies across this place and neither begins nor ends there.
    bool is_inside_character(std::string_view bytes, std::size_t place) const {
        const std::size_t before = unfinished_tail(bytes.substr(0, place));
        if (before == 0) return false;
        const std::string_view character = bytes.substr(place - before);
        const auto lead = static_cast<unsigned char>(character.front());
        const std::size_t size = lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
        if (character.size() < size) return false;
        const bool is_good_so_far =
            beginnings_.contains(std::string(character.substr(0, size - 1)));
        return is_good_so_far && (static_cast<unsigned char>(character[size - 1]) & 0xc0) == 0x80;
    }

private:
    std::unordered_set<std::string> beginnings_;
};

} // namespace ew::test

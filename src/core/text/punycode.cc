#include "core/text/punycode.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace ew::core {

namespace {

constexpr std::string_view mark = "xn--";
constexpr std::uint32_t last_code_point = 0x10ffff;

// The parameters of RFC 3492, section 5.
constexpr std::uint32_t base = 36;
constexpr std::uint32_t least = 1;
constexpr std::uint32_t most = 26;
constexpr std::uint32_t skew = 38;
constexpr std::uint32_t damp = 700;
constexpr std::uint32_t first_bias = 72;
constexpr std::uint32_t first_code_point = 0x80;

std::optional<std::uint32_t> digit_of(char c) {
    if (c >= 'a' && c <= 'z') return static_cast<std::uint32_t>(c - 'a');
    if (c >= 'A' && c <= 'Z') return static_cast<std::uint32_t>(c - 'A');
    if (c >= '0' && c <= '9') return static_cast<std::uint32_t>(c - '0') + 26;
    return std::nullopt;
}

std::uint32_t adapted(std::uint32_t delta, std::uint32_t count, bool is_first) {
    delta /= is_first ? damp : 2;
    delta += delta / count;
    std::uint32_t k = 0;
    for (; delta > (base - least) * most / 2; k += base)
        delta /= base - least;
    return k + (base - least + 1) * delta / (delta + skew);
}

// Takes one number of variable length from the beginning of `digits`.
std::optional<std::uint32_t> take_delta(std::string_view& digits, std::uint32_t bias) {
    std::uint64_t delta = 0;
    std::uint64_t weight = 1;
    for (std::uint32_t k = base;; k += base) {
        if (digits.empty()) return std::nullopt;
        const std::optional<std::uint32_t> digit = digit_of(digits.front());
        digits.remove_prefix(1);
        if (!digit) return std::nullopt;
        delta += *digit * weight;
        if (delta > UINT32_MAX) return std::nullopt;
        const std::uint32_t threshold = k <= bias ? least : std::min(k - bias, most);
        if (*digit < threshold) return static_cast<std::uint32_t>(delta);
        weight *= base - threshold;
        if (weight > UINT32_MAX) return std::nullopt;
    }
}

std::optional<std::u32string> decoded(std::string_view label) {
    std::u32string text;
    const std::size_t hyphen = label.rfind('-');
    if (hyphen != std::string_view::npos) {
        text.assign(label.begin(), label.begin() + static_cast<std::ptrdiff_t>(hyphen));
        label.remove_prefix(hyphen + 1);
    }
    std::uint64_t code_point = first_code_point;
    std::uint64_t at = 0;
    std::uint32_t bias = first_bias;
    while (!label.empty()) {
        const std::optional<std::uint32_t> delta = take_delta(label, bias);
        if (!delta) return std::nullopt;
        const auto count = static_cast<std::uint32_t>(text.size()) + 1;
        bias = adapted(*delta, count, at == 0 && code_point == first_code_point);
        at += *delta;
        code_point += at / count;
        at %= count;
        const bool is_surrogate = code_point >= 0xd800 && code_point <= 0xdfff;
        if (code_point > last_code_point || is_surrogate) return std::nullopt;
        text.insert(static_cast<std::size_t>(at), 1, static_cast<char32_t>(code_point));
        ++at;
    }
    // Nobody shows a name as another one of ASCII.
    if (std::ranges::all_of(text, [](char32_t c) { return c < first_code_point; }))
        return std::nullopt;
    return text;
}

void append(std::string& text, char32_t c) {
    const auto byte = [&](std::uint32_t value) { text += static_cast<char>(value); };
    const auto rest = [&](unsigned shift) { byte(0x80 | ((c >> shift) & 0x3f)); };
    if (c < 0x80) return byte(c);
    if (c < 0x800) {
        byte(0xc0 | c >> 6);
        return rest(0);
    }
    if (c < 0x10000) {
        byte(0xe0 | c >> 12);
    } else {
        byte(0xf0 | c >> 18);
        rest(12);
    }
    rest(6);
    rest(0);
}

} // namespace

std::optional<std::string> decoded_host(std::string_view name) {
    std::string text;
    bool has_decoded = false;
    for (std::size_t begin = 0; begin <= name.size();) {
        const std::size_t end = std::min(name.find('.', begin), name.size());
        const std::string_view label = name.substr(begin, end - begin);
        if (begin > 0) text += '.';
        begin = end + 1;
        std::optional<std::u32string> letters;
        if (label.starts_with(mark)) letters = decoded(label.substr(mark.size()));
        if (letters)
            for (const char32_t letter : *letters)
                append(text, letter);
        else
            text += label;
        has_decoded |= letters.has_value();
    }
    if (!has_decoded) return std::nullopt;
    return text;
}

} // namespace ew::core

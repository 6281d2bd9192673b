#include "core/judgement/ansi_quotes.h"

namespace ew::core {

namespace {

unsigned digit_of(char c) {
    if (c >= '0' && c <= '9') return static_cast<unsigned>(c - '0');
    if (c >= 'a' && c <= 'f') return static_cast<unsigned>(c - 'a') + 10;
    if (c >= 'A' && c <= 'F') return static_cast<unsigned>(c - 'A') + 10;
    return 99;
}

// Reads a number at `at`. Characters beyond one byte are cut, because no program has such a name.
char read_number(std::string_view text, std::size_t& at, unsigned base, int most_digits) {
    unsigned value = 0;
    for (int i = 0; i < most_digits && at < text.size() && digit_of(text[at]) < base; ++i, ++at)
        value = value * base + digit_of(text[at]);
    return static_cast<char>(value & 0xffU);
}

// Reads the escape behind a backslash.
char read_escape(std::string_view text, std::size_t& at) {
    const char kind = text[at];
    if (kind >= '0' && kind <= '7') return read_number(text, at, 8, 3);
    ++at;
    if (kind == 'x') return read_number(text, at, 16, 2);
    if (kind == 'u') return read_number(text, at, 16, 4);
    if (kind == 'U') return read_number(text, at, 16, 8);
    constexpr std::string_view from = "abeEfnrtv";
    constexpr std::string_view to = "\a\b\033\033\f\n\r\t\v";
    const std::size_t place = from.find(kind);
    return place == std::string_view::npos ? kind : to[place];
}

} // namespace

std::string read_ansi_quoted(std::string_view text, std::size_t& at) {
    std::string quoted;
    while (at < text.size() && text[at] != '\'') {
        const char c = text[at++];
        if (c != '\\')
            quoted += c;
        else if (at < text.size())
            quoted += read_escape(text, at);
    }
    ++at;
    return quoted;
}

// echo takes a 0 and three more digits.
std::string without_escapes(std::string_view text) {
    std::string plain;
    for (std::size_t at = 0; at < text.size();) {
        const char c = text[at++];
        if (c != '\\' || at >= text.size())
            plain += c;
        else if (text[at] == '0')
            plain += read_number(text, at, 8, 4);
        else
            plain += read_escape(text, at);
    }
    return plain;
}

} // namespace ew::core

#include "json/writer.h"

#include "json/base64.h"

#include <simdjson.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <string>

namespace ew::json {

namespace {

constexpr std::string_view hex = "0123456789abcdef";

bool is_plain(char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte >= 0x20 && byte != '"' && byte != '\\' && byte != 0x7f;
}

void write_escaped(ByteBuffer& out, char c) {
    switch (c) {
    case '"': return out.append(std::string_view("\\\""));
    case '\\': return out.append(std::string_view("\\\\"));
    case '\n': return out.append(std::string_view("\\n"));
    case '\r': return out.append(std::string_view("\\r"));
    case '\t': return out.append(std::string_view("\\t"));
    default: break;
    }
    const auto byte = static_cast<unsigned char>(c);
    const std::array<char, 6> text = {'\\', 'u', '0', '0', hex[byte >> 4], hex[byte & 15]};
    out.append(std::string_view(text.data(), text.size()));
}

// Text from outside, for example a path, may not be UTF-8. Each byte that is not part of a valid
// character becomes U+FFFD.
std::string repaired(std::string_view text) {
    std::string result;
    while (!text.empty()) {
        std::size_t length = std::min<std::size_t>(4, text.size());
        while (length > 0 && !simdjson::validate_utf8(text.substr(0, length)))
            --length;
        if (length == 0)
            result += "\xef\xbf\xbd";
        else
            result += text.substr(0, length);
        text.remove_prefix(std::max<std::size_t>(length, 1));
    }
    return result;
}

template <class Number>
void write_digits(ByteBuffer& out, Number number) {
    constexpr std::size_t longest = 20;
    char* const at = out.reserve(longest);
    out.commit(static_cast<std::size_t>(std::to_chars(at, at + longest, number).ptr - at));
}

} // namespace

void write_string(ByteBuffer& out, std::string_view text) {
    if (!simdjson::validate_utf8(text)) return write_string(out, repaired(text));
    out.append('"');
    std::size_t plain = 0; // the start of the run that needs no escapes
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (is_plain(text[i])) continue;
        out.append(text.substr(plain, i - plain));
        write_escaped(out, text[i]);
        plain = i + 1;
    }
    out.append(text.substr(plain));
    out.append('"');
}

void write_number(ByteBuffer& out, std::uint64_t number) {
    write_digits(out, number);
}

void write_number(ByteBuffer& out, std::int64_t number) {
    write_digits(out, number);
}

void write_base64(ByteBuffer& out, std::string_view bytes) {
    constexpr std::size_t spill = 4; // encode_base64 may write this many bytes behind its result
    const std::size_t size = base64_size(bytes.size());
    char* const at = out.reserve(size + 2 + spill);
    at[0] = '"';
    encode_base64(bytes, at + 1);
    at[size + 1] = '"';
    out.commit(size + 2);
}

void write_file_uri(ByteBuffer& out, std::string_view path) {
    constexpr std::string_view unreserved_marks = "-._~/";
    out.append(std::string_view("\"file://"));
    for (const char c : path) {
        const auto byte = static_cast<unsigned char>(c);
        const bool is_letter = (byte | 0x20) >= 'a' && (byte | 0x20) <= 'z';
        const bool is_number = byte >= '0' && byte <= '9';
        if (is_letter || is_number || unreserved_marks.find(c) != std::string_view::npos) {
            out.append(c);
            continue;
        }
        constexpr std::string_view upper_hex = "0123456789ABCDEF";
        const std::array<char, 3> text = {'%', upper_hex[byte >> 4], upper_hex[byte & 15]};
        out.append(std::string_view(text.data(), text.size()));
    }
    out.append('"');
}

} // namespace ew::json

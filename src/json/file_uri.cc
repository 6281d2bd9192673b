#include "json/file_uri.h"

#include <cstdint>

namespace ew::json {

namespace {

constexpr std::string_view scheme = "file:";
constexpr std::string_view local_host = "localhost";

char lower(char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c;
}

bool starts_with_ignoring_case(std::string_view text, std::string_view prefix) {
    if (text.size() < prefix.size()) return false;
    for (std::size_t i = 0; i < prefix.size(); ++i)
        if (lower(text[i]) != prefix[i]) return false;
    return true;
}

int hex_digit(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    const char letter = lower(c);
    return letter >= 'a' && letter <= 'f' ? letter - 'a' + 10 : -1;
}

std::optional<std::string> unescape(std::string_view text) {
    std::string bytes;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] != '%') {
            bytes += text[i];
            continue;
        }
        if (i + 2 >= text.size()) return std::nullopt;
        const int high = hex_digit(text[i + 1]);
        const int low = hex_digit(text[i + 2]);
        if (high < 0 || low < 0) return std::nullopt;
        bytes += static_cast<char>(high * 16 + low);
        i += 2;
    }
    return bytes;
}

// Turns "/a/./b/../c" into "/a/c" (RFC 3986 section 5.2.4). Removes a slash at the end.
std::string fold(std::string_view path) {
    std::string folded;
    while (!path.empty()) {
        path.remove_prefix(1); // the slash
        const std::string_view segment = path.substr(0, path.find('/'));
        path.remove_prefix(segment.size());
        if (segment == "..")
            folded.resize(folded.find_last_of('/') == std::string::npos ? 0
                                                                        : folded.find_last_of('/'));
        else if (!segment.empty() && segment != ".")
            folded.append("/").append(segment);
    }
    return folded.empty() ? "/" : folded;
}

} // namespace

std::optional<std::string> path_from_text(std::string_view text) {
    if (text.find('\0') != std::string_view::npos) return std::nullopt;
    if (text.starts_with('/')) return std::string(text);
    if (!starts_with_ignoring_case(text, scheme)) return std::nullopt;
    text.remove_prefix(scheme.size());
    if (text.find_first_of("?#") != std::string_view::npos) return std::nullopt;
    if (text.starts_with("//")) {
        text.remove_prefix(2);
        if (starts_with_ignoring_case(text, local_host)) text.remove_prefix(local_host.size());
    }
    if (!text.starts_with('/')) return std::nullopt;
    std::optional<std::string> path = unescape(text);
    if (!path || path->find('\0') != std::string::npos) return std::nullopt;
    return fold(*path);
}

} // namespace ew::json

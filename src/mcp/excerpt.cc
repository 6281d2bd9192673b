#include "mcp/excerpt.h"

#include "core/output/utf8.h"
#include "core/text/continuation.h"

#include <fmt/format.h>

#include <algorithm>

namespace ew::mcp {

namespace {

using core::continues_character;

constexpr char escape = '\x1b';
constexpr char bell = '\x07';

// Returns the length of the escape sequence at the beginning of the text (ECMA-48): a control
// sequence, a string up to its terminator, or two characters.
std::size_t sequence_length(std::string_view text) {
    if (text.size() < 2) return text.size();
    const char kind = text[1];
    if (kind == '[') {
        std::size_t at = 2;
        while (at < text.size() && (text[at] < '@' || text[at] > '~'))
            ++at;
        return std::min(at + 1, text.size());
    }
    if (kind == ']' || kind == 'P' || kind == '_' || kind == '^' || kind == 'X') {
        for (std::size_t at = 2; at < text.size(); ++at) {
            if (text[at] == bell) return at + 1;
            if (text[at] == escape) return std::min(at + 2, text.size());
        }
        return text.size();
    }
    std::size_t at = 1;
    while (at < text.size() && text[at] >= ' ' && text[at] <= '/') // as in ESC ( B
        ++at;
    return std::min(at + 1, text.size());
}

std::size_t escaped_size(char c) {
    if (c == '"' || c == '\\' || c == '\n' || c == '\t' || c == '\r' || c == '\b' || c == '\f')
        return 2;
    return static_cast<unsigned char>(c) < ' ' ? 6 : 1;
}

// Returns how many bytes at the beginning take at most `most` bytes, without a part of a character.
std::size_t fitting_head(std::string_view text, std::size_t most) {
    std::size_t at = 0;
    std::size_t cost = 0;
    while (at < text.size() && cost + escaped_size(text[at]) <= most)
        cost += escaped_size(text[at++]);
    while (at > 0 && at < text.size() && continues_character(text[at]))
        --at;
    const std::size_t line = text.substr(0, at).rfind('\n');
    return line != std::string_view::npos && line > at / 2 ? line + 1 : at;
}

// Returns where an end begins that takes at most `most` bytes.
std::size_t fitting_tail(std::string_view text, std::size_t most) {
    std::size_t at = text.size();
    std::size_t cost = 0;
    while (at > 0 && cost + escaped_size(text[at - 1]) <= most)
        cost += escaped_size(text[--at]);
    while (at < text.size() && continues_character(text[at]))
        ++at;
    const std::size_t line = text.find('\n', at);
    const bool is_near = line != std::string_view::npos && line - at < (text.size() - at) / 2;
    return is_near ? line + 1 : at;
}

} // namespace

std::string plain(std::string_view output) {
    std::string text;
    text.reserve(output.size());
    std::size_t line = 0; // where the present line begins in `text`
    for (std::size_t i = 0; i < output.size();) {
        const char c = output[i];
        if (c == escape) {
            i += sequence_length(output.substr(i));
            continue;
        }
        ++i;
        if (c == '\r') {
            const std::size_t next = output.find_first_not_of('\r', i);
            const bool ends = next == std::string_view::npos || output[next] == '\n';
            if (!ends) text.resize(line);
        } else if (c == '\n' || c == '\t' || (static_cast<unsigned char>(c) >= ' ' && c != 0x7f)) {
            text += c;
            if (c == '\n') line = text.size();
        } else if (c == '\b' && text.size() > line) {
            while (text.size() > line + 1 && continues_character(text.back()))
                text.pop_back();
            text.pop_back();
        }
    }
    return text;
}

std::size_t escaped_size(std::string_view text) {
    std::size_t size = 0;
    for (const char c : text)
        size += escaped_size(c);
    return size;
}

Excerpt shorten(std::string_view text, std::size_t most, std::uint64_t missing) {
    if (escaped_size(text) <= most) return {std::string(text), missing};
    const std::size_t head = fitting_head(text, most / 3);
    const std::size_t tail = head + fitting_tail(text.substr(head), most - most / 3);
    const std::uint64_t omitted = missing + (tail - head);
    return {fmt::format("{}\n[… {} bytes left out …]\n{}", text.substr(0, head), omitted,
                        text.substr(tail)),
            omitted};
}

std::string last_line(std::string_view output) {
    constexpr std::size_t looked_at = 2048;
    if (output.size() > looked_at) output.remove_prefix(output.size() - looked_at);
    const std::string text = plain(output);
    const std::size_t end = text.find_last_not_of(" \t\n");
    if (end == std::string::npos) return {};
    const std::size_t before = text.find_last_of('\n', end);
    const std::size_t begin = before == std::string::npos ? 0 : before + 1;
    std::string_view line = std::string_view(text).substr(begin, end + 1 - begin);
    while (!line.empty() && continues_character(line.front()))
        line.remove_prefix(1);
    return core::shortened(line);
}

} // namespace ew::mcp

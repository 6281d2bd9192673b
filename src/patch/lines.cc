#include "patch/lines.h"

#include "core/output/utf8.h"
#include "core/text/display.h"

namespace ew::patch {

namespace {

constexpr std::string_view blanks = " \t\n\v\f\r";

} // namespace

std::vector<TextLine> lines_of(std::string_view text, std::size_t most) {
    std::vector<TextLine> lines;
    while (!text.empty() && lines.size() < most) {
        const std::size_t newline = text.find('\n');
        if (newline == std::string_view::npos) {
            lines.push_back({text, {}});
            return lines;
        }
        const bool is_crlf = newline > 0 && text[newline - 1] == '\r';
        const std::size_t end = newline - (is_crlf ? 1 : 0);
        lines.push_back({text.substr(0, end), text.substr(end, newline + 1 - end)});
        text.remove_prefix(newline + 1);
    }
    return lines;
}

std::string_view trimmed_end(std::string_view text) {
    const std::size_t last = text.find_last_not_of(blanks);
    return last == std::string_view::npos ? std::string_view() : text.substr(0, last + 1);
}

std::string_view trimmed(std::string_view text) {
    const std::size_t first = text.find_first_not_of(blanks);
    return first == std::string_view::npos ? std::string_view() : trimmed_end(text.substr(first));
}

std::string quoted(std::string_view text) {
    return "`" + core::visible(core::shortened(text)) + "`";
}

} // namespace ew::patch

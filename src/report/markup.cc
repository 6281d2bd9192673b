#include "report/markup.h"

#include "core/text/display.h"
#include "core/text/markup.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace ew::report {

namespace {

// Returns the longest beginning of at most `most` bytes that ends between characters.
std::string_view beginning(std::string_view text, std::size_t most) {
    if (text.size() <= most) return text;
    while (most > 0 && (static_cast<unsigned char>(text[most]) & 0xc0) == 0x80)
        --most;
    return text.substr(0, most);
}

} // namespace

std::string escaped(std::string_view text) {
    const bool is_plain =
        !core::has_invisible(text) && text.find_first_of("\n\t") == std::string_view::npos;
    std::string out;
    core::append_as_content(out, is_plain ? std::string(text) : core::visible(text));
    return out;
}

Markup& Markup::text(std::string_view foreign, std::size_t most) {
    const std::string_view shown = beginning(foreign, most);
    page_ += escaped(shown);
    if (shown.size() < foreign.size()) left_out(foreign.size() - shown.size());
    return *this;
}

Markup& Markup::lines(std::string_view foreign, std::size_t most) {
    const std::string_view shown = beginning(foreign, most);
    for (std::string_view rest = shown;;) {
        const std::size_t end = rest.find('\n');
        const std::string_view line = rest.substr(0, end);
        if (core::has_invisible(line))
            page_ += escaped(line);
        else
            core::append_as_content(page_, line); // with its tabs
        if (end == std::string_view::npos) break;
        page_ += '\n';
        rest.remove_prefix(end + 1);
    }
    if (shown.size() < foreign.size()) left_out(foreign.size() - shown.size());
    return *this;
}

Markup& Markup::number(long long number) {
    fmt::format_to(std::back_inserter(page_), "{}", number);
    return *this;
}

Markup& Markup::decimal(double number) {
    fmt::format_to(std::back_inserter(page_), "{:.2f}", number);
    return *this;
}

void Markup::left_out(std::size_t bytes) {
    fmt::format_to(std::back_inserter(page_), " … ({} more bytes)", bytes);
}

} // namespace ew::report

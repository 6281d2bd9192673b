#include "cli/shared/printing.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <ctime>

namespace ew::cli {

namespace {

// Returns the columns on a screen, as fmt counts them when it pads. A character never has more
// columns than bytes.
std::size_t width_of(const std::string& text) {
    const std::size_t padding = fmt::formatted_size("{:<{}}", text, text.size()) - text.size();
    return text.size() - padding;
}

} // namespace

std::string time_text(store::UnixMs time) {
    const std::time_t seconds = time / 1000;
    std::tm parts = {};
    if (::gmtime_r(&seconds, &parts) == nullptr) return fmt::format("{} ms", time);
    return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z", parts.tm_year + 1900,
                       parts.tm_mon + 1, parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec);
}

// Does not use fmt::print(), which throws when the disk is full or the reader has gone.
void print_line(std::string_view line) {
    (void)std::fwrite(line.data(), 1, line.size(), stdout);
    (void)std::fputc('\n', stdout);
}

void print_table(const std::vector<std::vector<std::string>>& rows) {
    const auto text_of = [](const std::string& text) { return text.empty() ? "-" : text; };
    std::vector<std::size_t> widths;
    for (const std::vector<std::string>& row : rows) {
        widths.resize(std::max(widths.size(), row.size()));
        for (std::size_t column = 0; column < row.size(); ++column)
            widths[column] = std::max(widths[column], width_of(text_of(row[column])));
    }
    for (const std::vector<std::string>& row : rows) {
        std::string line;
        for (std::size_t column = 0; column + 1 < row.size(); ++column)
            line += fmt::format("{:<{}}  ", text_of(row[column]), widths[column]);
        print_line(line + text_of(row.back()));
    }
}

int finish(int status) {
    if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return status;
    return fail(Error{ErrorKind::internal, "not everything could be written to stdout"});
}

int fail(const Error& error) {
    fmt::print(stderr, "execward: {}\n", error.message);
    if (!error.hint.empty()) fmt::print(stderr, "hint: {}\n", error.hint);
    return status_failure;
}

} // namespace ew::cli

#include "cli/text_diff.h"

#include "core/display.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace ew::cli {

namespace {

constexpr std::size_t context = 3;            // lines around a change
constexpr std::size_t most_cells = 4'000'000; // of the table; beyond, all lines count as changed

using Lines = std::vector<std::string_view>; // with their ends

struct Row {
    char kind = ' '; // ' ', '-' or '+'
    std::string_view line;
};

Lines lines_of(std::string_view text) {
    Lines lines;
    while (!text.empty()) {
        const std::size_t end = text.find('\n');
        const std::size_t size = end == std::string_view::npos ? text.size() : end + 1;
        lines.push_back(text.substr(0, size));
        text.remove_prefix(size);
    }
    return lines;
}

// The longest common subsequence from each pair of positions on.
class Common {
public:
    Common(const Lines& a, const Lines& b) : width_(b.size() + 1) {
        if ((a.size() + 1) * width_ > most_cells) return;
        cells_.resize((a.size() + 1) * width_);
        for (std::size_t i = a.size(); i-- > 0;)
            for (std::size_t j = b.size(); j-- > 0;)
                cells_[i * width_ + j] =
                    a[i] == b[j] ? at(i + 1, j + 1) + 1 : std::max(at(i + 1, j), at(i, j + 1));
    }

    std::uint32_t at(std::size_t i, std::size_t j) const {
        return cells_.empty() ? 0 : cells_[i * width_ + j];
    }

    bool is_known() const { return !cells_.empty(); }

private:
    std::size_t width_;
    std::vector<std::uint32_t> cells_;
};

void add_rows(std::vector<Row>& rows, const Lines& a, const Lines& b) {
    const Common common(a, b);
    std::size_t i = 0;
    std::size_t j = 0;
    while (i < a.size() || j < b.size()) {
        const bool is_same = common.is_known() && i < a.size() && j < b.size() && a[i] == b[j];
        const bool is_removed =
            i < a.size() && (j == b.size() || common.at(i + 1, j) >= common.at(i, j + 1));
        if (is_same) {
            rows.push_back({' ', a[i++]});
            ++j;
        } else if (is_removed) {
            rows.push_back({'-', a[i++]});
        } else {
            rows.push_back({'+', b[j++]});
        }
    }
}

std::vector<Row> rows_of(std::string_view before, std::string_view after) {
    Lines a = lines_of(before);
    Lines b = lines_of(after);
    const auto first = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
    const auto same_in_front = static_cast<std::size_t>(first.first - a.begin());
    std::size_t same_at_end = 0;
    while (same_at_end < std::min(a.size(), b.size()) - same_in_front &&
           a[a.size() - 1 - same_at_end] == b[b.size() - 1 - same_at_end])
        ++same_at_end;

    std::vector<Row> rows;
    for (std::size_t i = 0; i < same_in_front; ++i)
        rows.push_back({' ', a[i]});
    const auto middle = [&](const Lines& lines) {
        return Lines(lines.begin() + static_cast<std::ptrdiff_t>(same_in_front),
                     lines.end() - static_cast<std::ptrdiff_t>(same_at_end));
    };
    add_rows(rows, middle(a), middle(b));
    for (std::size_t i = a.size() - same_at_end; i < a.size(); ++i)
        rows.push_back({' ', a[i]});
    return rows;
}

std::string shown(const Row& row) {
    std::string_view line = row.line;
    const bool is_whole = line.ends_with('\n');
    if (is_whole) line.remove_suffix(1);
    if (is_whole && line.ends_with('\r')) line.remove_suffix(1);
    return fmt::format("{}{}\n{}", row.kind, core::visible(line),
                       is_whole ? "" : "\\ No newline at end of file\n");
}

// The end of the hunk that begins at a row: rows are shown up to so many after a change, and what
// would leave no gap belongs to it.
std::size_t end_of_hunk(const std::vector<Row>& rows, std::size_t begin) {
    std::size_t last_change = begin;
    for (std::size_t i = begin; i < rows.size() && i <= last_change + 2 * context + 1; ++i)
        if (rows[i].kind != ' ') last_change = i;
    return std::min(last_change + context + 1, rows.size());
}

// "@@ -1,2 +1,3 @@", where empty sides name the line before them.
std::string heading(const std::vector<Row>& rows, std::size_t begin, std::size_t end) {
    const auto count = [&](std::size_t from, std::size_t to, char other) {
        std::size_t found = 0;
        for (std::size_t i = from; i < to; ++i)
            found += rows[i].kind == ' ' || rows[i].kind == other ? 1 : 0;
        return found;
    };
    const std::size_t removed = count(begin, end, '-');
    const std::size_t added = count(begin, end, '+');
    return fmt::format("@@ -{},{} +{},{} @@\n", count(0, begin, '-') + (removed > 0 ? 1 : 0),
                       removed, count(0, begin, '+') + (added > 0 ? 1 : 0), added);
}

} // namespace

std::string unified_diff(std::string_view before, std::string_view after, std::string_view old_name,
                         std::string_view new_name) {
    if (before == after) return "";
    const std::vector<Row> rows = rows_of(before, after);
    std::string diff = fmt::format("--- {}\n+++ {}\n", old_name, new_name);
    for (std::size_t i = 0; i < rows.size(); ++i) {
        if (rows[i].kind == ' ') continue;
        const std::size_t begin = i - std::min(i, context);
        const std::size_t end = end_of_hunk(rows, i);
        diff += heading(rows, begin, end);
        for (std::size_t row = begin; row < end; ++row)
            diff += shown(rows[row]);
        i = end - 1;
    }
    return diff;
}

} // namespace ew::cli

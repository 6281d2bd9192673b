#include "patch/diff.h"

#include "core/text/display.h"
#include "patch/lines.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace ew::patch {

namespace {

constexpr std::size_t most_lines = 1'000'000;  // in each text
constexpr std::size_t most_edits = 1000;       // removed and added lines that the search finds
constexpr std::size_t most_steps = 20'000'000; // comparisons of lines in the search

using Lines = std::vector<std::string_view>; // with their line ends
using Numbers = std::vector<std::uint32_t>;  // equal lines have equal numbers

struct Row {
    char kind = ' '; // ' ', '-' or '+'
    std::string_view line;
};

Lines whole_lines_of(std::string_view text) {
    Lines lines;
    for (const TextLine& line : lines_of(text, most_lines + 1))
        lines.emplace_back(line.text.data(), line.text.size() + line.end.size());
    return lines;
}

// The lines of two texts that are not in both.
struct Changes {
    std::vector<bool> removed; // lines of the first text
    std::vector<bool> added;   // lines of the second
};

// Finds the fewest changes with the algorithm of Myers, "An O(ND) Difference Algorithm and Its
// Variations" (1986). A diagonal is the number of lines taken from the first text minus the number
// taken from the second.
class ShortestEdit {
public:
    ShortestEdit(std::span<const std::uint32_t> a, std::span<const std::uint32_t> b)
        : a_(a), b_(b) {}

    std::optional<Changes> changes() {
        for (std::size_t edits = 0; edits <= most_edits && steps_ <= most_steps; ++edits)
            if (advance(static_cast<Diagonal>(edits))) return traced();
        return std::nullopt;
    }

private:
    using Diagonal = std::ptrdiff_t;

    // How far each diagonal from -edits to edits has come in the first text; -1 if it is not
    // reached.
    using Reached = std::vector<Diagonal>;

    Diagonal reached(Diagonal edits, Diagonal diagonal) const {
        if (diagonal < -edits || diagonal > edits) return -1;
        return rounds_[static_cast<std::size_t>(edits)][static_cast<std::size_t>(diagonal + edits)];
    }

    // Returns true if the path to a diagonal comes from the one above, by an added line.
    bool comes_by_adding(Diagonal edits, Diagonal diagonal) const {
        if (diagonal == -edits) return true;
        if (diagonal == edits) return false;
        return reached(edits - 1, diagonal - 1) < reached(edits - 1, diagonal + 1);
    }

    // Returns where the path enters a diagonal, before it follows equal lines.
    Diagonal entry(Diagonal edits, Diagonal diagonal) const {
        if (edits == 0) return 0;
        return comes_by_adding(edits, diagonal) ? reached(edits - 1, diagonal + 1)
                                                : reached(edits - 1, diagonal - 1) + 1;
    }

    // Returns true if both texts are at their end.
    bool advance(Diagonal edits) {
        const auto a_size = static_cast<Diagonal>(a_.size());
        const auto b_size = static_cast<Diagonal>(b_.size());
        rounds_.emplace_back(static_cast<std::size_t>(2 * edits + 1), -1);
        for (Diagonal diagonal = -edits; diagonal <= edits; diagonal += 2) {
            Diagonal i = entry(edits, diagonal);
            const Diagonal begin = i;
            while (i < a_size && i - diagonal < b_size &&
                   a_[static_cast<std::size_t>(i)] == b_[static_cast<std::size_t>(i - diagonal)])
                ++i;
            steps_ += static_cast<std::size_t>(i - begin) + 1;
            rounds_.back()[static_cast<std::size_t>(diagonal + edits)] = i;
            if (i >= a_size && i - diagonal >= b_size) return true;
        }
        return false;
    }

    // Follows the path back from the end.
    Changes traced() const {
        Changes changes = {std::vector<bool>(a_.size()), std::vector<bool>(b_.size())};
        auto diagonal = static_cast<Diagonal>(a_.size()) - static_cast<Diagonal>(b_.size());
        for (auto edits = static_cast<Diagonal>(rounds_.size()) - 1; edits > 0; --edits) {
            const Diagonal i = entry(edits, diagonal);
            if (comes_by_adding(edits, diagonal)) {
                mark(changes.added, i - diagonal - 1);
                ++diagonal;
            } else {
                mark(changes.removed, i - 1);
                --diagonal;
            }
        }
        return changes;
    }

    // Diagonals beyond the end of a text refer to lines that do not exist.
    static void mark(std::vector<bool>& lines, Diagonal line) {
        if (line >= 0 && line < static_cast<Diagonal>(lines.size()))
            lines[static_cast<std::size_t>(line)] = true;
    }

    std::span<const std::uint32_t> a_;
    std::span<const std::uint32_t> b_;
    std::vector<Reached> rounds_ = {}; // one per number of edits
    std::size_t steps_ = 0;
};

// Assigns numbers to the lines of both texts.
std::pair<Numbers, Numbers> numbered(std::span<const std::string_view> a,
                                     std::span<const std::string_view> b) {
    Lines sorted(a.begin(), a.end());
    sorted.insert(sorted.end(), b.begin(), b.end());
    std::sort(sorted.begin(), sorted.end());
    sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());
    const auto numbers_of = [&](std::span<const std::string_view> lines) {
        Numbers numbers;
        for (const std::string_view line : lines)
            numbers.push_back(static_cast<std::uint32_t>(
                std::lower_bound(sorted.begin(), sorted.end(), line) - sorted.begin()));
        return numbers;
    };
    return {numbers_of(a), numbers_of(b)};
}

void add_rows(std::vector<Row>& rows, std::span<const std::string_view> a,
              std::span<const std::string_view> b) {
    const auto [a_numbers, b_numbers] = numbered(a, b);
    const Changes changes = ShortestEdit(a_numbers, b_numbers)
                                .changes()
                                .value_or(Changes{std::vector<bool>(a.size(), true),
                                                  std::vector<bool>(b.size(), true)});
    std::size_t i = 0;
    std::size_t j = 0;
    while (i < a.size() || j < b.size()) {
        if (i < a.size() && (j == b.size() || changes.removed[i])) {
            rows.push_back({'-', a[i++]});
        } else if (j < b.size() && (i == a.size() || changes.added[j])) {
            rows.push_back({'+', b[j++]});
        } else {
            rows.push_back({' ', a[i++]});
            ++j;
        }
    }
}

std::vector<Row> rows_of(const Lines& a, const Lines& b) {
    const auto first = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
    const auto same_in_front = static_cast<std::size_t>(first.first - a.begin());
    std::size_t same_at_end = 0;
    while (same_at_end < std::min(a.size(), b.size()) - same_in_front &&
           a[a.size() - 1 - same_at_end] == b[b.size() - 1 - same_at_end])
        ++same_at_end;

    std::vector<Row> rows;
    for (std::size_t i = 0; i < same_in_front; ++i)
        rows.push_back({' ', a[i]});
    const auto middle = [&](std::span<const std::string_view> lines) {
        return lines.subspan(same_in_front, lines.size() - same_in_front - same_at_end);
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

// Writes hunks up to the limit.
class Writer {
public:
    Writer(const std::vector<Row>& rows, DiffLimits limits) : rows_(rows), limits_(limits) {}

    std::string write() {
        for (std::size_t i = 0; i < rows_.size() && !is_full_; ++i) {
            if (rows_[i].kind == ' ') continue;
            const std::size_t begin = i - std::min(i, limits_.context);
            const std::size_t end = end_of_hunk(i);
            count_until(begin);
            put(heading(end));
            for (std::size_t row = begin; row < end && !is_full_; ++row)
                put(rows_[row]);
            i = end - 1;
        }
        if (is_full_) diff_ += fmt::format("… more than {} bytes\n", limits_.most_bytes);
        return std::move(diff_);
    }

private:
    // Returns the end of the hunk with this change. A hunk includes the context lines after a
    // change, and further changes if no gap would be left between them.
    std::size_t end_of_hunk(std::size_t change) const {
        std::size_t last = change;
        for (std::size_t i = change; i < rows_.size() && i <= last + 2 * limits_.context + 1; ++i)
            if (rows_[i].kind != ' ') last = i;
        return std::min(last + limits_.context + 1, rows_.size());
    }

    // Counts the lines of both texts before a row.
    void count_until(std::size_t row) {
        for (; counted_ < row; ++counted_) {
            before_ += rows_[counted_].kind == '+' ? 0U : 1U;
            after_ += rows_[counted_].kind == '-' ? 0U : 1U;
        }
    }

    // Returns "@@ -1,2 +1,3 @@" for the rows that are not counted yet. An empty side names the line
    // before it.
    std::string heading(std::size_t end) {
        const std::size_t before = before_;
        const std::size_t after = after_;
        count_until(end);
        const std::size_t removed = before_ - before;
        const std::size_t added = after_ - after;
        return fmt::format("@@ -{},{} +{},{} @@\n", before + (removed > 0 ? 1 : 0), removed,
                           after + (added > 0 ? 1 : 0), added);
    }

    void put(const Row& row) {
        if (row.line.size() > limits_.most_bytes)
            is_full_ = true; // before the effort of making the line visible
        else
            put(shown(row));
    }

    void put(std::string_view text) {
        is_full_ = is_full_ || diff_.size() + text.size() > limits_.most_bytes;
        if (!is_full_) diff_ += text;
    }

    const std::vector<Row>& rows_;
    DiffLimits limits_;
    std::string diff_ = {};
    bool is_full_ = false;
    std::size_t counted_ = 0; // number of rows
    std::size_t before_ = 0;  // lines of the first text among them
    std::size_t after_ = 0;
};

} // namespace

std::string unified_diff(std::string_view before, std::string_view after, std::string_view old_name,
                         std::string_view new_name, DiffLimits limits) {
    if (before == after) return "";
    const std::string names = fmt::format("--- {}\n+++ {}\n", old_name, new_name);
    const Lines a = whole_lines_of(before);
    const Lines b = whole_lines_of(after);
    if (a.size() > most_lines || b.size() > most_lines)
        return names + fmt::format("… more than {} lines\n", most_lines);
    const std::vector<Row> rows = rows_of(a, b);
    return names + Writer(rows, limits).write();
}

} // namespace ew::patch

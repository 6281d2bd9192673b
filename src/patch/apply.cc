#include "patch/apply.h"

#include "base/check.h"
#include "patch/indentation.h"
#include "patch/lines.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <span>
#include <utility>

namespace ew::patch {

namespace {

constexpr std::string_view byte_order_mark = "\xef\xbb\xbf";

Error misfit(const Chunk& chunk, std::string_view what, std::string hint) {
    return {.kind = ErrorKind::invalid_params,
            .message = fmt::format("line {}: {}", chunk.line, what),
            .hint = std::move(hint)};
}

Error too_large(std::string_view unit, std::size_t most) {
    return {.kind = ErrorKind::limit,
            .message = fmt::format("the file has more than {} {}", most, unit),
            .hint = "change it with a program"};
}

bool is_old(const Line& line) {
    return line.kind != LineKind::added;
}

// A chunk as it is applied: these lines, at this position in the file.
struct Edit {
    std::size_t begin = 0; // counts from 0
    std::vector<Line> lines;
    MatchLevel level = MatchLevel::exact;
};

std::size_t old_lines_of(const std::vector<Line>& lines) {
    return static_cast<std::size_t>(std::count_if(lines.begin(), lines.end(), is_old));
}

bool is_empty_line(const Line& line, LineKind kind) {
    return line.kind == kind && line.text.empty();
}

// Removes an empty line from the end of the lines if it may be a separator in the patch.
bool drop_separator(std::vector<Line>& lines) {
    if (lines.empty() || !is_empty_line(lines.back(), LineKind::context)) return false;
    lines.pop_back();
    return true;
}

// Some patches count an empty line behind the last newline. Removes that line (an empty line to be
// removed) and the empty line that replaces it.
bool drop_line_behind_end(std::vector<Line>& lines) {
    const auto last_old = std::find_if(lines.rbegin(), lines.rend(), is_old);
    if (last_old == lines.rend() || !is_empty_line(*last_old, LineKind::removed)) return false;
    lines.erase(last_old.base() - 1);
    if (!lines.empty() && is_empty_line(lines.back(), LineKind::added)) lines.pop_back();
    return true;
}

std::string list_of(const Places& places) {
    std::string text;
    for (const std::size_t line : places.first)
        text += fmt::format("{}{}", text.empty() ? "" : ", ", line + 1);
    if (places.count > places.first.size())
        text += fmt::format(" and {} more", places.count - places.first.size());
    return text;
}

std::string_view disregarded_on(MatchLevel level) {
    switch (level) {
    case MatchLevel::exact: return "nothing";
    case MatchLevel::trailing_blanks: return "blanks at the end of lines";
    case MatchLevel::both_ends: return "blanks at both ends of lines";
    case MatchLevel::folded:
        return "blanks at both ends and the kinds of dashes, quotation marks and blanks";
    case MatchLevel::canonical: break;
    }
    return "blanks at both ends, the kinds of dashes, quotation marks and blanks, and how accents "
           "are written";
}

// Finds the positions of the chunks in order.
class Locator {
public:
    Locator(std::span<const TextLine> file, const std::vector<Chunk>& chunks)
        : file_(file), searched_(file, wanted_by(chunks)) {}

    Result<Edit> locate(const Chunk& chunk) {
        begin_.cursor = cursor_;
        begin_.level = MatchLevel::exact;
        begin_.unsure.reset();
        begin_.context = {};
        for (const std::string& context : chunk.contexts)
            TRY(pass(chunk, context));
        const WantedLines wanted = {wanted_, old_lines_of(chunk.lines)};
        wanted_ += wanted.count;
        if (wanted.count == 0) return insertion(chunk);

        Edit edit = {.begin = 0, .lines = chunk.lines, .level = begin_.level};
        const Places places = TRY(find(chunk, wanted, edit.lines));
        if (places.count == 0) return not_found(chunk, wanted);
        if (places.count > 1 && begin_.unsure)
            return ambiguous(chunk, quoted(begin_.context), *begin_.unsure);
        if (places.count > 1 && places.level != MatchLevel::exact)
            return ambiguous(chunk, "these lines", places);
        edit.begin = places.first.front();
        if (places.level >= MatchLevel::both_ends) TRY(reindent(chunk, edit));
        edit.level = std::max(edit.level, places.level);
        cursor_ = edit.begin + old_lines_of(edit.lines);
        return edit;
    }

private:
    // The position behind the `@@` lines of a chunk, where its search begins.
    struct Begin {
        std::size_t cursor = 0;
        MatchLevel level = MatchLevel::exact;
        std::optional<Places> unsure = {}; // inexact candidates; the cursor is behind the first
        std::string_view context = {};     // the `@@` line of `unsure`
    };

    static std::vector<std::string_view> wanted_by(const std::vector<Chunk>& chunks) {
        std::vector<std::string_view> wanted;
        for (const Chunk& chunk : chunks) {
            wanted.insert(wanted.end(), chunk.contexts.begin(), chunk.contexts.end());
            for (const Line& line : chunk.lines)
                if (is_old(line)) wanted.emplace_back(line.text);
        }
        return wanted;
    }

    // Other blanks than those of ASCII are left alone.
    static bool says_indentation(std::string_view line) {
        const std::string_view text = trimmed(line);
        std::string storage;
        const std::string_view plain = compared_on(MatchLevel::folded, text, storage);
        return !text.empty() && !plain.empty() && text.front() == plain.front();
    }

    // Gives the added lines the indentation of the file, by the lines that are in both.
    Result<void> reindent(const Chunk& chunk, Edit& edit) const {
        std::vector<IndentPair> pairs;
        std::size_t at = edit.begin;
        for (const Line& line : edit.lines) {
            if (!is_old(line)) continue;
            const std::string_view in_file = file_[at++].text;
            if (!says_indentation(line.text) || !says_indentation(in_file)) continue;
            pairs.push_back({indent_of(line.text), indent_of(in_file)});
        }
        const std::optional<Reindent> rule = Reindent::of(pairs);
        for (Line& line : edit.lines) {
            if (line.kind != LineKind::added) continue;
            std::optional<std::string> text = rule ? rule->apply(line.text) : std::nullopt;
            if (!text) return other_indentation(chunk, edit.begin);
            line.text = std::move(*text);
        }
        return {};
    }

    static Error other_indentation(const Chunk& chunk, std::size_t begin) {
        return misfit(chunk,
                      fmt::format("the file has these lines from line {} on with other blanks in "
                                  "front, from which no indentation of the added lines follows",
                                  begin + 1),
                      "read the file again, and copy its blanks and tabs exactly as they are");
    }

    Result<void> pass(const Chunk& chunk, std::string_view context) {
        const WantedLines wanted = {wanted_++, 1};
        const Places places = TRY(searched_.places(wanted, begin_.cursor));
        if (places.count == 0) return no_context(chunk, context);
        if (places.count > 1 && places.level != MatchLevel::exact && !begin_.unsure) {
            begin_.unsure = places;
            begin_.context = context;
        }
        begin_.level = std::max(begin_.level, places.level);
        begin_.cursor = places.first.front() + 1;
        return {};
    }

    Result<Edit> insertion(const Chunk& chunk) {
        const bool is_at_end = chunk.contexts.empty() || chunk.is_at_end;
        if (!is_at_end && begin_.unsure)
            return ambiguous(chunk, quoted(begin_.context), *begin_.unsure);
        cursor_ = begin_.cursor;
        return Edit{is_at_end ? file_.size() : begin_.cursor, chunk.lines, begin_.level};
    }

    // Removes from `lines` the lines at the end that were disregarded.
    Result<Places> find(const Chunk& chunk, WantedLines wanted, std::vector<Line>& lines) {
        constexpr int most_separators = 4;
        Places places = TRY(find_whole(chunk, wanted));
        if (places.count > 0) return places;
        std::vector<Line> fewer = lines;
        if (wanted.count > 1 && drop_line_behind_end(fewer)) {
            places = TRY(searched_.place_at_end({wanted.first, wanted.count - 1}, begin_.cursor));
            if (places.count > 0) lines = std::move(fewer);
            return places; // drop_separator() cannot drop its last line
        }
        for (int i = 0; i < most_separators && places.count == 0; ++i) {
            if (--wanted.count == 0 || !drop_separator(fewer)) break;
            places = TRY(find_whole(chunk, wanted));
        }
        if (places.count > 0) lines = std::move(fewer);
        return places;
    }

    Result<Places> find_whole(const Chunk& chunk, WantedLines wanted) {
        Places places;
        if (chunk.is_at_end) places = TRY(searched_.place_at_end(wanted, begin_.cursor));
        if (places.count == 0) places = TRY(searched_.places(wanted, begin_.cursor));
        if (places.count == 0 && !chunk.contexts.empty())
            places = TRY(searched_.places(wanted, begin_.cursor - 1)); // from the `@@` line itself
        return places;
    }

    Error ambiguous(const Chunk& chunk, std::string_view subject, const Places& places) const {
        return misfit(chunk,
                      fmt::format("the file has {} only if {} are disregarded, and then in {} "
                                  "places: at lines {}",
                                  subject, disregarded_on(places.level), places.count,
                                  list_of(places)),
                      "copy the lines exactly as they are, or give more of those around them");
    }

    Error no_context(const Chunk& chunk, std::string_view context) const {
        if (context.starts_with('-') && context.find(" +") != std::string_view::npos)
            return misfit(chunk, fmt::format("no line is {}", quoted(context)),
                          "do not give line numbers: write @@ alone, or with a line of the file");
        return misfit(chunk,
                      fmt::format("from line {} of the file on, no line is {}, as @@ says",
                                  begin_.cursor + 1, quoted(context)),
                      hint_about(context));
    }

    Error not_found(const Chunk& chunk, WantedLines wanted) {
        constexpr std::size_t most_quoted = 5;
        std::string lines;
        std::string_view longest;
        std::size_t count = 0;
        for (const Line& line : chunk.lines) {
            if (!is_old(line)) continue;
            if (count++ < most_quoted)
                lines += fmt::format("{}{}", lines.empty() ? "" : ", ", quoted(line.text));
            if (trimmed(line.text).size() > longest.size()) longest = trimmed(line.text);
        }
        if (count > most_quoted) lines += fmt::format(" and {} more", count - most_quoted);
        const std::string what = fmt::format("from line {} of the file on, these lines are not "
                                             "there together: {}",
                                             begin_.cursor + 1, lines);
        Result<Places> before = searched_.places(wanted, 0);
        if (!before || before->count == 0) return misfit(chunk, what, hint_about(longest));
        return misfit(
            chunk, what,
            fmt::format("they are at line {}, before that: give chunks and @@ lines in the "
                        "order of the file",
                        before->first.front() + 1));
    }

    std::string hint_about(std::string_view line) const {
        const std::optional<std::size_t> nearest = nearest_line(file_, line);
        if (!nearest) return "read the file again, and copy lines exactly as they are";
        return fmt::format("the line most like {} is line {}: {}; copy lines exactly as they are",
                           quoted(line), *nearest + 1, quoted(file_[*nearest].text));
    }

    std::span<const TextLine> file_;
    Searched searched_;
    std::size_t cursor_ = 0; // position behind the last chunk
    std::size_t wanted_ = 0; // number of wanted lines that were already searched
    Begin begin_;
};

// Writes the new file: lines of the old file, and the added lines.
class Writer {
public:
    explicit Writer(std::span<const TextLine> file) : file_(file) {}

    // Edits must come in the order of the file.
    void apply(const Edit& edit) {
        CHECK(at_ <= edit.begin);
        keep_until(edit.begin);
        removed_ = {};
        for (const Line& line : edit.lines) {
            switch (line.kind) {
            case LineKind::context: keep_until(at_ + 1); break;
            case LineKind::removed: remove(); break;
            case LineKind::added: add(line.text); break;
            }
        }
    }

    std::string finish() {
        keep_until(file_.size());
        const bool lacks_newline = !file_.empty() && file_.back().end.empty();
        if (lacks_newline) out_.resize(out_.size() - last_end_.size());
        return std::move(out_);
    }

private:
    // The lines being replaced, and the number of those already replaced.
    struct Removed {
        std::size_t begin = 0;
        std::size_t count = 0;
        std::size_t replaced = 0;
    };

    void keep_until(std::size_t end) {
        for (; at_ < end; ++at_) {
            write(file_[at_].text, end_of(at_));
            removed_ = {};
        }
    }

    void remove() {
        if (removed_.count == 0) removed_ = {.begin = at_, .count = 0, .replaced = 0};
        ++removed_.count;
        ++at_;
    }

    void add(std::string_view text) { write(text, end_for_added()); }

    void write(std::string_view text, std::string_view end) {
        out_.append(text).append(end);
        last_end_ = end;
    }

    std::string_view end_for_added() {
        if (removed_.replaced < removed_.count) return end_of(removed_.begin + removed_.replaced++);
        if (!last_end_.empty()) return last_end_;
        return at_ < file_.size() ? end_of(at_) : "\n";
    }

    // The last line of the file may have no line end. More lines may follow it, so it gets the end
    // of the line before it.
    std::string_view end_of(std::size_t line) const {
        if (!file_[line].end.empty()) return file_[line].end;
        return line > 0 ? file_[line - 1].end : "\n";
    }

    std::span<const TextLine> file_;
    std::size_t at_ = 0;
    std::string out_ = {};
    std::string_view last_end_ = {}; // the last line end written
    Removed removed_ = {};
};

bool has_byte_order_mark(const Chunk& chunk) {
    return std::any_of(chunk.lines.begin(), chunk.lines.end(), [](const Line& line) {
        return std::string_view(line.text).starts_with(byte_order_mark);
    });
}

// The prefix of the file that the chunks do not see.
std::string_view prefix_of(std::string_view bytes, const std::vector<Chunk>& chunks) {
    if (!bytes.starts_with(byte_order_mark)) return {};
    if (std::any_of(chunks.begin(), chunks.end(), has_byte_order_mark)) return {};
    return byte_order_mark;
}

} // namespace

Result<Updated> apply(const Update& update, std::string_view bytes) {
    if (bytes.size() > largest_file) return too_large("bytes", largest_file);
    const std::string_view prefix = prefix_of(bytes, update.chunks);
    bytes.remove_prefix(prefix.size());
    const std::vector<TextLine> file = lines_of(bytes, most_file_lines + 1);
    if (file.size() > most_file_lines) return too_large("lines", most_file_lines);

    Locator locator(file, update.chunks);
    std::vector<Edit> edits;
    Updated updated;
    for (const Chunk& chunk : update.chunks) {
        edits.push_back(TRY(locator.locate(chunk)));
        updated.matches.push_back({edits.back().begin + 1, edits.back().level});
    }
    // A chunk that adds at the end of the file may stand before other chunks in the patch.
    std::stable_sort(edits.begin(), edits.end(),
                     [](const Edit& a, const Edit& b) { return a.begin < b.begin; });
    Writer writer(file);
    for (const Edit& edit : edits)
        writer.apply(edit);
    updated.bytes = std::string(prefix) + writer.finish();
    return updated;
}

} // namespace ew::patch

#include "patch/match.h"

#include "core/text/canonical.h"
#include "core/text/text.h"

#include <algorithm>

namespace ew::patch {

namespace {

bool is_between(char32_t c, char32_t first, char32_t last) {
    return c >= first && c <= last;
}

// Returns the ASCII character that people often write instead of this one, or NUL.
char folded(char32_t c) {
    if (is_between(c, 0x2010, 0x2015) || c == 0x2212) return '-';
    if (is_between(c, 0x2018, 0x201b)) return '\'';
    if (is_between(c, 0x201c, 0x201f)) return '"';
    if (is_between(c, 0x2002, 0x200a)) return ' ';
    if (c == 0xa0 || c == 0x202f || c == 0x205f || c == 0x3000) return ' ';
    return '\0';
}

bool is_ascii(std::string_view line) {
    return std::all_of(line.begin(), line.end(),
                       [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

std::string folded(std::string_view line) {
    std::string result;
    result.reserve(line.size());
    while (!line.empty()) {
        const core::Character character = core::first_character(line);
        const char plain = character.is_valid ? folded(character.code_point) : '\0';
        if (plain != '\0')
            result += plain;
        else
            result += line.substr(0, character.size);
        line.remove_prefix(character.size);
    }
    return result;
}

// Returns for each number of matched lines how many still match after a mismatch (the failure
// function of Knuth, Morris and Pratt).
std::vector<std::size_t> fallbacks_of(std::span<const std::uint32_t> lines) {
    std::vector<std::size_t> fallbacks(lines.size() + 1, 0);
    std::size_t matched = 0;
    for (std::size_t i = 1; i < lines.size(); ++i) {
        while (matched > 0 && lines[i] != lines[matched])
            matched = fallbacks[matched];
        if (lines[i] == lines[matched]) ++matched;
        fallbacks[i + 1] = matched;
    }
    return fallbacks;
}

// Gives different numbers to different texts, from 1; 0 for a text that is not wanted. It uses a
// binary search and no hash, so nobody can choose texts that make it slow.
class Numbering {
public:
    explicit Numbering(std::vector<std::string_view> wanted) : sorted_(std::move(wanted)) {
        std::sort(sorted_.begin(), sorted_.end());
        sorted_.erase(std::unique(sorted_.begin(), sorted_.end()), sorted_.end());
    }

    std::uint32_t number_of(std::string_view text) const {
        const auto found = std::lower_bound(sorted_.begin(), sorted_.end(), text);
        if (found == sorted_.end() || *found != text) return 0;
        return static_cast<std::uint32_t>(found - sorted_.begin()) + 1;
    }

private:
    std::vector<std::string_view> sorted_;
};

std::size_t likeness(std::string_view a, std::string_view b) {
    const auto in_front = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
    const auto same_in_front = static_cast<std::size_t>(in_front.first - a.begin());
    a.remove_prefix(same_in_front);
    b.remove_prefix(same_in_front);
    const auto behind = std::mismatch(a.rbegin(), a.rend(), b.rbegin(), b.rend());
    return same_in_front + static_cast<std::size_t>(behind.first - a.rbegin());
}

} // namespace

std::string_view compared_on(MatchLevel level, std::string_view line, std::string& storage) {
    switch (level) {
    case MatchLevel::exact: return line;
    case MatchLevel::trailing_blanks: return trimmed_end(line);
    case MatchLevel::both_ends: return trimmed(line);
    case MatchLevel::folded:
    case MatchLevel::canonical: break;
    }
    if (is_ascii(line)) return trimmed(line);
    storage = level == MatchLevel::folded ? folded(line) : folded(core::decomposed(line));
    return trimmed(storage);
}

Searched::Searched(std::span<const TextLine> file, std::vector<std::string_view> wanted)
    : file_(file), wanted_(std::move(wanted)) {}

const NumberedLines& Searched::numbered(MatchLevel level) {
    std::optional<NumberedLines>& known = numbered_[static_cast<std::size_t>(level)];
    if (known) return *known;
    known.emplace();
    std::vector<std::string> storage(wanted_.size());
    std::vector<std::string_view> wanted(wanted_.size());
    for (std::size_t i = 0; i < wanted.size(); ++i)
        wanted[i] = compared_on(level, wanted_[i], storage[i]);
    const Numbering numbering(wanted);
    for (const std::string_view text : wanted)
        known->wanted.push_back(numbering.number_of(text));
    known->file.reserve(file_.size());
    std::string line_storage;
    for (const TextLine& line : file_)
        known->file.push_back(numbering.number_of(compared_on(level, line.text, line_storage)));
    return *known;
}

Result<Places> Searched::places_on(MatchLevel on, WantedLines lines, std::size_t from) {
    Places found = {.level = on};
    if (file_.size() < lines.count || from > file_.size() - lines.count) return found;
    steps_ += file_.size() - from + lines.count;
    if (steps_ > most_steps)
        return Error{ErrorKind::limit, "looking for the chunks of the patch takes too many steps",
                     "apply it as several smaller patches"};
    const NumberedLines& numbers = numbered(on);
    const auto wanted = std::span(numbers.wanted).subspan(lines.first, lines.count);
    const std::vector<std::size_t> fallbacks = fallbacks_of(wanted);
    std::size_t matched = 0;
    for (std::size_t i = from; i < file_.size(); ++i) {
        while (matched > 0 && (matched == lines.count || numbers.file[i] != wanted[matched]))
            matched = fallbacks[matched];
        if (numbers.file[i] == wanted[matched]) ++matched;
        if (matched < lines.count) continue;
        ++found.count;
        if (found.first.size() < most_places) found.first.push_back(i + 1 - lines.count);
    }
    return found;
}

Result<Places> Searched::places(WantedLines lines, std::size_t from) {
    CHECK(lines.count > 0);
    Places found;
    for (std::size_t i = 0; i < match_levels && found.count == 0; ++i)
        found = TRY(places_on(static_cast<MatchLevel>(i), lines, from));
    return found;
}

Result<Places> Searched::place_at_end(WantedLines lines, std::size_t from) {
    if (file_.size() < lines.count || from > file_.size() - lines.count) return Places{};
    return places(lines, file_.size() - lines.count);
}

std::optional<std::size_t> nearest_line(std::span<const TextLine> file, std::string_view wanted) {
    wanted = trimmed(wanted);
    std::size_t best = std::max<std::size_t>(wanted.size() / 2, 1);
    std::optional<std::size_t> nearest;
    for (std::size_t i = 0; i < file.size(); ++i) {
        const std::size_t same = likeness(trimmed(file[i].text), wanted);
        if (same < best || (same == best && nearest)) continue;
        best = same;
        nearest = i;
    }
    return nearest;
}

} // namespace ew::patch

#include "core/output/pattern.h"

#include "build_features.h"
#include "core/text/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#if EXECWARD_HAS_RE2
#include <re2/re2.h>
#endif

namespace ew::core {

namespace {

std::uint64_t line_ends_in(std::string_view bytes) {
    return static_cast<std::uint64_t>(std::count(bytes.begin(), bytes.end(), '\n'));
}

Result<void> check_length(const std::string& pattern) {
    if (!pattern.empty() && pattern.size() <= Pattern::longest) return {};
    return Error{ErrorKind::invalid_params,
                 fmt::format("a pattern has 1 to {} bytes, this one has {}", Pattern::longest,
                             pattern.size())};
}

} // namespace

#if EXECWARD_HAS_RE2

struct Pattern::Regex {
    static constexpr int most_memory = 512 << 10; // bytes

    explicit Regex(const std::string& pattern) : re("(?m:" + pattern + ")", options()) {}

    static RE2::Options options() {
        RE2::Options options;
        options.set_max_mem(most_memory);
        options.set_log_errors(false);
        return options;
    }

    // Returns the first match in bytes [from, end) of the window; what surrounds them counts for ^
    // and the like.
    std::optional<Range> find(std::string_view window, std::size_t from, std::size_t end) const {
        re2::StringPiece match;
        const re2::StringPiece text(window.data(), window.size());
        if (!re.Match(text, from, end, RE2::UNANCHORED, &match, 1)) return std::nullopt;
        return Range{static_cast<std::size_t>(match.data() - window.data()), match.size()};
    }

    RE2 re;
};

Result<Pattern> Pattern::of_regex(const std::string& regex) {
    TRY(check_length(regex));
    Pattern pattern;
    pattern.regex_ = std::make_unique<Regex>(regex);
    if (pattern.regex_->re.ok()) return pattern;
    return Error{ErrorKind::invalid_params,
                 fmt::format("not a regular expression: {}", pattern.regex_->re.error()),
                 "the syntax is RE2's; there are no look-arounds and no back references"};
}

#else

struct Pattern::Regex {
    std::optional<Range> find(std::string_view, std::size_t, std::size_t) const { return {}; }
};

Result<Pattern> Pattern::of_regex(const std::string&) {
    return Error{ErrorKind::invalid_params, "this build has no regular expressions",
                 "wait for a text, or build execward where RE2 is installed"};
}

#endif

Result<Pattern> Pattern::of_text(std::string text) {
    TRY(check_length(text));
    Pattern pattern;
    pattern.text_ = std::move(text);
    return pattern;
}

Pattern::Pattern() = default;
Pattern::Pattern(Pattern&&) noexcept = default;
Pattern& Pattern::operator=(Pattern&&) noexcept = default;
Pattern::~Pattern() = default;

// The library finds the match that begins first. One that ends before it has ended may lie in it,
// so the shortest window with a match is searched for.
std::optional<Pattern::Range> Pattern::find_regex() const {
    const std::size_t from = window_begin_ == 0 ? 0 : 1; // the byte before it counts for ^ only
    std::optional<Range> found = regex_->find(window_, from, window_.size());
    if (!found) return std::nullopt;
    std::size_t without = from; // there is no match in bytes [from, without)
    std::size_t with = found->begin + found->size;
    if (const auto empty = regex_->find(window_, from, from)) return empty;
    while (without + 1 < with) {
        const std::size_t middle = without + (with - without) / 2;
        if (const std::optional<Range> shorter = regex_->find(window_, from, middle)) {
            found = shorter;
            with = shorter->begin + shorter->size;
        } else {
            without = middle;
        }
    }
    return regex_->find(window_, from, with);
}

std::optional<Pattern::Match> Pattern::look_at(std::string_view piece) {
    window_ += piece;
    std::optional<Range> found;
    if (regex_) {
        found = find_regex();
    } else if (const std::size_t at = window_.find(text_); at != std::string::npos) {
        found = {at, text_.size()};
    }
    if (!found) {
        const std::size_t kept = regex_ ? longest + 1 : text_.size() - 1;
        if (window_.size() > kept) forget(window_.size() - kept);
        return std::nullopt;
    }
    const std::string_view window = window_;
    Match match;
    match.offset = window_begin_ + found->begin;
    match.line = lines_before_ + line_ends_in(window.substr(0, found->begin));
    match.text = lossy(window.substr(found->begin, std::min(found->size, longest)));
    return match;
}

void Pattern::forget(std::size_t count) {
    lines_before_ += line_ends_in(std::string_view(window_).substr(0, count));
    window_begin_ += count;
    window_.erase(0, count);
}

} // namespace ew::core

// Finds a text or a regular expression in the output of a process, which comes in pieces. The
// result does not depend on how the output was cut: it is the match that ends first, and among
// those the one that begins first.
#pragma once

#include "base/result.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace ew::core {

class Pattern {
public:
    // The longest pattern, and the longest match that is found for certain if it comes in several
    // pieces. Each piece takes time for its own bytes and at most so many before it.
    static constexpr std::size_t longest = 4096; // bytes

    struct Match {
        std::uint64_t offset = 0; // of its first byte, from the first byte of the first piece
        std::uint64_t line = 0;   // how many line ends come before it in the pieces
        std::string text;
    };

    static Result<Pattern> of_text(std::string text);

    // In the syntax of RE2, which needs linear time. ^ and $ match at lines, and $ also at the end
    // of the output so far. Errors: the syntax; it needs too much memory; there is no RE2 in this
    // build.
    static Result<Pattern> of_regex(const std::string& regex);

    Pattern(Pattern&&) noexcept;
    Pattern& operator=(Pattern&&) noexcept;
    Pattern(const Pattern&) = delete;
    Pattern& operator=(const Pattern&) = delete;
    ~Pattern();

    // Looks at the next piece. Must not be called again after a match.
    std::optional<Match> look_at(std::string_view piece);

private:
    struct Regex; // of the library

    struct Range {
        std::size_t begin = 0; // in window_
        std::size_t size = 0;
    };

    Pattern();

    std::optional<Range> find_regex() const;
    void forget(std::size_t count);

    std::string text_; // empty: regex_ counts
    std::unique_ptr<Regex> regex_;
    std::string window_;             // the last bytes of the output, which a match may begin in
    std::uint64_t window_begin_ = 0; // offset of the first one
    std::uint64_t lines_before_ = 0; // line ends before the window
};

} // namespace ew::core

#include "core/judgement/braces.h"

#include <cstddef>

namespace ew::core {

namespace {

using Words = std::vector<std::string>;

// Appends each alternative to each start.
Words combined(const Words& starts, const Words& alternatives) {
    Words result;
    result.reserve(starts.size() * alternatives.size());
    for (const std::string& start : starts)
        for (const std::string& alternative : alternatives)
            result.push_back(start + alternative);
    return result;
}

class Group {
public:
    Group(std::string_view word, const std::vector<bool>& is_bare, std::size_t at)
        : word_(word), is_bare_(is_bare), at_(at + 1) {}

    // Reads up to the closing brace. Returns nullopt if this is no plain list.
    std::optional<Words> read() {
        Words alternatives(1);
        for (; at_ < word_.size(); ++at_) {
            const char c = is_bare_[at_] ? word_[at_] : '\0';
            if (c == '{') return std::nullopt;
            if (c == '}') break;
            if (c == ',')
                alternatives.emplace_back();
            else
                alternatives.back() += word_[at_];
        }
        if (at_++ == word_.size() || alternatives.size() < 2) return std::nullopt;
        return alternatives;
    }

    std::size_t end() const { return at_; }

private:
    std::string_view word_;
    const std::vector<bool>& is_bare_;
    std::size_t at_;
};

} // namespace

std::optional<Words> expand_braces(std::string_view word, const std::vector<bool>& is_bare,
                                   std::size_t most) {
    Words words(1);
    std::size_t at = 0;
    while (at < word.size()) {
        if (!is_bare[at] || (word[at] != '{' && word[at] != '}')) {
            for (std::string& start : words)
                start += word[at];
            ++at;
            continue;
        }
        if (word[at] == '}') return std::nullopt;
        Group group(word, is_bare, at);
        const std::optional<Words> alternatives = group.read();
        if (!alternatives || alternatives->size() * words.size() > most) return std::nullopt;
        words = combined(words, *alternatives);
        at = group.end();
    }
    return words;
}

} // namespace ew::core

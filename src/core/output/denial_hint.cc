#include "core/output/denial_hint.h"

#include <algorithm>
#include <array>
#include <cstddef>

namespace ew::core {

namespace {

// A word with its failure table (Knuth, Morris, Pratt): the search reads each letter once and
// stores none.
struct Word {
    static constexpr std::size_t longest = 24;

    std::string_view text;
    std::array<std::uint8_t, longest> again = {}; // matches left, by letters matched

    constexpr explicit Word(std::string_view word) : text(word) {
        std::uint8_t fits = 0;
        for (std::size_t i = 1; i < text.size(); ++i) {
            while (fits > 0 && text[i] != text[fits])
                fits = again[fits];
            if (text[i] == text[fits]) ++fits;
            again[i + 1] = fits;
        }
    }

    // Returns the number of matched letters after one more letter. If that is the whole word, the
    // word is found.
    constexpr std::uint8_t next(std::uint8_t fits, char letter) const {
        while (fits > 0 && text[fits] != letter)
            fits = again[fits];
        return text[fits] == letter ? static_cast<std::uint8_t>(fits + 1) : fits;
    }
};

constexpr std::array<Word, 7> words = {Word("operation not permitted"),
                                       Word("permission denied"),
                                       Word("read-only file system"),
                                       Word("seccomp"),
                                       Word("sandbox"),
                                       Word("landlock"),
                                       Word("failed to write file")};

constexpr char in_lower_case(char letter) {
    return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
}

constexpr bool begins_a_word(char letter) {
    return std::any_of(words.begin(), words.end(),
                       [letter](const Word& word) { return word.text.front() == letter; });
}

constexpr auto beginnings = [] {
    std::array<bool, 256> table = {};
    for (std::size_t byte = 0; byte < table.size(); ++byte)
        table[byte] = begins_a_word(in_lower_case(static_cast<char>(byte)));
    return table;
}();

class Search {
public:
    std::optional<std::string_view> find_in(std::string_view piece) {
        for (const char byte : piece) {
            if (is_idle_ && !beginnings[static_cast<unsigned char>(byte)]) continue;
            is_idle_ = true;
            for (std::size_t i = 0; i < words.size(); ++i) {
                fits_[i] = words[i].next(fits_[i], in_lower_case(byte));
                if (fits_[i] == words[i].text.size()) return words[i].text;
                is_idle_ = is_idle_ && fits_[i] == 0;
            }
        }
        return std::nullopt;
    }

private:
    std::array<std::uint8_t, words.size()> fits_ = {}; // letters of each word matched so far
    bool is_idle_ = true;                              // no letter of any word matches
};

} // namespace

std::optional<std::string_view> denial_hint(std::int64_t exit_code, bool is_sandboxed,
                                            std::span<const std::string_view> pieces) {
    if (!is_sandboxed || exit_code == 0) return std::nullopt;
    Search search;
    for (const std::string_view piece : pieces)
        if (const auto word = search.find_in(piece)) return word;
    constexpr std::int64_t killed_by_sigsys = 128 + 31; // a seccomp filter can kill with SIGSYS
    if (exit_code == killed_by_sigsys) return "exit 159";
    return std::nullopt;
}

} // namespace ew::core

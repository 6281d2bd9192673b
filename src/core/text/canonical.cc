#include "core/text/canonical.h"

#include "core/text/decompositions.h"
#include "core/text/text.h"

#include <algorithm>
#include <vector>

namespace ew::core {

namespace {

// The Unicode Standard, 3.12, "Conjoining Jamo Behavior".
constexpr char32_t first_syllable = 0xac00;
constexpr char32_t first_lead = 0x1100;
constexpr char32_t first_vowel = 0x1161;
constexpr char32_t before_first_tail = 0x11a7;
constexpr char32_t vowels = 21;
constexpr char32_t tails = 28; // and none
constexpr char32_t syllables = 19 * vowels * tails;

void append_utf8(std::string& to, char32_t c) {
    const auto add = [&to](char32_t byte) { to.push_back(static_cast<char>(byte)); };
    const auto add_rest = [&](int count) {
        while (count-- > 0)
            add(0x80 | ((c >> (6 * count)) & 0x3f));
    };
    if (c < 0x80) return add(c);
    if (c < 0x800) {
        add(0xc0 | (c >> 6));
        return add_rest(1);
    }
    if (c < 0x10000) {
        add(0xe0 | (c >> 12));
        return add_rest(2);
    }
    add(0xf0 | (c >> 18));
    add_rest(3);
}

void decompose(char32_t c, std::vector<char32_t>& to) {
    if (c >= first_syllable && c < first_syllable + syllables) {
        const char32_t index = c - first_syllable;
        to.push_back(first_lead + index / (vowels * tails));
        to.push_back(first_vowel + index % (vowels * tails) / tails);
        if (index % tails != 0) to.push_back(before_first_tail + index % tails);
        return;
    }
    const Decomposition parts = decomposition_of(c);
    if (parts.character == 0) return to.push_back(c);
    decompose(parts.first, to); // the tables are a few levels deep
    if (parts.second != 0) to.push_back(parts.second);
}

// Characters that follow one another, with marks in their order.
class Run {
public:
    void add(char32_t c) { decompose(c, characters_); }

    void write_to(std::string& out) {
        const auto is_mark = [](char32_t c) { return combining_class(c) != 0; };
        for (auto at = characters_.begin(); at != characters_.end();) {
            const auto first = std::find_if(at, characters_.end(), is_mark);
            at = std::find_if_not(first, characters_.end(), is_mark);
            std::stable_sort(first, at, [](char32_t a, char32_t b) {
                return combining_class(a) < combining_class(b);
            });
        }
        for (const char32_t c : characters_)
            append_utf8(out, c);
        characters_.clear();
    }

private:
    std::vector<char32_t> characters_;
};

} // namespace

std::string decomposed(std::string_view text) {
    std::string out;
    Run run;
    while (!text.empty()) {
        const Character character = first_character(text);
        if (character.is_valid) {
            run.add(character.code_point);
        } else {
            run.write_to(out);
            out.append(text.substr(0, character.size));
        }
        text.remove_prefix(character.size);
    }
    run.write_to(out);
    return out;
}

} // namespace ew::core

#include "core/text/long_words.h"

#include "core/text/continuation.h"

#include <fmt/format.h>

#include <string_view>
#include <utility>

namespace ew::core {

std::string without_middle(std::string text, std::size_t begin, std::size_t end) {
    constexpr std::size_t about = 100; // bytes of the words about it
    if (text.size() <= begin + end + about) return text;
    const auto continues = [&text](std::size_t at) {
        return at < text.size() && continues_character(text[at]);
    };
    std::size_t to = text.size() - end;
    while (begin > 0 && continues(begin))
        --begin;
    while (continues(to))
        ++to;
    return fmt::format("{} … ({} bytes are not shown here) … {}",
                       std::string_view(text).substr(0, begin), to - begin,
                       std::string_view(text).substr(to));
}

std::vector<std::string> shown_words(const std::vector<std::string>& words) {
    constexpr std::size_t shown = 16 << 10; // of each end
    std::vector<std::string> result;
    result.reserve(words.size());
    for (const std::string& word : words)
        result.push_back(word.size() > longest_word ? without_middle(word, shown, shown) : word);
    return result;
}

} // namespace ew::core

#include "core/judgement/rules.h"

#include <algorithm>

namespace ew::core {

namespace {

std::string joined(const Words& words) {
    std::string text;
    for (const std::string& word : words)
        text.append(text.empty() ? "" : " ").append(word);
    return text;
}

Error unsound(std::string message) {
    return {.kind = ErrorKind::config_invalid, .message = std::move(message)};
}

} // namespace

Result<void> check(const PrefixRule& rule) {
    if (rule.prefix.empty())
        return unsound("the prefix is empty: the rule would match every command");
    for (const Words& alternatives : rule.prefix)
        if (alternatives.empty()) return unsound("a word of the prefix has no alternatives");
    for (const std::string& program : rule.prefix.front())
        if (program.empty()) return unsound("the first word of the prefix names no program");
    for (const Words& example : rule.match)
        if (!matches(rule, example))
            return unsound("the example `" + joined(example) + "` of `match` does not match");
    for (const Words& example : rule.not_match)
        if (matches(rule, example))
            return unsound("the example `" + joined(example) + "` of `not_match` matches");
    return {};
}

bool matches(const PrefixRule& rule, const Words& argv) {
    if (rule.prefix.empty() || rule.prefix.size() > argv.size()) return false;
    for (std::size_t i = 0; i < rule.prefix.size(); ++i) {
        const Words& alternatives = rule.prefix[i];
        if (std::find(alternatives.begin(), alternatives.end(), argv[i]) == alternatives.end())
            return false;
    }
    return true;
}

std::string shown(const PrefixRule& rule) {
    Words words;
    for (const Words& alternatives : rule.prefix)
        words.push_back(alternatives.empty() ? std::string() : alternatives.front());
    return joined(words);
}

} // namespace ew::core

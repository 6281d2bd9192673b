// Texts as files of rules: none allows anything unless it is the user's and without a mistake, and
// a rule that is appended and removed again leaves the text as it was.
#include "config/approved_text.h"
#include "config/rule_text.h"
#include "fuzz/scenes.h"

#include <algorithm>

namespace ew::fuzz {

namespace {

using config::RuleText;
using core::Decision;
using core::RuleLayer;

constexpr const char* file = "f.toml";

bool allows(const RuleText& text) {
    return std::any_of(text.rules.begin(), text.rules.end(),
                       [](const auto& rule) { return rule.decision == Decision::allow; });
}

RuleText read(std::string_view text, RuleLayer layer, bool may_allow) {
    RuleText rules = config::read_rules(text, {file, layer, may_allow});
    const auto lines = 1 + std::count(text.begin(), text.end(), '\n');
    for (const toml::Problem& problem : rules.problems) {
        require(!problem.message.empty());
        require(problem.position.line <= lines);
    }
    for (const core::PrefixRule& rule : rules.rules)
        require(!rule.prefix.empty() && rule.layer == layer);
    require(!rules.mistake || !rules.problems.empty());
    // Nothing of the user's is without effect, so any problem may hide a rule.
    require(layer != RuleLayer::user || rules.mistake.has_value() == !rules.problems.empty());
    const bool is_powerful = may_allow && rules.problems.empty() && layer == RuleLayer::user;
    require(is_powerful || !allows(rules));
    return rules;
}

void append_and_remove(const std::string& text) {
    const config::Approval approval = {{"an", "approved", "command"}, "reason"};
    auto longer = config::text_with_rule(text, file, approval);
    if (!longer || !longer->has_value()) return; // a mistake in it, or the rule is there
    require((*longer)->starts_with(text));
    require(read(**longer, RuleLayer::user, true).rules.size() ==
            read(text, RuleLayer::user, true).rules.size() + 1);

    auto shorter = config::text_without_rule(**longer, file, approval.prefix);
    require(shorter && shorter->has_value());
    const bool is_ended = text.empty() || text.ends_with('\n');
    const std::size_t first = text.find('\n');
    const bool is_crlf = first != std::string::npos && first > 0 && text[first - 1] == '\r';
    const std::string line_end = is_crlf ? "\r\n" : "\n";
    require(text.empty() || **shorter == (is_ended ? text : text + line_end));
}

void remove_each(const std::string& text, const RuleText& rules) {
    for (const core::PrefixRule& rule : rules.rules) {
        std::vector<std::string> prefix;
        for (const auto& words : rule.prefix)
            prefix.push_back(words.front());
        auto shorter = config::text_without_rule(text, file, prefix);
        if (!shorter || !shorter->has_value()) continue;
        require((*shorter)->size() < text.size());
        require(read(**shorter, RuleLayer::user, true).problems.empty());
    }
}

} // namespace

void rules(std::string_view input) {
    constexpr std::size_t longest = 1 << 14; // so that the slow way through is quick enough
    if (input.size() > longest) return;
    const std::string text(input);
    (void)read(text, RuleLayer::system, true);
    (void)read(text, RuleLayer::project, true);
    (void)read(text, RuleLayer::user, false);
    append_and_remove(text);
    remove_each(text, read(text, RuleLayer::user, true));
}

} // namespace ew::fuzz

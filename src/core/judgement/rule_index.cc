#include "core/judgement/rule_index.h"

#include "core/judgement/command_safety.h"

namespace ew::core {

RuleIndex::RuleIndex(const RuleSet& rules) : rules_(rules) {
    for (const PrefixRule& rule : rules.rules) {
        if (rule.prefix.empty()) continue;
        ByName& by_name = rule.decision == Decision::allow ? allowing_ : stricter_;
        for (const std::string& program : rule.prefix.front()) {
            Found& found = by_name[base_name(program)];
            if (found.empty() || found.back() != &rule) found.push_back(&rule);
        }
    }
    for (const auto& entry : stricter_)
        names_.push_back(entry.first);
}

const RuleIndex::Found& RuleIndex::allowing(std::string_view program) const {
    const auto at = allowing_.find(program);
    return at == allowing_.end() ? none_ : at->second;
}

const RuleIndex::Found& RuleIndex::stricter(std::string_view program) const {
    const auto at = stricter_.find(program);
    return at == stricter_.end() ? none_ : at->second;
}

} // namespace ew::core

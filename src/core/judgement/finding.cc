#include "core/judgement/finding.h"

#include "core/output/utf8.h"
#include "core/text/display.h"
#include "core/text/long_words.h"

namespace ew::core {

namespace {

std::string quoted(const Words& words) {
    std::string text = shell_quoted(shown_words(words));
    for (std::size_t at = 0; (at = text.find('`', at)) != std::string::npos;)
        text.replace(at, 1, "\\x60");
    return "`" + shortened(text) + "`";
}

// The first alternative of each word.
Words words_of(const PrefixRule& rule) {
    Words words;
    for (const Words& alternatives : rule.prefix)
        words.push_back(alternatives.empty() ? std::string() : alternatives.front());
    return words;
}

std::string place(const PrefixRule& rule) {
    return rule.origin.empty() ? std::string() : " (" + rule.origin + ")";
}

std::string reason_of_rule(const Finding& finding) {
    const PrefixRule& rule = *finding.rule;
    const std::string name = quoted(words_of(rule)) + place(rule);
    if (finding.cause == Cause::possible_rule)
        return "this may be what the rule for " + name + " means, with other words in between";
    const std::string verb = rule.decision == Decision::forbidden ? "forbids" : "asks for";
    if (rule.justification.empty()) return "a rule " + verb + " " + name;
    return rule.justification + " (a rule " + verb + " " + name + ")";
}

} // namespace

bool has_rule(const Finding& finding) {
    return finding.cause == Cause::rule || finding.cause == Cause::possible_rule;
}

std::string why(const Finding& finding, const Part& part) {
    switch (finding.cause) {
    case Cause::rule:
        return finding.rule->origin.empty() ? "rule for " + quoted(words_of(*finding.rule))
                                            : "rule " + finding.rule->origin;
    case Cause::possible_rule:
        return "may be what rule " + quoted(words_of(*finding.rule)) + " means";
    case Cause::known_safe: return "known safe";
    case Cause::dangerous: return "dangerous";
    case Cause::unknown:
        return part.obstacle.empty() ? "not known to be harmless" : "not taken apart";
    case Cause::confinement: return "left to the sandbox and the policy";
    case Cause::too_much: return "too much to compare with the rules";
    case Cause::gap: return "rules are missing";
    }
    return {};
}

std::string reason_of(const Finding& finding, const Part& part, const RuleSet& rules) {
    const std::string command = quoted(part.command.words);
    switch (finding.cause) {
    case Cause::rule:
    case Cause::possible_rule: return reason_of_rule(finding);
    case Cause::dangerous: return command + " destroys what cannot be brought back";
    case Cause::too_much: return "there is too much in it to look at, or to compare with the rules";
    case Cause::gap: return "a rule about " + command + " may be missing: " + rules.gap;
    case Cause::known_safe:
    case Cause::unknown:
    case Cause::confinement: break;
    }
    if (part.obstacle.empty() && !part.is_plain)
        return command +
               " is not known to be harmless, and in a script with variables, conditions, "
               "loops or input from files no rule allows a command";
    if (part.obstacle.empty()) return command + " is not known to be harmless";
    return "the script was not taken apart: " + part.obstacle;
}

} // namespace ew::core

#include "core/judgement/judge.h"

#include "core/judgement/program_options.h"
#include "core/judgement/rule_matching.h"
#include "core/judgement/shell_words.h"
#include "core/judgement/started_commands.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

namespace ew::core {

namespace {

// Returns true if the word is in the text, and is no part of a longer name there.
bool holds_word(std::string_view text, std::string_view word) {
    for (std::size_t at = text.find(word); at != std::string_view::npos;
         at = text.find(word, at + 1)) {
        const std::size_t end = at + word.size();
        if ((at == 0 || !is_name_character(text[at - 1])) &&
            (end == text.size() || !is_name_character(text[end])))
            return true;
    }
    return false;
}

Danger danger_of(const Part& part) {
    std::vector<Words> commands = part.fed;
    commands.push_back(part.command.words);
    if (Words by_program = words_of_program(part); !by_program.empty())
        commands.push_back(std::move(by_program));
    const Danger danger = danger_in(commands);
    return danger == Danger::none && !part.is_fed_whole ? Danger::possible : danger;
}

// The author of a rule for more than a bare program knew the danger.
bool covers_danger(const PrefixRule& rule) {
    return rule.prefix.size() > 1 && !is_launcher(rule.prefix.front().front());
}

} // namespace

Finding Judge::find(const Part& part) {
    const RuleMatches matches = find_rules(part, index_, trust_);
    if (matches.strict && !matches.is_possible_only)
        return {matches.strict->decision, Cause::rule, matches.strict};
    if (matches.strict) return {Decision::prompt, Cause::possible_rule, matches.strict};
    if (matches.is_unsettled || may_be_banned(part)) return {Decision::prompt, Cause::too_much};
    const Danger danger = danger_of(part);
    if (matches.allow && part.is_plain && !judged_.has_own_environment &&
        (danger == Danger::none || covers_danger(*matches.allow)))
        return {Decision::allow, Cause::rule, matches.allow, is_safe(part)};
    return by_heuristic(part, danger);
}

// Words that are not known may be those of a rule that the rest of the call speaks of, behind a
// program that may start them: tool $(echo git push)
bool Judge::may_be_banned(const Part& part) {
    const auto& [words, has_glob, written, reads_pipe] = part.command;
    if (part.is_plain || index_.stricter_names().empty() || is_safe(part)) return false;
    for (std::size_t i = 0; i < words.size(); ++i)
        if (has_glob[i] && words[i] == "*") return speaks_of_rule();
    return false;
}

// Returns true if all words of a rule that asks or forbids are written somewhere in the call.
bool Judge::speaks_of_rule() {
    if (speaks_of_rule_) return *speaks_of_rule_;
    std::string text;
    for (const Part& part : parts_)
        for (const std::string& word : part.command.words)
            text.append(word).push_back('\n');
    const auto is_written = [&](const Words& alternatives) {
        return std::ranges::any_of(alternatives, [&](std::string_view word) {
            return !index_.spend(text.size()) || holds_word(text, base_name(word));
        });
    };
    speaks_of_rule_ = std::ranges::any_of(index_.stricter_names(), [&](std::string_view name) {
        return std::ranges::any_of(index_.stricter(name), [&](const PrefixRule* rule) {
            return std::ranges::all_of(rule->prefix, is_written);
        });
    });
    return *speaks_of_rule_;
}

bool Judge::is_safe(const Part& part) const {
    if (!part.obstacle.empty() || !part.command.written.empty() || has_own_environment_)
        return false;
    return is_known_safe(part.command, [&](std::string_view word) {
        if (word != part.command.words.front()) return is_straight_path(word) && trust_(word);
        return (part.is_in_shell && is_shell_builtin(word)) || is_trusted_start(part, trust_);
    });
}

bool Judge::wants_more() const {
    return judged_.permissions != SandboxPermissions::use_default && judged_.is_confined;
}

Finding Judge::by_heuristic(const Part& part, Danger danger) const {
    const bool asks_when_unknown = judged_.policy == ApprovalPolicy::untrusted;
    const bool never_asks = judged_.policy == ApprovalPolicy::never;
    if (is_safe(part)) return {Decision::allow, Cause::known_safe};
    if (danger == Danger::certain)
        return {never_asks ? Decision::forbidden : Decision::prompt, Cause::dangerous};
    if (danger == Danger::possible) return {Decision::prompt, Cause::too_much};
    if (!rules_.gap.empty()) return {Decision::prompt, Cause::gap};
    if (asks_when_unknown) return {Decision::prompt, Cause::unknown};
    return {Decision::allow, wants_more() ? Cause::unknown : Cause::confinement};
}

} // namespace ew::core

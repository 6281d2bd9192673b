#include "report/suggestions.h"

#include "core/judgement/further_words.h"
#include "json/strings.h"
#include "report/wording.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <utility>

namespace ew::report {

namespace {

using core::Words;

core::JudgedCommand judged(const Seen& seen) {
    core::JudgedCommand command;
    command.argv = seen.argv;
    command.policy = core::ApprovalPolicy::untrusted;
    command.workspace_roots = {seen.directory};
    command.workdir = seen.directory;
    return command;
}

std::vector<const JudgedLine*> open_ones(const std::vector<JudgedLine>& lines) {
    std::vector<const JudgedLine*> open;
    for (const JudgedLine& line : lines)
        if (line.judgement.decision == core::Decision::prompt) open.push_back(&line);
    return open;
}

bool begins_with(const Words& words, const Words& prefix) {
    return words.size() >= prefix.size() && std::equal(prefix.begin(), prefix.end(), words.begin());
}

// Returns the shortest words that a rule may consist of and that cover this command. Returns no
// words if there are none.
Words prefix_for(const core::Part& part) {
    if (!part.obstacle.empty()) return {};
    const Words& words = part.command.words;
    for (std::size_t count = 1; count <= words.size(); ++count) {
        Words prefix(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(count));
        if (core::can_be_approved(prefix) && core::continues_harmlessly(prefix, part.command))
            return prefix;
    }
    return {};
}

// The words of the rules to try, with the number of questions about commands that they begin.
std::vector<Words> prefixes_to_try(const std::vector<const JudgedLine*>& open) {
    std::map<Words, std::uint64_t> asked;
    for (const JudgedLine* const line : open)
        for (const core::Part& part : line->parts)
            if (Words prefix = prefix_for(part); line->seen.asked > 0 && !prefix.empty())
                asked[std::move(prefix)] += line->seen.asked;
    std::vector<std::pair<std::uint64_t, Words>> sorted;
    for (const auto& [prefix, count] : asked)
        if (count >= least_saved) sorted.emplace_back(count, prefix);
    std::ranges::stable_sort(sorted, std::greater(), [](const auto& one) { return one.first; });
    if (sorted.size() > most_tried) sorted.resize(most_tried);
    std::vector<Words> prefixes;
    prefixes.reserve(sorted.size());
    for (auto& [count, prefix] : sorted)
        prefixes.push_back(std::move(prefix));
    return prefixes;
}

core::PrefixRule rule_of(const Words& prefix) {
    core::PrefixRule rule;
    for (const std::string& word : prefix)
        rule.prefix.push_back({word});
    rule.decision = core::Decision::allow;
    rule.further = core::FurtherWords::harmless;
    rule.origin = "suggestion";
    return rule;
}

// Returns why a rule that newly allows this command is refused.
std::string obstacle_in(const JudgedLine& line) {
    for (const core::Part& part : line.parts)
        if (core::is_dangerous(part.command.words))
            return fmt::format("it would also allow `{}`, which destroys data",
                               typed_text(line.seen.argv));
    if (line.seen.was_denied)
        return fmt::format("it would also allow `{}`, which was denied",
                           typed_text(line.seen.argv));
    return {};
}

bool concerns(const JudgedLine& line, const Words& prefix) {
    return std::any_of(line.parts.begin(), line.parts.end(), [&](const core::Part& part) {
        return begins_with(part.command.words, prefix);
    });
}

Suggestion tried(const Words& prefix, const std::vector<const JudgedLine*>& open,
                 const core::RuleSet& rules, const core::ProgramTrust& trust) {
    core::RuleSet more = rules;
    more.rules.push_back(rule_of(prefix));
    Suggestion suggestion;
    suggestion.prefix = prefix;
    if (core::is_dangerous(prefix)) suggestion.obstacle = "it destroys data";
    for (const JudgedLine* const line : open) {
        if (!concerns(*line, prefix)) continue;
        if (core::judge(judged(line->seen), more, trust).decision != core::Decision::allow)
            continue;
        suggestion.saved += line->seen.asked;
        suggestion.commands.push_back(line->seen.argv);
        if (suggestion.obstacle.empty()) suggestion.obstacle = obstacle_in(*line);
    }
    return suggestion;
}

bool is_covered(const Seen& seen, const std::vector<Suggestion>& rules) {
    return std::any_of(rules.begin(), rules.end(), [&](const Suggestion& rule) {
        return std::find(rule.commands.begin(), rule.commands.end(), seen.argv) !=
               rule.commands.end();
    });
}

std::vector<Unsolved> unsolved_of(const std::vector<const JudgedLine*>& open,
                                  const Suggestions& found) {
    std::map<Words, std::uint64_t> asked; // in whatever directory
    for (const JudgedLine* const line : open)
        if (!is_covered(line->seen, found.rules)) asked[line->seen.argv] += line->seen.asked;
    std::vector<Unsolved> unsolved;
    for (const auto& [argv, count] : asked)
        if (count >= least_saved) unsolved.push_back({argv, count});
    std::ranges::stable_sort(unsolved, std::greater(), &Unsolved::asked);
    return unsolved;
}

void count(const Command& command, Seen& seen) {
    for (const Question& question : command.questions)
        if (question.kind == "command" && question.answer && is_approval(*question.answer))
            ++seen.asked;
    if (outcome_of(command) == Outcome::denied) seen.was_denied = true;
}

bool is_matched(const core::PrefixRule& rule, const std::vector<JudgedLine>& lines) {
    return std::any_of(lines.begin(), lines.end(), [&](const JudgedLine& line) {
        return std::any_of(line.parts.begin(), line.parts.end(), [&](const core::Part& part) {
            return core::matches(rule, part.command.words);
        });
    });
}

bool was_edited(const Command& command) {
    return std::any_of(command.questions.begin(), command.questions.end(), [](const auto& one) {
        return one.answer && one.answer->decision == "edited";
    });
}

bool is_about_patch(const Command& command) {
    return !command.questions.empty() && command.questions.front().kind == "patch";
}

} // namespace

std::vector<Seen> seen_in(const std::vector<Command>& commands) {
    std::map<std::pair<std::string, std::string>, Seen> seen;
    for (const Command& command : commands) {
        if (was_edited(command) || is_about_patch(command)) continue;
        std::optional<Words> argv = json::strings_from_json(command.argv);
        if (!argv || argv->empty()) continue; // it was cut
        Seen& one = seen[{command.argv, command.directory}];
        one.argv = std::move(*argv);
        one.directory = command.directory;
        count(command, one);
    }
    std::vector<Seen> list;
    list.reserve(seen.size());
    for (auto& [key, one] : seen)
        list.push_back(std::move(one));
    return list;
}

std::vector<JudgedLine> judged_lines(std::vector<Seen> seen, const core::RuleSet& rules,
                                     const core::ProgramTrust& trust) {
    std::vector<JudgedLine> lines;
    for (Seen& one : seen) {
        const core::JudgedCommand command = judged(one);
        lines.push_back(
            {std::move(one), core::judge(command, rules, trust), core::take_apart(command, trust)});
    }
    return lines;
}

std::vector<core::PrefixRule> unused_rules(const std::vector<JudgedLine>& lines,
                                           const core::RuleSet& rules,
                                           const std::set<std::string>& named) {
    std::set<std::string> used = named;
    for (const JudgedLine& line : lines)
        for (const core::CommandVerdict& verdict : line.judgement.commands)
            used.insert(verdict.rule_origin);
    std::vector<core::PrefixRule> unused;
    for (const core::PrefixRule& rule : rules.rules)
        if (!used.contains(rule.origin) && !is_matched(rule, lines)) unused.push_back(rule);
    return unused;
}

Suggestions suggestions_for(const std::vector<JudgedLine>& lines, const core::RuleSet& rules,
                            const core::ProgramTrust& trust) {
    const std::vector<const JudgedLine*> open = open_ones(lines);
    Suggestions found;
    for (const Words& prefix : prefixes_to_try(open)) {
        Suggestion suggestion = tried(prefix, open, rules, trust);
        if (suggestion.saved < least_saved) continue;
        auto& list = suggestion.obstacle.empty() ? found.rules : found.refused;
        list.push_back(std::move(suggestion));
    }
    for (std::vector<Suggestion>* list : {&found.rules, &found.refused})
        std::ranges::stable_sort(*list, std::greater(), &Suggestion::saved);
    found.unsolved = unsolved_of(open, found);
    return found;
}

} // namespace ew::report

#include "core/rule_matching.h"

#include <algorithm>

namespace ew::core {

namespace {

bool holds(const Words& words, std::string_view word) {
    return std::find(words.begin(), words.end(), word) != words.end();
}

// A rule for git is one for /usr/bin/git and ./git, when it makes things stricter.
bool is_same_program(const Words& alternatives, std::string_view word) {
    return std::any_of(alternatives.begin(), alternatives.end(),
                       [&](const std::string& name) { return base_name(name) == base_name(word); });
}

bool matches_strictly(const PrefixRule& rule, const Words& words) {
    if (rule.prefix.empty() || rule.prefix.size() > words.size()) return false;
    if (!is_same_program(rule.prefix.front(), words.front())) return false;
    for (std::size_t i = 1; i < rule.prefix.size(); ++i)
        if (!holds(rule.prefix[i], words[i])) return false;
    return true;
}

bool is_pattern(std::string_view word) {
    return literal_start(word).size() < word.size();
}

// Could a pattern among the first words become the rest of the prefix?
bool could_match_by_pattern(const PrefixRule& rule, const Words& words) {
    for (std::size_t i = 0; i < rule.prefix.size() && i < words.size(); ++i) {
        const Words& alternatives = rule.prefix[i];
        const std::string_view word = i == 0 ? base_name(words[i]) : std::string_view(words[i]);
        if (is_pattern(word))
            return std::any_of(
                alternatives.begin(), alternatives.end(), [&](std::string_view alternative) {
                    const std::string_view whole = i == 0 ? base_name(alternative) : alternative;
                    return whole.starts_with(literal_start(word));
                });
        const bool is_met =
            i == 0 ? is_same_program(alternatives, word) : holds(alternatives, word);
        if (!is_met) return false;
    }
    return false;
}

// The words of the prefix are there in order, and where another stands in between, an option
// begins: `git -C sub push` for a rule about `git push`.
bool matches_around_options(const PrefixRule& rule, const Words& words) {
    if (rule.prefix.empty() || !is_same_program(rule.prefix.front(), words.front())) return false;
    std::size_t at = 1;
    for (std::size_t i = 1; i < rule.prefix.size(); ++i, ++at) {
        if (at >= words.size()) return false;
        if (holds(rule.prefix[i], words[at])) continue;
        if (!words[at].starts_with('-')) return false;
        while (at < words.size() && !holds(rule.prefix[i], words[at]))
            ++at;
        if (at >= words.size()) return false;
    }
    return true;
}

bool is_allowed_path(const RuleSet& rules, const std::string& path, const ProgramTrust& trust) {
    const std::string_view name = base_name(path);
    for (const HostExecutable& executable : rules.host_executables)
        if (executable.name == name) return holds(executable.paths, path);
    return is_straight_path(path) && trust(path);
}

bool matches_to_the_letter(const PrefixRule& rule, const Part& part, const RuleSet& rules,
                           const ProgramTrust& trust) {
    const auto& [words, has_glob] = part.command;
    if (rule.prefix.empty() || rule.prefix.size() > words.size()) return false;
    const auto checked = has_glob.begin() + static_cast<std::ptrdiff_t>(rule.prefix.size());
    if (std::find(has_glob.begin(), checked, true) != checked) return false;
    if (matches(rule, words)) return true;
    const std::string& path = words.front();
    if (!path.starts_with('/') || !is_allowed_path(rules, path, trust)) return false;
    Words by_name = words;
    by_name.front() = base_name(path);
    return matches(rule, by_name);
}

// Stricter, or as strict and longer.
bool is_better(const PrefixRule& rule, const PrefixRule* best) {
    if (!best) return true;
    if (rule.decision != best->decision) return rule.decision > best->decision;
    return rule.prefix.size() > best->prefix.size();
}

std::vector<Words> ways_to_read(const Words& words) {
    std::vector<Words> all = with_started_commands(words);
    const std::size_t count = all.size();
    for (std::size_t i = 0; i < count; ++i) {
        Words git = git_without_options(all[i]);
        if (!git.empty() && git.size() != all[i].size()) all.push_back(std::move(git));
    }
    return all;
}

bool can_match_possibly(const PrefixRule& rule, const Part& part,
                        const std::vector<Words>& commands) {
    const auto& has_glob = part.command.has_glob;
    const bool has_pattern = std::find(has_glob.begin(), has_glob.end(), true) != has_glob.end();
    return std::any_of(commands.begin(), commands.end(), [&](const Words& words) {
        // Of git it is known which words are its options, and it is here without them too.
        const bool is_read_without =
            git_without_options(words).size() < words.size() && !git_without_options(words).empty();
        return (!is_read_without && matches_around_options(rule, words)) ||
               (has_pattern && could_match_by_pattern(rule, words));
    });
}

} // namespace

RuleMatches find_rules(const Part& part, const RuleSet& rules, const ProgramTrust& trust) {
    RuleMatches found;
    const PrefixRule* possible = nullptr;
    std::vector<Words> commands = ways_to_read(part.command.words);
    commands.insert(commands.end(), part.inner_shells.begin(), part.inner_shells.end());
    const bool can_be_allowed = part.obstacle.empty() && !part.has_left_workspace;
    for (const PrefixRule& rule : rules.rules) {
        if (rule.decision == Decision::allow) {
            const bool has_effect =
                rule.layer == RuleLayer::user || rule.layer == RuleLayer::session;
            if (can_be_allowed && has_effect && is_better(rule, found.allow) &&
                matches_to_the_letter(rule, part, rules, trust))
                found.allow = &rule;
            continue;
        }
        const bool is_met = std::any_of(commands.begin(), commands.end(), [&](const Words& words) {
            return matches_strictly(rule, words);
        });
        if (is_met && is_better(rule, found.strict))
            found.strict = &rule;
        else if (!is_met && is_better(rule, possible) && can_match_possibly(rule, part, commands))
            possible = &rule;
    }
    if (!found.strict && possible) {
        found.strict = possible;
        found.is_possible_only = true;
    }
    return found;
}

} // namespace ew::core

#include "core/judgement/rule_matching.h"

#include "core/judgement/program_options.h"
#include "core/judgement/safe_git.h"

#include <algorithm>

namespace ew::core {

namespace {

bool holds(const Words& words, std::string_view word) {
    return std::find(words.begin(), words.end(), word) != words.end();
}

// For stricter decisions, a rule for git also applies to /usr/bin/git and ./git.
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

// Returns true if a pattern among the first words could expand to the rest of the prefix.
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

// Returns true if the words contain the prefix in order, and each gap between them begins with an
// option: `git -C sub push` matches a rule about `git push`.
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

// Returns true if the path may replace its bare name. The file behind a listed path must have that
// name, be listed or be trusted.
bool is_allowed_path(const RuleSet& rules, const Part& part, const ProgramTrust& trust) {
    const std::string& path = part.command.words.front();
    const std::string_view name = base_name(path);
    for (const HostExecutable& executable : rules.host_executables) {
        if (executable.name != name) continue;
        const std::string& program = part.program;
        return holds(executable.paths, path) &&
               (program.empty() || base_name(program) == name || trust(program) ||
                holds(executable.paths, program));
    }
    return is_trusted_start(part, trust);
}

bool matches_to_the_letter(const PrefixRule& rule, const Part& part, const RuleSet& rules,
                           const ProgramTrust& trust) {
    const auto& [words, has_glob] = part.command;
    if (rule.prefix.empty() || rule.prefix.size() > words.size()) return false;
    const auto checked = has_glob.begin() + static_cast<std::ptrdiff_t>(rule.prefix.size());
    if (std::find(has_glob.begin(), checked, true) != checked) return false;
    if (matches(rule, words)) return true;
    const std::string& path = words.front();
    if (!path.starts_with('/') || !is_allowed_path(rules, part, trust)) return false;
    Words by_name = words;
    by_name.front() = base_name(path);
    return matches(rule, by_name);
}

// Returns true if the rule is stricter, or equally strict and longer.
bool is_better(const PrefixRule& rule, const PrefixRule* best) {
    if (!best) return true;
    if (rule.decision != best->decision) return rule.decision > best->decision;
    return rule.prefix.size() > best->prefix.size();
}

void add_git_without_options(std::vector<Words>& all) {
    const std::size_t count = all.size();
    for (std::size_t i = 0; i < count; ++i) {
        Words git = git_without_options(all[i]);
        if (!git.empty() && git.size() != all[i].size()) all.push_back(std::move(git));
    }
}

// The commands that a part runs.
struct Readings {
    std::vector<Words> commands; // the command itself, and the commands that it visibly starts
    std::vector<Words> possible; // commands that it may start if it has unknown options
    bool has_alias = false;      // git subcommands may be redefined
};

Readings readings_of(const Part& part) {
    Readings readings;
    readings.commands = with_started_commands(part.command.words);
    if (const Words words = words_of_program(part); !words.empty())
        for (Words& command : with_started_commands(words))
            readings.commands.push_back(std::move(command));
    readings.commands.insert(readings.commands.end(), part.fed.begin(), part.fed.end());
    readings.possible = possible_starts(readings.commands);
    add_git_without_options(readings.commands);
    add_git_without_options(readings.possible);
    readings.commands.insert(readings.commands.end(), part.inner_shells.begin(),
                             part.inner_shells.end());
    const Words& words = part.command.words;
    readings.has_alias = std::any_of(words.begin(), words.end(), holds_alias);
    return readings;
}

bool matches_one(const PrefixRule& rule, const std::vector<Words>& commands) {
    return std::any_of(commands.begin(), commands.end(),
                       [&](const Words& words) { return matches_strictly(rule, words); });
}

bool is_about_aliased_git(const PrefixRule& rule, const Readings& readings) {
    return readings.has_alias && is_same_program(rule.prefix.front(), "git") &&
           std::any_of(readings.commands.begin(), readings.commands.end(),
                       [](const Words& words) { return base_name(words.front()) == "git"; });
}

// xargs and parallel append words to the command, or replace {} by them.
bool could_be_completed(const PrefixRule& rule, const Words& words) {
    if (words.empty() || !is_same_program(rule.prefix.front(), words.front())) return false;
    for (std::size_t i = 1; i < rule.prefix.size() && i < words.size(); ++i) {
        if (words[i].find('{') != std::string::npos) return true;
        if (!holds(rule.prefix[i], words[i])) return false;
    }
    return words.size() < rule.prefix.size();
}

bool is_completed_later(const PrefixRule& rule, const std::vector<Words>& commands) {
    for (std::size_t i = 0; i + 1 < commands.size(); ++i)
        if (is_listed("xargs parallel", base_name(commands[i].front())) &&
            could_be_completed(rule, commands[i + 1]))
            return true;
    return false;
}

bool can_match_possibly(const PrefixRule& rule, const Part& part, const Readings& readings) {
    if (rule.prefix.empty()) return false;
    const std::vector<Words>& commands = readings.commands;
    if (matches_one(rule, readings.possible) || is_about_aliased_git(rule, readings) ||
        is_completed_later(rule, commands))
        return true;
    const auto& has_glob = part.command.has_glob;
    const bool has_pattern = std::find(has_glob.begin(), has_glob.end(), true) != has_glob.end();
    return std::any_of(commands.begin(), commands.end(), [&](const Words& words) {
        // The options of git are known, so its words are also examined without them.
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
    const Readings readings = readings_of(part);
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
        const bool is_met = matches_one(rule, readings.commands);
        if (is_met && is_better(rule, found.strict))
            found.strict = &rule;
        else if (!is_met && is_better(rule, possible) && can_match_possibly(rule, part, readings))
            possible = &rule;
    }
    if (!found.strict && possible) {
        found.strict = possible;
        found.is_possible_only = true;
    }
    return found;
}

} // namespace ew::core

#include "core/judgement/rule_matching.h"

#include "core/judgement/further_words.h"
#include "core/judgement/literal_commands.h"
#include "core/judgement/program_options.h"
#include "core/judgement/readings.h"
#include "core/judgement/safe_git.h"

#include <algorithm>
#include <span>

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

using WordSpan = std::span<const std::string>;

bool matches_strictly(const PrefixRule& rule, WordSpan words) {
    if (rule.prefix.size() > words.size()) return false;
    if (!is_same_program(rule.prefix.front(), words.front())) return false;
    for (std::size_t i = 1; i < rule.prefix.size(); ++i)
        if (!holds(rule.prefix[i], words[i])) return false;
    return true;
}

// Returns true if the shell could replace the word by names of files.
bool is_pattern(std::string_view word) {
    const std::size_t open = word.find('[');
    return word.find_first_of("*?") != std::string_view::npos ||
           (open != std::string_view::npos && word.find(']', open) != std::string_view::npos);
}

// Returns true if the pattern could stand for the name. [ and what follows count as any text.
bool expands_to(std::string_view pattern, std::string_view name) {
    if (pattern.empty()) return name.empty();
    if (pattern.front() == '*')
        return expands_to(pattern.substr(1), name) ||
               (!name.empty() && expands_to(pattern, name.substr(1)));
    if (name.empty()) return false;
    if (pattern.front() == '[') return true; // shells differ in where it ends
    return (pattern.front() == '?' || pattern.front() == name.front()) &&
           expands_to(pattern.substr(1), name.substr(1));
}

bool could_become(std::string_view pattern, std::string_view name) {
    constexpr std::size_t longest = 64; // a longer one may take very long to compare
    if (pattern.size() > longest || name.size() > longest || std::ranges::count(pattern, '*') > 3)
        return name.starts_with(literal_start(pattern));
    return expands_to(pattern, name);
}

// Returns true if a pattern among the words behind the program could expand to the rest of the
// prefix.
bool could_match_by_pattern(const PrefixRule& rule, WordSpan words) {
    for (std::size_t i = 1; i < rule.prefix.size() && i < words.size(); ++i) {
        const Words& alternatives = rule.prefix[i];
        const std::string_view word = words[i];
        if (is_pattern(word))
            return std::any_of(
                alternatives.begin(), alternatives.end(),
                [&](std::string_view alternative) { return could_become(word, alternative); });
        if (!holds(alternatives, word)) return false;
    }
    return false;
}

bool may_hold(const Words& alternatives, const std::string& word) {
    return holds(alternatives, word) ||
           (is_pattern(word) && std::ranges::any_of(alternatives, [&](std::string_view name) {
                return could_become(word, name);
            }));
}

// Returns true if the words contain the prefix in order, and each gap between them begins with an
// option: `git -C sub push` matches a rule about `git push`.
bool matches_around_options(const PrefixRule& rule, WordSpan words) {
    std::size_t at = 1;
    for (std::size_t i = 1; i < rule.prefix.size(); ++i, ++at) {
        if (at >= words.size()) return false;
        if (may_hold(rule.prefix[i], words[at])) continue;
        if (!words[at].starts_with('-')) return false;
        while (at < words.size() && !may_hold(rule.prefix[i], words[at]))
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

bool accepts_further_words(const PrefixRule& rule, const ShellCommand& command) {
    if (rule.further == FurtherWords::any || rule.prefix.size() == command.words.size())
        return true;
    const auto own = static_cast<std::ptrdiff_t>(rule.prefix.size());
    return continues_harmlessly({command.words.begin(), command.words.begin() + own}, command);
}

// Returns true if the program that runs is the one that the rule means. A person who writes a path
// into a rule means what is there, whatever it is.
bool is_meant_program(const PrefixRule& rule, const RuleSet& rules, const Part& part,
                      const ProgramTrust& trust) {
    const std::string& word = part.command.words.front();
    const bool is_path = word.find('/') != std::string::npos;
    if (part.is_elsewhere || (is_path && rule.further == FurtherWords::any)) return true;
    if (part.is_in_shell && is_shell_builtin(word)) return true;
    return is_trusted_start(part, trust) ||
           std::any_of(rules.host_executables.begin(), rules.host_executables.end(),
                       [&](const HostExecutable& executable) {
                           return executable.name == word && holds(executable.paths, part.program);
                       });
}

bool matches_to_the_letter(const PrefixRule& rule, const Part& part, const RuleSet& rules,
                           const ProgramTrust& trust) {
    const Words& words = part.command.words;
    const std::vector<bool>& has_glob = part.command.has_glob;
    if (rule.prefix.empty() || rule.prefix.size() > words.size()) return false;
    const auto checked = has_glob.begin() + static_cast<std::ptrdiff_t>(rule.prefix.size());
    if (std::find(has_glob.begin(), checked, true) != checked) return false;
    if (matches(rule, words))
        return is_meant_program(rule, rules, part, trust) &&
               accepts_further_words(rule, part.command);
    const std::string& path = words.front();
    if (!path.starts_with('/') || !is_allowed_path(rules, part, trust)) return false;
    ShellCommand by_name = part.command;
    by_name.words.front() = base_name(path);
    return matches(rule, by_name.words) && accepts_further_words(rule, by_name);
}

// Returns true if the rule is stricter, or equally strict and longer.
bool is_better(const PrefixRule& rule, const PrefixRule* best) {
    if (!best) return true;
    if (rule.decision != best->decision) return rule.decision > best->decision;
    return rule.prefix.size() > best->prefix.size();
}

std::size_t weight_of(const PrefixRule& rule) {
    std::size_t weight = 0;
    for (const Words& alternatives : rule.prefix)
        weight += alternatives.size();
    return weight;
}

// Finds the rules that ask or forbid.
class StrictSearch {
public:
    StrictSearch(const Part& part, RuleIndex& index, const ProgramTrust& trust)
        : readings_(readings_of(part, trust)), index_(index) {}

    void search(RuleMatches& found) {
        for (std::size_t i = 0; i < readings_.commands.size() && is_within_; ++i)
            compare(i);
        for (const Words& words : readings_.behind)
            compare_behind(words);
        found.strict = strict_ ? strict_ : possible_;
        found.is_possible_only = !strict_ && possible_;
        found.is_unsettled = !is_within_ || !readings_.is_whole;
    }

private:
    bool spend(std::size_t words) {
        is_within_ = is_within_ && index_.spend(words);
        return is_within_;
    }

    static void take(const PrefixRule& rule, const PrefixRule*& best) {
        if (is_better(rule, best)) best = &rule;
    }

    void compare(std::size_t at) {
        const Words& words = readings_.commands[at];
        const std::string_view name = base_name(words.front());
        if (name == unknown_program) return compare_unknown(words);
        if (readings_.has_pattern && is_pattern(name)) return compare_pattern(words);
        // The options of git are known, so its words are also examined without them.
        const Words without = git_without_options(words);
        const bool is_read_without = !without.empty() && without.size() < words.size();
        for (const PrefixRule* rule : index_.stricter(name)) {
            if (!spend(weight_of(*rule))) return;
            if (matches_strictly(*rule, words)) {
                take(*rule, strict_);
                continue;
            }
            if (!is_better(*rule, possible_) || (!is_read_without && !spend(words.size())))
                continue;
            if ((name == "git" && readings_.has_alias) ||
                (!is_read_without && matches_around_options(*rule, words)) ||
                (readings_.has_pattern && could_match_by_pattern(*rule, words)))
                take(*rule, possible_);
        }
    }

    // The program is computed, as in $x push. A rule for the bare program counts if its name is
    // written anywhere.
    void compare_unknown(const Words& words) {
        for (const std::string_view name : index_.stricter_names()) {
            if (!spend(words.size())) return;
            Words by_name = words;
            by_name.front() = name;
            compare_start(by_name, is_written(name) ? 1 : 2);
        }
    }

    bool is_written(std::string_view name) {
        return std::ranges::any_of(readings_.commands, [&](const Words& words) {
            return spend(words.size()) && std::ranges::any_of(words, [&](std::string_view word) {
                       return base_name(word) == name;
                   });
        });
    }

    // The program is a pattern, as in g?t push.
    void compare_pattern(const Words& words) {
        const std::string_view pattern = base_name(words.front());
        for (const std::string_view name : index_.stricter_names()) {
            if (!spend(1 + pattern.size())) return;
            if (!could_become(pattern, name)) continue;
            Words by_name = words;
            by_name.front() = name;
            compare_start(by_name);
            if (words.size() == 1 && pattern == "*") compare_several(name);
        }
    }

    // The word may become all words of a command.
    void compare_several(std::string_view name) {
        for (const PrefixRule* rule : index_.stricter(name))
            if (spend(1) && is_better(*rule, possible_)) take(*rule, possible_);
    }

    void compare_behind(const Words& words) {
        for (std::size_t i = 0; i < words.size() && spend(1); ++i) {
            const WordSpan start = WordSpan(words).subspan(i);
            compare_start(start);
            const std::string& word = words[i];
            if (word.size() < 3 || word.front() != '-') continue;
            const WordSpan near = start.first(std::min(start.size(), longest_start));
            Words attached(near.begin(), near.end());
            attached.front().erase(0, 2); // the value of a short option
            compare_start(attached);
        }
    }

    // Looks for a command that may begin here, with rules of at least so many words.
    void compare_start(WordSpan words, std::size_t least = 1) {
        const std::string_view name = base_name(words.front());
        const RuleIndex::Found& rules = index_.stricter(name);
        if (rules.empty()) return;
        const WordSpan start = words.first(std::min(words.size(), longest_start));
        const Words without = git_without_options({start.begin(), start.end()});
        for (const PrefixRule* rule : rules) {
            if (!spend(weight_of(*rule) + start.size())) return;
            if (!is_better(*rule, possible_) || rule->prefix.size() < least) continue;
            if (matches_strictly(*rule, start) ||
                (without.empty() ? matches_around_options(*rule, start)
                                 : matches_strictly(*rule, without)))
                take(*rule, possible_);
        }
    }

    static constexpr std::size_t longest_start = 32; // words of a possible command

    const Readings readings_;
    RuleIndex& index_;
    const PrefixRule* strict_ = nullptr;
    const PrefixRule* possible_ = nullptr;
    bool is_within_ = true; // the bound on comparisons
};

} // namespace

RuleMatches find_rules(const Part& part, RuleIndex& index, const ProgramTrust& trust) {
    RuleMatches found;
    if (!index.stricter_names().empty()) StrictSearch(part, index, trust).search(found);
    if (!part.obstacle.empty() || part.has_left_workspace) return found;
    for (const PrefixRule* rule : index.allowing(base_name(part.command.words.front()))) {
        const bool has_effect = rule->layer == RuleLayer::user || rule->layer == RuleLayer::session;
        if (!has_effect || !is_better(*rule, found.allow)) continue;
        if (!index.spend(weight_of(*rule))) {
            found.is_unsettled = true;
            return found;
        }
        if (matches_to_the_letter(*rule, part, index.rules(), trust)) found.allow = rule;
    }
    return found;
}

} // namespace ew::core

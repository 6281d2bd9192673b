// Scripts: what is accepted reads back. Its words, quoted again, make a script with the same words,
// and no accepted word comes from a character that only the shell could give a meaning to.
// Everything else that looks at commands must end, whatever it is given.
#include "core/judgement/shell_words.h"

#include "core/judgement/judgement.h"
#include "core/judgement/literal_commands.h"
#include "fuzz/scenes.h"

#include <algorithm>

namespace ew::fuzz {

namespace {

using core::Dialect;
using core::Script;
using core::ShellCommand;

std::string quoted(const std::string& word) {
    std::string text = "'";
    for (const char c : word)
        text += c == '\'' ? std::string("'\\''") : std::string(1, c);
    return text + "'";
}

std::string written(const Script& script, const char* separator) {
    std::string text;
    for (const ShellCommand& command : script.commands) {
        for (const std::string& word : command.words)
            text.append(quoted(word)).append(" ");
        text += separator;
    }
    return text;
}

bool has_same_words(const Script& a, const Script& b) {
    return std::equal(a.commands.begin(), a.commands.end(), b.commands.begin(), b.commands.end(),
                      [](const ShellCommand& one, const ShellCommand& other) {
                          return one.words == other.words;
                      });
}

// The characters of a script that stand outside all quotes, found the slow way: each is looked at
// with the state of the ones before it. Comments are left out.
std::string unquoted_characters(std::string_view script) {
    std::string found;
    char quote = '\0';
    bool is_in_word = false;
    for (std::size_t i = 0; i < script.size(); ++i) {
        const char c = script[i];
        if (quote != '\0') {
            if (quote == '"' && c == '\\') ++i;
            if (c == quote) quote = '\0';
        } else if (c == '#' && !is_in_word) {
            while (i + 1 < script.size() && script[i + 1] != '\n')
                ++i;
        } else if (c == '\\') {
            const bool joins_lines = i + 1 < script.size() && script[i + 1] == '\n';
            is_in_word = is_in_word || !joins_lines;
            ++i;
        } else {
            if (c == '\'' || c == '"')
                quote = c;
            else
                found += c;
            is_in_word = std::string_view(" \t\n;&|").find(c) == std::string_view::npos;
        }
    }
    return found;
}

void require_reads_back(std::string_view input, const Script& script) {
    require(!script.commands.empty());
    for (const ShellCommand& command : script.commands) {
        require(!command.words.empty() && command.words.size() == command.has_glob.size());
        require(!command.words.front().empty() && !command.has_glob.front());
    }
    for (const char* separator : {";", "&& true ;", "| cat\n"}) {
        const Script again = core::decompose(written(script, ";"));
        require(again.obstacle.empty() && has_same_words(script, again));
        const Script longer = core::decompose(written(script, separator));
        require(longer.obstacle.empty());
    }
    const std::string bare = unquoted_characters(input);
    require(bare.find_first_of(script.is_plain ? "`()" : "`") == std::string::npos);
    require(input.find('\0') == std::string_view::npos);
}

// All words together, so that each one is there once.
std::size_t words_in(const std::vector<std::vector<std::string>>& commands) {
    std::size_t count = 0;
    for (const auto& words : commands)
        count += words.size();
    return count;
}

// Loosely, $? is a part that is not known; strictly it is a number.
bool is_found_as(const ShellCommand& command, const core::Words& loose) {
    if (command.words.size() != loose.size()) return false;
    for (std::size_t i = 0; i < loose.size(); ++i) {
        const auto is_same = [&](char strict_char, char loose_char) {
            const bool is_status = command.has_glob[i] && strict_char == '0' && loose_char == '*';
            return strict_char == loose_char || is_status;
        };
        if (!std::ranges::equal(command.words[i], loose[i], is_same)) return false;
    }
    return true;
}

// What is taken apart strictly is found loosely too, as far as nothing is computed.
void require_found_loosely(std::string_view input, const Script& script) {
    const auto loose = core::literal_commands(input).commands;
    // What is printed or an input is read again, and braces make words.
    require(words_in(loose) <= 4 * input.size() + 65536);
    if (!script.is_plain) return;
    // It stands for a program that is not known, and says nothing alone.
    const core::Words unknown = {std::string(core::unknown_program)};
    for (const ShellCommand& command : script.commands)
        require(command.words == unknown ||
                std::ranges::any_of(loose, [&command](const core::Words& words) {
                    return is_found_as(command, words);
                }));
}

void judge(std::string_view input) {
    core::JudgedCommand judged;
    judged.argv = {"bash", "-c", std::string(input)};
    judged.policy = core::ApprovalPolicy::untrusted;
    core::RuleSet rules;
    rules.rules.resize(1);
    rules.rules.front().prefix = {{"git"}, {"push", "pull"}};
    rules.rules.front().decision = core::Decision::forbidden;
    const auto trust = [](std::string_view word) { return !word.starts_with('.'); };

    const core::Judgement judgement = core::judge(judged, rules, trust);
    require(judgement.decision == core::Decision::allow || !judgement.reason.empty());
    require(judgement.obstacle.empty() || judgement.decision != core::Decision::allow);
    require(judgement.obstacle.empty() || judgement.proposed_prefix.empty());

    // Nothing that is forbidden in itself may become less by standing behind something harmless.
    judged.argv.back() = "true\n" + std::string(input);
    const core::Judgement behind = core::judge(judged, rules, trust);
    require(judgement.decision != core::Decision::forbidden ||
            behind.decision != core::Decision::allow);
}

} // namespace

void shell_words(std::string_view input) {
    (void)core::decompose(input, Dialect::zsh); // must end
    const Script script = core::decompose(input);
    if (script.obstacle.empty()) {
        require_reads_back(input, script);
        require_found_loosely(input, script);
    } else {
        (void)core::literal_commands(input); // must end
    }
    judge(input);
}

} // namespace ew::fuzz

#include "core/judgement/shell_builtins.h"

#include "core/judgement/program_options.h"

#include <algorithm>
#include <cstddef>
#include <span>

namespace ew::core {

namespace {

// Words that are grammar in front of a command (bash(1), RESERVED WORDS; zshmisc(1)).
constexpr std::string_view reserved_words =
    "! [[ ]] case coproc do done elif else esac fi for function if in select then time until while "
    "{ }";

// Words in front of a command that zsh takes away, and more of its grammar.
constexpr std::string_view reserved_in_zsh = "- end foreach nocorrect noglob repeat";

// Shell builtins that run text or change the meaning of later words.
constexpr std::string_view shell_changers =
    ". alias bind builtin command compgen complete compopt declare dirs disown enable eval exec "
    "export fc getopts hash history let local logout mapfile popd pushd read readarray readonly "
    "set shopt source suspend trap typeset ulimit unalias unset";

// Builtins that evaluate some of their words in at least one shell (zsh evaluates the status of
// exit, bash the subscript behind test -v). The evaluation expands the words again and runs the
// commands in them.
constexpr std::string_view computing =
    "[ break continue exit fg float integer jobs kill print return shift test umask wait whence";

bool is_reserved_word(std::string_view word, Dialect dialect) {
    return is_listed(reserved_words, word) ||
           (dialect == Dialect::zsh && is_listed(reserved_in_zsh, word));
}

bool is_number(std::string_view word) {
    return !word.empty() && word.find_first_not_of("0123456789") == std::string_view::npos;
}

bool is_test(std::string_view program) {
    return program == "test" || program == "[";
}

bool may_compute(const ShellCommand& command, const std::vector<bool>& is_several) {
    const bool is_one_test = is_test(command.words.front()) && is_safe_test(command);
    // A subscript evaluates a variable, whose value may run commands.
    const auto is_variable_test = [](const std::string& word) {
        return word == "-v" || word == "-R";
    };
    if (!is_one_test && is_test(command.words.front()) &&
        std::any_of(command.words.begin(), command.words.end(), is_variable_test))
        return true;
    for (std::size_t i = 1; i < command.words.size(); ++i) {
        const std::string& word = command.words[i];
        if (word.find_first_of("$`") != std::string::npos) return true;
        const bool is_unknown = command.has_glob[i] && !is_number(word);
        if (is_unknown && (!is_one_test || is_several[i])) return true;
    }
    return false;
}

// `command -v NAME` only prints what NAME is.
bool only_looks_up(const ShellCommand& command) {
    const auto& words = command.words;
    return words.size() >= 3 && words[0] == "command" && (words[1] == "-v" || words[1] == "-V");
}

// printf -v NAME and wait -p NAME set a variable.
bool may_set_variable(const ShellCommand& command) {
    return (command.words[0] == "printf" || command.words[0] == "wait") &&
           command.words.size() > 1 && (command.has_glob[1] || command.words[1].starts_with('-'));
}

constexpr std::string_view comparisons = "= == != -ef -nt -ot";
constexpr std::string_view number_comparisons = "-eq -ne -lt -le -gt -ge";

} // namespace

// Small letters are left to users (POSIX, Base Definitions, 8.1); npm and the proxies break that.
bool is_own_variable(std::string_view name) {
    const auto is_small = [](char c) { return c >= 'a' && c <= 'z'; };
    return !name.empty() && is_small(name.front()) &&
           std::all_of(name.begin(), name.end(),
                       [&](char c) {
                           return is_small(c) || is_number({&c, 1}) || c == '_';
                       }) &&
           !name.starts_with("npm_") && !name.ends_with("_proxy");
}

std::string obstacle_of_words(const ShellCommand& command, const std::vector<bool>& is_several,
                              Dialect dialect) {
    const std::string& program = command.words.front();
    if (is_reserved_word(program, dialect)) return program + " is part of the shell's grammar";
    if (program.find('=') != std::string::npos) return "a variable is set";
    if (command.has_glob.front()) return "the program's name is a pattern";
    if (program.empty()) return "the program's name is empty";
    if (program.starts_with('%')) return "% at the front resumes a job";
    if (is_listed(shell_changers, program) && !only_looks_up(command) && !is_safe_set(command))
        return program + " runs text or changes the shell";
    if (may_set_variable(command)) return program + " may set a variable";
    if (is_listed(computing, program) && may_compute(command, is_several))
        return program + " may compute what its words say";
    return {};
}

bool is_safe_set(const ShellCommand& command) {
    constexpr std::string_view names = "errexit nounset pipefail";
    const auto& words = command.words;
    if (words.front() != "set" || words.size() < 2) return false;
    for (std::size_t i = 1; i < words.size(); ++i) {
        if (command.has_glob[i] || !is_listed("-e -u -eu -ue -o -eo -uo -euo -ueo", words[i]))
            return false;
        if (!words[i].ends_with('o')) continue;
        ++i;
        if (i == words.size() || command.has_glob[i] || !is_listed(names, words[i])) return false;
    }
    return true;
}

bool is_safe_test(const ShellCommand& command) {
    std::span<const std::string> words(command.words);
    if (words.front() == "[") {
        if (words.size() < 2 || words.back() != "]") return false;
        words = words.first(words.size() - 1);
    }
    std::size_t first = 1;
    if (words.size() > 2 && words[1] == "!") first = 2;
    words = words.subspan(first);
    const auto is_value = [&](std::size_t i) {
        return command.has_glob[first + i] || is_number(words[i]);
    };
    if (words.size() == 1) return true;
    if (words.size() == 2) return is_unary_test(words[0]) || (words[0] == "-t" && is_value(1));
    return words.size() == 3 &&
           (is_listed(comparisons, words[1]) ||
            (is_listed(number_comparisons, words[1]) && is_value(0) && is_value(2)));
}

bool is_unary_test(std::string_view word) {
    return is_listed("-b -c -d -e -f -g -h -k -L -p -r -s -S -u -w -x -n -z", word);
}

} // namespace ew::core

#include "core/judgement/compound_words.h"

#include "core/judgement/command_safety.h"
#include "core/judgement/program_options.h"
#include "core/judgement/shell_builtins.h"

#include <algorithm>
#include <string_view>
#include <utility>

namespace ew::core {

namespace {

bool is_operand(const ShellWord& word) {
    return word.is_written && !(word.is_bare && word.text == "]]") && !word.text.starts_with('#');
}

bool take_and_or(ScriptReading& in) {
    const bool is_there = in.rest().starts_with("&&") || in.rest().starts_with("||");
    if (is_there) in.at += 2;
    return is_there;
}

void read_comparison(ScriptReading& in) {
    const ShellWord first = read_shell_word(in);
    in.skip_blanks();
    const bool is_unary = first.is_bare && is_unary_test(first.text);
    const bool is_compared = is_listed("= == !=", in.keyword());
    if (is_compared) in.at += in.keyword().size();
    in.skip_blanks();
    const bool is_right = !first.is_bare || is_unary || !first.text.starts_with('-');
    const bool has_second = is_compared || is_unary;
    if (!is_operand(first) || !is_right || (is_unary && is_compared) ||
        (has_second && !is_operand(read_shell_word(in))))
        in.fail(not_understood);
}

} // namespace

std::vector<ShellValue> values_of_loop(ScriptReading& in) {
    std::vector<ShellValue> values;
    for (in.skip_blanks(); in.is_good() && !in.is_at(";\n#"); in.skip_blanks()) {
        ShellWord word = read_shell_word(in);
        if (!word.is_written || in.is_at("&|<>()")) in.fail(not_understood);
        if (word.has_glob)
            values.insert(values.end(), 2,
                          word.is_split ? ShellValue() : ShellValue{std::move(word.text), true});
        else if (word.words.empty())
            values.push_back({std::move(word.text)});
        for (std::string& text : word.words)
            values.push_back({std::move(text)});
    }
    if (in.here() == ';') ++in.at;
    if (values.empty()) values.emplace_back();
    return values;
}

std::vector<std::string> variables_of_read(const SimpleCommand& condition) {
    const auto& [words, has_glob, written, reads_pipe] = condition.command;
    if (words.empty() || words[0] != "read" || condition.has_redirection) return {};
    const auto is_other = [](const Assignment& one) { return one.name != "IFS" || !one.value; };
    auto names = words.begin() + 1;
    if (names != words.end() && *names == "-r") ++names;
    if (words.end() - names > 2 && names[0] == "-d" && names[1].empty()) names += 2;
    if (std::any_of(condition.assignments.begin(), condition.assignments.end(), is_other) ||
        std::find(has_glob.begin(), has_glob.end(), true) != has_glob.end() ||
        !std::all_of(names, words.end(),
                     [](std::string_view name) { return name == "_" || is_own_variable(name); }))
        return {};
    return {names, words.end()};
}

bool may_go_back(const ShellCommand& command) {
    const std::string_view program = base_name(command.words.front());
    return is_listed("hexdump tac", program) || is_shell(program);
}

std::size_t kept_pass(std::vector<ShellCommand>& commands, std::size_t previous,
                      std::size_t first) {
    const auto at = [&](std::size_t i) {
        return commands.begin() + static_cast<std::ptrdiff_t>(i);
    };
    const bool has_cd = std::any_of(at(first), commands.end(), [](const ShellCommand& command) {
        return command.words.front() == "cd";
    });
    if (first == previous || has_cd ||
        !std::equal(at(previous), at(first), at(first), commands.end()))
        return first;
    commands.erase(at(first), commands.end());
    return previous;
}

void read_condition(ScriptReading& in) {
    do {
        in.skip_blanks();
        while (in.take_keyword("!"))
            in.skip_blanks();
        read_comparison(in);
        in.skip_blanks();
    } while (in.is_good() && take_and_or(in));
    in.expect("]]");
}

} // namespace ew::core

// execward completions: prints the tables of options as shell scripts and as JSON.
#include "cli/completions.h"

#include "base/byte_buffer.h"
#include "cli/commands.h"
#include "json/writer.h"

#include <fmt/format.h>

#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace ew::cli {

namespace {

constexpr std::string_view about =
    R"(Usage: execward completions bash|zsh|fish|json

Prints a script with which that shell completes subcommands, options and their values. json prints
the same as data: every subcommand with its options, arguments and defaults.
)";

constexpr std::string_view notes = R"(Examples, each for a file that the shell reads when it starts:
  source <(execward completions bash)      ~/.bashrc
  source <(execward completions zsh)       ~/.zshrc, after compinit
  execward completions fish | source       ~/.config/fish/config.fish

Exit status: 0, 1 it could not be written, 2 usage.
)";

constexpr auto actions = std::to_array<Action>({{"bash"}, {"zsh"}, {"fish"}, {"json"}});

std::string replaced(std::string_view text, std::string_view what, std::string_view by) {
    std::string result;
    for (const char c : text)
        result += what.find(c) == std::string_view::npos ? std::string(1, c) : std::string(by) + c;
    return result;
}

std::string joined(const std::vector<std::string_view>& words) {
    return fmt::format("{}", fmt::join(words, " "));
}

std::vector<std::string_view> actions_of(const Command& command) {
    std::vector<std::string_view> names;
    for (const Action& action : command.actions)
        if (!action.name.empty()) names.push_back(action.name);
    for (const Command* other : commands()) // such as `config init` for `config`
        if (other->name.starts_with(fmt::format("{} ", command.name)))
            names.push_back(other->name.substr(command.name.size() + 1));
    return names;
}

std::vector<std::string_view> command_names() {
    std::vector<std::string_view> names;
    for (const Command* command : commands())
        if (!command->summary.empty()) names.push_back(command->name);
    return names;
}

std::string bash_case(const Command& command) {
    std::string cases;
    std::string flags;
    for (const Option& option : command.options) {
        const bool is_bare =
            option.argument.empty() || option.name.size() == 1 || option.may_lack_argument;
        flags += flag_of(option) + (is_bare ? " " : "= ");
        if (!option.choices.empty())
            cases += fmt::format("    *:'{}':{}:*) words='{}' ;;\n", command.name, flag_of(option),
                                 joined(choices_of(option.choices)));
    }
    cases += fmt::format("    *:'{}':*:-*) words='{}--help' ;;\n", command.name, flags);
    const std::vector<std::string_view> names = actions_of(command);
    if (!names.empty())
        cases += fmt::format("    2:'{}':*) words='{}' ;;\n", command.name, joined(names));
    return cases;
}

std::string for_bash() {
    std::string cases;
    for (const Command* command : commands())
        cases += bash_case(*command);
    return fmt::format(R"(# Completion of execward for bash. --name=value comes as three words.
_execward() {{
    local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD - 1]}} words=
    local command=${{COMP_WORDS[1]}}
    [[ $word == = ]] && word=
    [[ $before == = ]] && before=${{COMP_WORDS[COMP_CWORD - 2]}}
    [[ $COMP_CWORD -gt 2 && "$command ${{COMP_WORDS[2]}}" == 'config init' ]] && command='config init'
    case $COMP_CWORD:$command:$before:$word in
    1:*) words='{0} help --version --help' ;;
    2:help:*) words='{0}' ;;
{1}    esac
    COMPREPLY=($(compgen -W "$words" -- "$word"))
    [[ ${{COMPREPLY[0]}} == *= ]] && compopt -o nospace 2>/dev/null
    return 0
}}
complete -o default -F _execward execward
)",
                       joined(command_names()), cases);
}

std::string zsh_option(const Option& option) {
    const std::string meaning = replaced(replaced(option.meaning, "[]:\\", "\\"), "'", "'\\'");
    std::string text = fmt::format("{}{}", option.repeats ? "*" : "", flag_of(option));
    if (!option.argument.empty()) text += option.name.size() == 1 ? "+" : "=";
    if (option.may_lack_argument) text += "-";
    text += fmt::format("[{}]", meaning);
    if (option.argument.empty()) return text;
    return fmt::format("{}{}:{}:{}", text, option.may_lack_argument ? ":" : "", option.argument,
                       option.choices.empty()
                           ? "_files"
                           : fmt::format("({})", joined(choices_of(option.choices))));
}

std::string for_zsh() {
    std::string summaries;
    std::string cases;
    for (const Command* command : commands()) {
        if (!command->summary.empty())
            summaries += fmt::format("        '{}:{}'\n", command->name, command->summary);
        cases += fmt::format("    ('{}') _arguments '1: :'", command->name);
        const std::vector<std::string_view> names = actions_of(*command);
        if (!names.empty()) cases += fmt::format(" '2:action:({})'", joined(names));
        for (const Option& option : command->options)
            cases += fmt::format(" \\\n        '{}'", zsh_option(option));
        cases += " \\\n        '(-h --help)'{-h,--help}'[show this help]' '*:file:_files' ;;\n";
    }
    return fmt::format(R"(#compdef execward
_execward() {{
    local command=$words[2]
    local -a commands=(
{}    )
    if (( CURRENT == 2 )); then
        _describe command commands
        return
    fi
    [[ $CURRENT -gt 3 && "$words[2] $words[3]" == 'config init' ]] && command='config init'
    case $command in
    (help) (( CURRENT == 3 )) && _describe command commands ;;
{}    esac
}}
if [[ $funcstack[1] == _execward ]]; then # this is a file of fpath
    _execward "$@"
else
    compdef _execward execward
fi
)",
                       summaries, cases);
}

std::string for_fish() {
    std::string lines;
    const auto add = [&](std::string_view condition, const std::string& what,
                         std::string_view meaning) {
        lines += fmt::format("complete -c execward -n '{}' {}", condition, what);
        if (!meaning.empty()) lines += fmt::format(" -d '{}'", replaced(meaning, "'\\", "\\"));
        lines += '\n';
    };
    for (const Command* command : commands()) {
        const std::string_view last = command->name.substr(command->name.rfind(' ') + 1);
        const std::string seen = fmt::format("__fish_seen_subcommand_from {}", last);
        if (!command->summary.empty())
            add("__fish_use_subcommand; or __fish_seen_subcommand_from help",
                fmt::format("-a {}", command->name), command->summary);
        const std::vector<std::string_view> names = actions_of(*command);
        if (!names.empty()) add(seen, fmt::format("-a '{}'", joined(names)), "");
        for (const Option& option : command->options) {
            std::string what =
                fmt::format("-{} {}", option.name.size() == 1 ? "s" : "l", option.name);
            if (!option.choices.empty() && !option.may_lack_argument)
                what += fmt::format(" -x -a '{}'", joined(choices_of(option.choices)));
            else if (!option.argument.empty() && !option.may_lack_argument)
                what += " -r";
            add(seen, what, option.meaning);
        }
    }
    add("__fish_use_subcommand", "-a help", "show the help of a command");
    return lines + "complete -c execward -s h -l help -d 'show this help'\n";
}

void write_members(ByteBuffer& out,
                   const std::vector<std::pair<std::string_view, std::string_view>>& members) {
    out.append('{');
    for (const auto& [name, value] : members) {
        if (&name != &members.front().first) out.append(',');
        json::write_string(out, name);
        out.append(':');
        json::write_string(out, value);
    }
}

std::string as_json() {
    ByteBuffer out;
    for (const Command* command : commands()) {
        out.append(std::string_view(out.view().empty() ? "[" : ","));
        write_members(out, {{"name", command->name}, {"summary", command->summary}});
        out.append(fmt::format(R"(,"actions":"{}","options":[)", joined(actions_of(*command))));
        for (const Option& option : command->options) {
            if (&option != &command->options.front()) out.append(',');
            write_members(out, {{"name", option.name},
                                {"argument", option.argument},
                                {"meaning", option.meaning},
                                {"default", option.usual},
                                {"choices", option.choices},
                                {"actions", option.actions},
                                {"details", option.details}});
            out.append(fmt::format(R"(,"repeats":{}}})", option.repeats));
        }
        out.append(std::string_view("]}"));
    }
    return std::string(out.view()) + "]\n";
}

int completions(const Arguments& arguments) {
    const std::string_view shell = arguments.action();
    const std::string text = shell == "bash"   ? for_bash()
                             : shell == "zsh"  ? for_zsh()
                             : shell == "fish" ? for_fish()
                                               : as_json();
    print_line(std::string_view(text).substr(0, text.size() - 1)); // without the newline
    return finish(status_ok);
}

} // namespace

constinit const Command completions_command = {
    .name = "completions",
    .summary = "print what makes a shell complete subcommands and options",
    .about = about,
    .notes = notes,
    .actions = actions,
    .run = completions};

} // namespace ew::cli

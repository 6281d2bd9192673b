#include "cli/shared/options.h"

#include "base/check.h"
#include "base/nearest.h"
#include "core/text/display.h"

#include <fmt/format.h>
#include <getopt.h>

#include <algorithm>
#include <charconv>
#include <cstdio>

namespace ew::cli {

namespace {

constexpr std::size_t width = 100; // of the help
constexpr int first_long = 256;    // what getopt returns for the first row; letters are below
constexpr Option help_option = {.name = "help", .meaning = "show this help"};

bool is_short(const Option& option) {
    return option.name.size() == 1;
}

bool asks_for_help(std::string_view word) {
    return word == "--help" || word == "-h";
}

// "a, b or c"
std::string alternatives(const std::vector<std::string_view>& words) {
    std::string text;
    for (const std::string_view& word : words) {
        const bool is_last = &word == &words.back();
        text += fmt::format("{}{}", text.empty() ? "" : is_last ? " or " : ", ", word);
    }
    return text;
}

std::string label_of(const Option& option) {
    if (option.name == help_option.name) return "-h, --help";
    if (option.argument.empty()) return flag_of(option);
    if (option.may_lack_argument) return fmt::format("{}[={}]", flag_of(option), option.argument);
    return fmt::format("{}{}{}", flag_of(option), is_short(option) ? ' ' : '=', option.argument);
}

std::string help_of(const Option& option) {
    std::string text;
    if (!option.choices.empty()) text = alternatives(choices_of(option.choices)) + ": ";
    text += option.meaning;
    if (!option.usual.empty()) text += fmt::format(" ({})", option.usual);
    if (option.repeats) text += "; may be given again";
    return text;
}

// Wraps the text into lines that begin at a column. The label stands before the first line.
std::string lines_of(std::string label, std::string_view text, std::size_t column) {
    std::string lines;
    while (true) {
        std::size_t end = text.size();
        if (column + end > width) end = text.rfind(' ', width - column);
        if (end == std::string_view::npos) end = std::min(text.find(' '), text.size());
        lines += fmt::format("{:<{}}{}\n", label, column, text.substr(0, end));
        if (end == text.size()) return lines;
        text.remove_prefix(end + 1);
        label.clear();
    }
}

std::string help_text(const Command& command) {
    std::vector<Option> rows(command.options.begin(), command.options.end());
    rows.push_back(help_option);
    std::size_t column = 0;
    for (const Option& option : rows)
        column = std::max(column, label_of(option).size() + 4);
    std::string text = fmt::format("{}\n", command.about);
    for (const Option& option : rows)
        text += lines_of("  " + label_of(option), help_of(option), column);
    if (!command.notes.empty()) text += fmt::format("\n{}", command.notes);
    return text;
}

int show_help(const Command& command) {
    const std::string text = help_text(command);
    print_line(std::string_view(text).substr(0, text.size() - 1)); // without the newline
    return finish(status_ok);
}

bool has_actions(const Command& command) {
    return !command.actions.front().name.empty();
}

const Action* find_action(const Command& command, std::string_view name) {
    const auto found = std::ranges::find(command.actions, name, &Action::name);
    return found == command.actions.end() ? nullptr : &*found;
}

// Is the next word the value of this one? getopt_long(3) also takes the beginning of a name.
bool takes_next_word(const Command& command, std::string_view word) {
    return std::ranges::any_of(command.options, [word](const Option& option) {
        if (option.argument.empty() || option.may_lack_argument) return false;
        const std::string flag = flag_of(option);
        return word == flag || (word.size() > 2 && !is_short(option) && flag.starts_with(word));
    });
}

} // namespace

std::vector<std::string_view> choices_of(std::string_view text, char separator) {
    std::vector<std::string_view> choices;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find(separator), text.size());
        choices.push_back(text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return choices;
}

std::string flag_of(const Option& option) {
    return fmt::format("{}{}", is_short(option) ? "-" : "--", option.name);
}

std::optional<std::int64_t> whole_number(std::string_view text, std::int64_t least,
                                         std::int64_t most) {
    std::int64_t number = 0;
    const auto parsed = std::from_chars(text.data(), text.data() + text.size(), number);
    const bool is_whole = parsed.ec == std::errc() && parsed.ptr == text.data() + text.size();
    if (!is_whole || number < least || number > most) return std::nullopt;
    return number;
}

std::optional<int> Arguments::parse(int argc, char** argv) {
    std::string program = "execward"; // getopt names it in its messages
    if (!has_actions(command_)) {
        action_ = &command_.actions.front();
    } else {
        if (const std::optional<int> status = take_action(argc, argv)) return status;
        --argc;
        ++argv;
    }
    char* const name = std::exchange(argv[0], program.data());
    const std::optional<int> status = take_options(argc, argv);
    argv[0] = name;
    if (status) return status;
    const std::string_view who = has_actions(command_) ? action_->name : command_.name;
    const Operands& known = action_->operands;
    if (operands_.size() > known.most)
        return refuse(
            fmt::format("'{}' is one argument too many", core::visible(operands_[known.most])));
    if (operands_.size() < known.least) return refuse(fmt::format("{} needs {}", who, known.name));
    return std::nullopt;
}

// Options may stand before the action, which becomes the first argument.
std::optional<int> Arguments::take_action(int argc, char** argv) {
    char** const end = argv + argc;
    char** found = argv + 1;
    if (argc > 1 && *argv[1] == '-')
        while (found != end && find_action(command_, *found) == nullptr)
            found += end - found > 1 && takes_next_word(command_, *found) ? 2 : 1;
    if (found == end) {
        if (std::any_of(argv + 1, end, asks_for_help)) return show_help(command_);
        return refuse(fmt::format("say {}", alternatives(names_of_actions())));
    }
    action_ = find_action(command_, *found);
    if (action_ == nullptr)
        return refuse(fmt::format("there is no action '{}'; did you mean {}?",
                                  core::visible(*found), nearest(*found, names_of_actions())));
    std::rotate(argv + 1, found, found + 1);
    return std::nullopt;
}

std::vector<std::string_view> Arguments::names_of_actions() const {
    std::vector<std::string_view> names;
    for (const Action& action : command_.actions)
        names.push_back(action.name);
    return names;
}

// Prints the option that is most like a word, unless the word is an option or the beginning of one.
void Arguments::print_what_was_meant(std::string_view word) const {
    if (!word.starts_with("--")) return;
    const std::string_view name = word.substr(2, word.find('=') - 2);
    std::vector<std::string_view> names = {help_option.name};
    for (const Option& option : command_.options)
        if (!is_short(option)) names.push_back(option.name);
    if (std::ranges::any_of(names, [&](std::string_view each) { return each.starts_with(name); }))
        return;
    fmt::print(stderr, "execward: did you mean --{}?\n", nearest(name, names));
}

std::optional<int> Arguments::take_options(int argc, char** argv) {
    std::string letters = action_->operands.is_command ? "+h" : "h";
    std::vector<::option> rows;
    for (const Option& option : command_.options) {
        const bool has_value = !option.argument.empty();
        const auto index = static_cast<int>(&option - command_.options.data());
        if (is_short(option)) letters.append(option.name).append(has_value ? ":" : "");
        for (const std::string_view name : {option.name, option.old_name})
            if (name.size() > 1)
                rows.push_back({name.data(),
                                option.may_lack_argument ? optional_argument : has_value, nullptr,
                                first_long + index});
    }
    rows.push_back({"help", no_argument, nullptr, 'h'});
    rows.push_back({});
    optind = 1;
    for (int found = 0;
         (found = ::getopt_long(argc, argv, letters.c_str(), rows.data(), nullptr)) != -1;) {
        if (found == '?') { // getopt has printed the reason
            print_what_was_meant(argv[optind - 1]);
            return point_to_help();
        }
        if (found == 'h') return show_help(command_);
        const char letter = static_cast<char>(found);
        const auto option =
            found >= first_long
                ? command_.options.begin() + (found - first_long)
                : std::ranges::find(command_.options, std::string_view(&letter, 1), &Option::name);
        if (const std::optional<int> status = take(*option, optarg)) return status;
    }
    operands_.assign(argv + optind, argv + argc);
    return std::nullopt;
}

std::optional<int> Arguments::take(const Option& option, const char* value) {
    const std::string text = value != nullptr ? value : "";
    const std::vector<std::string_view> actions = choices_of(option.actions, ' ');
    if (!actions.empty() && std::ranges::find(actions, action()) == actions.end())
        return refuse(fmt::format("{} does not take {}", action(), flag_of(option)));
    const std::vector<std::string_view> choices = choices_of(option.choices);
    const bool is_left_out = option.may_lack_argument && value == nullptr;
    if (!is_left_out && !choices.empty() && std::ranges::find(choices, text) == choices.end()) {
        std::string what(option.name);
        std::ranges::replace(what, '-', ' ');
        return refuse(fmt::format("there is no {} '{}': use {}", what, core::visible(text),
                                  alternatives(choices)));
    }
    given_.emplace_back(option.name, text);
    return std::nullopt;
}

std::optional<std::string> Arguments::value(std::string_view option) const {
    const std::vector<std::string> all = values(option);
    return all.empty() ? std::nullopt : std::optional(all.back());
}

std::vector<std::string> Arguments::values(std::string_view option) const {
    CHECK(std::ranges::find(command_.options, option, &Option::name) != command_.options.end());
    std::vector<std::string> all;
    for (const auto& [name, text] : given_)
        if (name == option) all.push_back(text);
    return all;
}

int Arguments::refuse(std::string_view why) const {
    if (!command_.is_help_shown) {
        fmt::print(stderr, "execward: {}; see execward {} --help\n", why, command_.name);
        return command_.usage_status;
    }
    fmt::print(stderr, "execward: {}\n", why);
    return point_to_help();
}

int Arguments::point_to_help() const {
    if (command_.is_help_shown)
        fmt::print(stderr, "{}", help_text(command_));
    else
        fmt::print(stderr, "execward: see execward {} --help\n", command_.name);
    return command_.usage_status;
}

int execute(const Command& command, int argc, char** argv) {
    Arguments arguments(command);
    if (const std::optional<int> status = arguments.parse(argc, argv)) return *status;
    return command.run(arguments);
}

} // namespace ew::cli

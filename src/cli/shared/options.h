// The command line of a subcommand as a table. The table drives the parser, --help, the lists of
// options in the man page and the completions of shells.
#pragma once

#include "cli/shared/printing.h"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ew::cli {

struct Option {
    std::string_view name;          // without dashes; a name of one letter is a short option
    std::string_view argument = {}; // its name in the help; empty if the option takes none
    std::string_view meaning = {};  // begins in lower case and ends without a full stop
    std::string_view usual = {};    // the default
    std::string_view choices = {};  // "a|b": the only values that it takes; empty if it takes any
    std::string_view actions = {};  // "list revoke": the actions that take it; empty if all do
    bool repeats = false;
    bool may_lack_argument = false; // it stands behind "=", or nowhere
    std::string_view old_name = {}; // an earlier name, which still works and is not listed
    std::string_view details = {};  // further sentences for the man page, `so` for bold type
};

// The arguments that are not options.
struct Operands {
    std::string_view name = {};
    std::size_t least = 0;
    std::size_t most = 0;
    bool is_command = false; // from its first word on, options belong to the command

    static constexpr std::size_t any = std::numeric_limits<std::size_t>::max();
};

struct Action {
    std::string_view name = {}; // empty if the subcommand has no actions
    Operands operands = {};
};

class Arguments;

struct Command {
    std::string_view name;         // may have two words: config init
    std::string_view summary = {}; // its line in `execward --help`
    std::string_view about;        // usage and description, the beginning of the help
    std::span<const Option> options = {};
    std::string_view notes = {};          // the text after the options in the help
    std::span<const Action> actions = {}; // at least one
    int (*run)(const Arguments& arguments);
    int usage_status = status_usage;
    bool is_help_shown = false; // a mistake is answered with the whole help
};

// Splits "a|b|c" into a list.
std::vector<std::string_view> choices_of(std::string_view text, char separator = '|');

// "--name" or "-n".
std::string flag_of(const Option& option);

// Returns the number that the whole text stands for. Returns nullopt if the text is not a number
// between `least` and `most`.
std::optional<std::int64_t> whole_number(std::string_view text, std::int64_t least,
                                         std::int64_t most = std::numeric_limits<int>::max());

// The parsed arguments of a command.
class Arguments {
public:
    explicit Arguments(const Command& command) : command_(command) {}

    // Returns an exit status if there is nothing more to do: the help was shown or a mistake
    // reported.
    std::optional<int> parse(int argc, char** argv);

    std::string_view action() const { return action_->name; }

    const std::vector<std::string>& operands() const { return operands_; }

    bool has(std::string_view option) const { return value(option).has_value(); }

    std::optional<std::string> value(std::string_view option) const; // the last one given
    std::vector<std::string> values(std::string_view option) const;

    // Prints the mistake and where to find help. Returns the exit status.
    int refuse(std::string_view why) const;

private:
    std::optional<int> take_action(int argc, char** argv);
    std::optional<int> take_options(int argc, char** argv);
    std::optional<int> take(const Option& option, const char* value);
    std::vector<std::string_view> names_of_actions() const;
    void print_what_was_meant(std::string_view word) const;
    int point_to_help() const;

    const Command& command_;
    const Action* action_ = nullptr;
    std::vector<std::pair<std::string_view, std::string>> given_;
    std::vector<std::string> operands_;
};

// Parses and runs. argv[0] is the name of the command. Returns the exit status.
int execute(const Command& command, int argc, char** argv);

} // namespace ew::cli

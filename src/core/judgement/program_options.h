// Parses a command's words as the program's own option parser would: combined short options,
// values, "--". Accepts only options that are listed.
#pragma once

#include "core/judgement/shell_words.h"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ew::core {

// The harmless options of a program.
struct KnownOptions {
    std::string_view shorts =
        {}; // as for getopt(3): "n:" takes a value, "w::" takes only an attached value
    std::string_view longs = {}; // separated by blanks: "name", "name=" takes a value, "name?"
                                 // takes only an attached value; abbreviations are not accepted
    bool takes_number = false;   // -20 is an option
    bool is_complete = false; // no option of any version does harm, so a pattern may expand to file
                              // names that look like options
    bool stops_at_operand = false; // all words behind the first operand are operands
};

struct ReadWords {
    struct Option {
        std::string_view name; // "o" for -o, "output" for --output
        std::string_view value;
    };

    std::vector<Option> options;
    std::vector<std::size_t> operands; // indices of words

    bool has(std::string_view name) const;
};

// Parses the words of `command` from `first` on. Returns nullopt if one of them is not known to be
// harmless. The result refers to the words of `command`.
std::optional<ReadWords> read_words(const ShellCommand& command, std::size_t first,
                                    const KnownOptions& known);

// Returns true if the shell can replace this word only by names that are not options.
bool is_clear_of_options(const ShellCommand& command, std::size_t index);

// Returns true if `name` is one of the words of `list`, which blanks separate.
bool is_listed(std::string_view list, std::string_view name);

} // namespace ew::core

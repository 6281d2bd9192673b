// Reads a command's words as the program's own option parser would: combined short options, values,
// "--". Only options that are named beforehand are accepted.
#pragma once

#include "core/judgement/shell_words.h"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ew::core {

// Options that do no harm.
struct KnownOptions {
    std::string_view shorts =
        {};                      // as for getopt(3): "n:" takes a value, "w::" only an attached one
    std::string_view longs = {}; // with blanks between: "name", "name=" takes a value, "name?" only
                                 // an attached one. Abbreviations are not accepted
    bool takes_number = false;   // -20 is an option
    bool is_complete = false; // no option of the program does harm, whatever version it is: names
                              // of files that look like options may come in by a pattern
};

struct ReadWords {
    struct Option {
        std::string_view name; // "o" of -o, "output" of --output
        std::string_view value;
    };

    std::vector<Option> options;
    std::vector<std::size_t> operands; // indices of words

    bool has(std::string_view name) const;
};

// The words of `command` from `first` on, or nothing if one of them is not known to be harmless.
// Refers to the words of `command`.
std::optional<ReadWords> read_words(const ShellCommand& command, std::size_t first,
                                    const KnownOptions& known);

// May the shell put in place of this word only names that are no options?
bool is_clear_of_options(const ShellCommand& command, std::size_t index);

// Is `name` one of the words of `list`, which have blanks between them?
bool is_listed(std::string_view list, std::string_view name);

} // namespace ew::core

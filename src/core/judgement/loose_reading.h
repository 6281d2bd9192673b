// A tolerant reader of scripts. It follows quotes, substitutions and here-documents closely enough
// to find the commands that are written literally. It treats unknown grammar as separators.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace ew::core {

// What a script says, and what it would have to be searched for besides.
struct LooseReading {
    std::vector<std::vector<std::string>> commands;
    bool is_whole = true;            // false at a bound
    std::size_t text_of_braces = 0;  // bytes that braces have been written out to
    std::vector<std::string> inputs; // here-documents and here-strings
    std::vector<std::string> values; // of variables and arrays
    bool has_printed_value = false;  // a command prints one of them
    // There is a command whose program is not known. Its words may come from a variable, or from
    // what a command prints.
    bool runs_value = false;
    bool runs_print = false;
};

// Adds what is found in the script. `depth`: the nesting of texts that are read as scripts.
void read_loosely(std::string_view script, int depth, LooseReading& reading);

} // namespace ew::core

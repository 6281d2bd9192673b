// Programs that start the program behind their own words.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace ew::core {

// Programs that start another program, which their operands name.
struct Launcher {
    std::string_view name;
    // Short options that take the next word as value if none is attached.
    std::string_view with_value = {};
    std::string_view longs_with_value = {}; // the same for long options, without "="
    std::size_t operands = 0;               // number of own operands before the program
    bool skips_assignments = false;
    std::string_view with_attached = {}; // short options that take only the rest of the word
};

// Returns nullptr if no program of this base name is known to start others.
const Launcher* find_launcher(std::string_view name);

// Returns true if `name` is the beginning of a word of `list`, since long options may be
// abbreviated.
bool abbreviates_one(std::string_view list, std::string_view name);

// Returns the number of words that an option of a launcher takes: 1, or 2 with a separate value.
std::size_t option_width(const Launcher& launcher, std::string_view word);

// Returns the texts that xargs and parallel replace in the words: -I TEXT, -iTEXT and
// --replace=TEXT in front of `end`. What they replace without such an option is among them.
std::vector<std::string> replaced_texts(const Launcher& launcher,
                                        const std::vector<std::string>& words, std::size_t end);

} // namespace ew::core

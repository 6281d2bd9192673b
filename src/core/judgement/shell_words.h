// Takes the script of `bash -c` apart, where that can be done without guessing. What the shell
// would expand, redirect or repeat is not interpreted: it is an obstacle, told in words.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ew::core {

struct ShellCommand {
    std::vector<std::string> words; // without their quotes
    std::vector<bool> has_glob;     // as many: the shell may replace this word by names of files
};

struct Script {
    std::vector<ShellCommand> commands; // with an obstacle: those in front of it
    std::string obstacle = {};          // empty: `commands` are all that can run, in order
};

enum class Dialect : std::uint8_t {
    bash, // sh and dash too: what is accepted means the same there
    zsh,  // more characters are special, so fewer are accepted
};

Script decompose(std::string_view script, Dialect dialect = Dialect::bash);

// The characters before the first one that could be a pattern. All that the shell may put in place
// of the word begins with them.
std::string_view literal_start(std::string_view word);

// Text that no person should be shown as part of a command: control characters, blanks that are not
// ASCII, marks that reorder text, bytes that are no UTF-8. A tab and a newline are fine.
bool has_hidden_text(std::string_view text);

} // namespace ew::core

// Decomposes the script of `bash -c` where that is possible without guessing. Expansions, most
// redirections and loops are not interpreted: each is an obstacle, described by a text.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ew::core {

struct ShellCommand {
    std::vector<std::string> words; // without their quotes
    std::vector<bool> has_glob; // one per word: the shell may replace the word by file names, or
                                // it has 0 in place of $?
    std::vector<std::string> written = {}; // files that the shell opens for its output
};

struct Script {
    std::vector<ShellCommand> commands; // if there is an obstacle: only the commands before it
    bool has_input = false;             // a here-document
    std::string obstacle = {}; // if empty: `commands` are all commands that can run, in order
};

enum class Dialect : std::uint8_t {
    bash, // also sh and dash: an accepted script means the same there
    zsh,  // more characters are special, so fewer are accepted
};

// What is done about output that the shell writes to a plain relative path without hidden
// directories and "..", as in `> out/log`.
enum class OutputFiles : std::uint8_t { refused, told };

Script decompose(std::string_view script, Dialect dialect = Dialect::bash,
                 OutputFiles output_files = OutputFiles::refused);

// Returns the characters before the first one that could be a pattern. Every expansion of the word
// begins with them.
std::string_view literal_start(std::string_view word);

} // namespace ew::core

// Decomposes the script of `bash -c` where that is possible without guessing. What a script
// computes stays unknown, and what is not understood is an obstacle, described by a text.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ew::core {

// Characters of the names of variables: at the beginning, and behind it (bash(1), "name").
constexpr bool begins_name(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

constexpr bool is_name_character(char c) {
    return begins_name(c) || (c >= '0' && c <= '9');
}

struct ShellCommand {
    std::vector<std::string> words; // without their quotes; a * stands for what is not known
    std::vector<bool> has_glob; // one per word: the shell may replace the word by file names, it
                                // has 0 in place of $?, or * in place of what is not known. A word
                                // that is only * may also become several words, or none.
    std::vector<std::string> written = {}; // files that the shell opens for its output
    bool reads_pipe = false; // its input is the output of another command of the script

    friend bool operator==(const ShellCommand&, const ShellCommand&) = default;
};

struct Script {
    // If there is an obstacle: only the commands before it. The commands of a loop come once for
    // each value that the loop writes out, unless two passes say the same.
    std::vector<ShellCommand> commands;
    bool has_input = false;    // a here-document, or a file that the shell opens for reading
    bool is_plain = true;      // commands, words and operators say all: no variables, no grammar
    std::string obstacle = {}; // if empty: `commands` are all commands that can run
};

enum class Dialect : std::uint8_t {
    sh,   // what sh, dash and bash read alike
    bash, // also braces, [[ and time
    zsh,  // more characters are special, so fewer are accepted, and no expansions or grammar
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

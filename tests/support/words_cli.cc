// Splits scripts into commands and words, for support/shells.py. Reads scripts from stdin, each
// ended by NUL, and prints one line for each: "!" if the script is not understood, or else its
// commands with " ; " between them. A word is "x" and its bytes in hexadecimal, and a file that the
// shell writes is ">" and its path in the same form.
//
//     words_cli bash|zsh
#include "core/judgement/shell_words.h"

#include <cstdio>
#include <iostream>
#include <iterator>
#include <string>
#include <string_view>

namespace {

using ew::core::Dialect;

void print(char kind, std::string_view text) {
    std::putchar(kind);
    for (const char c : text)
        std::printf("%02x", static_cast<unsigned>(static_cast<unsigned char>(c)));
    std::putchar(' ');
}

void print(const ew::core::ShellCommand& command) {
    for (const std::string& word : command.words)
        print('x', word);
    for (const std::string& path : command.written)
        print('>', path);
}

void print_script(std::string_view text, Dialect dialect) {
    const ew::core::Script script = ew::core::decompose(text, dialect, ew::core::OutputFiles::told);
    if (!script.obstacle.empty()) {
        std::puts("!");
        return;
    }
    for (std::size_t i = 0; i < script.commands.size(); ++i) {
        if (i > 0) std::fputs("; ", stdout);
        print(script.commands[i]);
    }
    std::putchar('\n');
}

} // namespace

int main(int argc, char** argv) {
    const bool is_zsh = argc > 1 && std::string_view(argv[1]) == "zsh";
    const std::string input(std::istreambuf_iterator<char>(std::cin), {});
    std::size_t at = 0;
    while (at < input.size()) {
        const std::size_t end = std::min(input.find('\0', at), input.size());
        print_script(std::string_view(input).substr(at, end - at),
                     is_zsh ? Dialect::zsh : Dialect::bash);
        at = end + 1;
    }
    return 0;
}

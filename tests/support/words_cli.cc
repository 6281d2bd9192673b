// Splits scripts into commands and words, for support/shells.py. Reads scripts from stdin, each
// ended by NUL, and prints one line for each: "!" if the script is not understood, or else "=" if
// commands, words and operators say all and "~" if not, and its commands with "; " between them. A
// word is "x" and its bytes in hexadecimal, or "?" and its bytes if a * in it stands for what is
// not known, and a file that the shell writes is ">" and its path in the same form.
//
//     words_cli sh|bash|zsh
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
    for (std::size_t i = 0; i < command.words.size(); ++i)
        print(command.has_glob[i] ? '?' : 'x', command.words[i]);
    for (const std::string& path : command.written)
        print('>', path);
}

void print_script(std::string_view text, Dialect dialect) {
    const ew::core::Script script = ew::core::decompose(text, dialect, ew::core::OutputFiles::told);
    if (!script.obstacle.empty()) {
        std::puts("!");
        return;
    }
    std::fputs(script.is_plain ? "= " : "~ ", stdout);
    for (std::size_t i = 0; i < script.commands.size(); ++i) {
        if (i > 0) std::fputs("; ", stdout);
        print(script.commands[i]);
    }
    std::putchar('\n');
}

} // namespace

int main(int argc, char** argv) {
    const std::string_view name = argc > 1 ? argv[1] : "";
    const Dialect dialect = name == "zsh"  ? Dialect::zsh
                            : name == "sh" ? Dialect::sh
                                           : Dialect::bash;
    const std::string input(std::istreambuf_iterator<char>(std::cin), {});
    std::size_t at = 0;
    while (at < input.size()) {
        const std::size_t end = std::min(input.find('\0', at), input.size());
        print_script(std::string_view(input).substr(at, end - at), dialect);
        at = end + 1;
    }
    return 0;
}

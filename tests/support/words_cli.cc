// Splits scripts into commands and words, for scripts/check/words.py. Reads scripts from stdin,
// each ended by NUL, and prints one line for each: "!" if the script is not understood, or else its
// commands with " ; " between them. A word is "x" and its bytes in hexadecimal.
#include "core/judgement/shell_words.h"

#include <cstdio>
#include <iostream>
#include <iterator>
#include <string>

namespace {

void print(const ew::core::ShellCommand& command) {
    for (const std::string& word : command.words) {
        std::putchar('x');
        for (const char c : word)
            std::printf("%02x", static_cast<unsigned>(static_cast<unsigned char>(c)));
        std::putchar(' ');
    }
}

void print(std::string_view text) {
    const ew::core::Script script = ew::core::decompose(text);
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

int main() {
    const std::string input(std::istreambuf_iterator<char>(std::cin), {});
    std::size_t at = 0;
    while (at < input.size()) {
        const std::size_t end = std::min(input.find('\0', at), input.size());
        print(std::string_view(input).substr(at, end - at));
        at = end + 1;
    }
    return 0;
}

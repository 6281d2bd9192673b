// Redirections at the beginning of a text: what they open means the same to every shell.
#pragma once

#include <cstddef>
#include <string_view>

namespace ew::core {

bool is_blank(char c);

// Returns true if an operator ends before `rest`.
bool ends_operator(std::string_view rest);

// Returns true if the character means the same to zsh without quotes. Most other characters are
// special in zsh.
bool is_plain_in_zsh(char c);

// Returns the length of a redirection that changes nothing outside the process: to or from
// /dev/null, or from one output stream into the other. Returns 0 for other redirections.
std::size_t harmless_redirection(std::string_view rest);

struct OutputFile {
    std::size_t length = 0; // of the redirection; 0 if it is none
    std::string_view path = {};
};

// Reads a redirection of stdout or stderr to a plain relative path without a hidden part. The shell
// may work in a hidden directory such as .git; only the sandbox protects what is there.
OutputFile output_file(std::string_view rest);

} // namespace ew::core

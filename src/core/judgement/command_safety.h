// What is known of programs: which command lines only read, and which destroy. Anything that is not
// listed is neither.
#pragma once

#include "core/judgement/shell_words.h"

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace ew::core {

// Does this first word name a program of the system: a bare name that is only looked up in trusted
// directories, or an absolute path that has been verified? It need not exist.
using ProgramTrust = std::function<bool(std::string_view word)>;

// The name behind the last slash.
std::string_view base_name(std::string_view path);

// A bare name, or an absolute path without the parts that can lead elsewhere than they seem to:
// "..",
// "." and "//".
bool is_straight_path(std::string_view word);

// Reads and prints at most, whatever the files it finds are called. The program must be trusted.
bool is_known_safe(const ShellCommand& command, const ProgramTrust& trust);

// Destroys what cannot be brought back: forced removal and the like, by itself or started by
// another program.
bool is_dangerous(const std::vector<std::string>& argv);

// The command itself and those it would start, as far as that is written in its words: behind sudo,
// env, xargs and the like, behind find's -exec, and in the script of a shell.
std::vector<std::vector<std::string>> with_started_commands(const std::vector<std::string>& argv);

// For each command that starts others, everything from any of its words on, shortened: what it
// would start if its options are other ones than we know.
std::vector<std::vector<std::string>>
possible_starts(const std::vector<std::vector<std::string>>& commands);

// Does the text give git subcommands other meanings, by a setting that is named in it?
bool holds_alias(std::string_view text);

// Words that start other programs (sudo, env, timeout, …), by base name.
bool is_launcher(std::string_view program);

struct ShellCall {
    Dialect dialect = Dialect::bash;
    std::string script;
    bool is_login = false;
};

// A shell of any kind, by base name.
bool is_shell(std::string_view program);

// Exactly SHELL -c SCRIPT or SHELL -lc SCRIPT, and the shell is bash, sh, dash or zsh. A SCRIPT
// that begins with - or + is one more option to it.
bool is_plain_shell_call(const std::vector<std::string>& argv);
ShellCall shell_call(const std::vector<std::string>& argv); // of a plain one

} // namespace ew::core

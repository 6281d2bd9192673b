// Knowledge about programs: which command lines only read, and which destroy data. A command line
// that is not listed is neither.
#pragma once

#include "core/judgement/shell_words.h"

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace ew::core {

// Returns true if this first word names a program of the system: a bare name that is only looked up
// in trusted directories, or a verified absolute path. The program need not exist.
using ProgramTrust = std::function<bool(std::string_view word)>;

// Returns the part behind the last slash.
std::string_view base_name(std::string_view path);

// Returns true for a bare name, and for an absolute path without the components that can lead
// elsewhere: "..", "." and "//".
bool is_straight_path(std::string_view word);

// Returns true if the command at most reads and prints, regardless of the names of the files that
// it finds. The program must be trusted.
bool is_known_safe(const ShellCommand& command, const ProgramTrust& trust);

// Returns true if the command destroys data for good (for example rm -f), either itself or through
// a program that it starts.
bool is_dangerous(const std::vector<std::string>& argv);

enum class Danger : std::uint8_t {
    none,
    possible, // not all of the commands that they may start were looked at
    certain,
};

// The same for several commands.
Danger danger_in(const std::vector<std::vector<std::string>>& commands);

struct ShellCall {
    Dialect dialect = Dialect::bash;
    std::string script;
    bool is_login = false;
};

// Returns true for a shell of any kind, by base name.
bool is_shell(std::string_view program);

// Returns true for commands that a shell carries out itself, without a program.
bool is_shell_builtin(std::string_view word);

// Returns true for exactly SHELL -c SCRIPT or SHELL -lc SCRIPT with the shell bash, sh, dash or
// zsh. A SCRIPT that begins with - or + would be another option of the shell, so it is excluded.
bool is_plain_shell_call(const std::vector<std::string>& argv);
ShellCall shell_call(const std::vector<std::string>& argv); // argv must be a plain shell call

} // namespace ew::core

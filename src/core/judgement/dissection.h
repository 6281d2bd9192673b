// Takes a command line apart into the commands that it runs: through a shell's script, and through
// the shells in it.
#pragma once

#include "core/judgement/command_safety.h"
#include "core/judgement/rules.h"

#include <string>
#include <string_view>
#include <vector>

namespace ew::core {

struct JudgedCommand;

// One command of a script, or a whole argv.
struct Part {
    ShellCommand command;
    std::string obstacle = {}; // it runs more than its words say, and this is why nobody knows
    std::vector<Words> inner_shells = {}; // calls of shells, in the script, that led to it
    std::vector<Words> fed = {};          // what the script may give it as input, if it is a shell
    bool is_in_shell = false;             // builtins are at hand
    bool has_left_workspace = false; // it runs elsewhere, or a `cd` before it may have led there
    std::string program = {};        // the file that its first word stands for; empty: not known
};

// The argv itself if it is no shell with a script. Never empty.
std::vector<Part> take_apart(const JudgedCommand& judged, const ProgramTrust& trust);

// The words with the name of what runs in front. Empty if that is the first word's, or not known.
Words words_of_program(const Part& part);

// Is the first word the name of a program of the system, and what runs that program? A path that is
// a symlink is no proof of its name: the file behind it must be trusted too.
bool is_trusted_start(const Part& part, const ProgramTrust& trust);

} // namespace ew::core

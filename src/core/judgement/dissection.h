// Decomposes a command line into the commands that it runs, including those in scripts of nested
// shells.
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
    std::string obstacle = {};            // why it may run more than its words say; empty if not
    std::vector<Words> inner_shells = {}; // the calls of inner shells that led to this command
    std::vector<Words> fed = {}; // commands that the script may send to its stdin, if it is a shell
    bool is_fed_whole = true;    // these are all of them
    bool is_in_shell = false;    // it can be a shell builtin
    bool has_input = false;      // its script feeds text or files to some of its commands
    bool is_plain = true;        // so is its script: see Script
    bool has_left_workspace = false; // it runs outside, or an earlier `cd` may have left
    std::string program = {};        // the file of its first word; empty if unknown
    bool is_elsewhere = false;       // on another machine, whose programs cannot be examined
};

// The argv itself if it is no shell with a script. Never empty.
std::vector<Part> take_apart(const JudgedCommand& judged, const ProgramTrust& trust);

// Returns the words, with the first one replaced by the name of the program file. Returns no words
// if that name is the same, or unknown.
Words words_of_program(const Part& part);

// Returns true if the first word names a program of the system, and that program is what runs. A
// path that is a symlink does not prove its name: the file behind it must be trusted too.
bool is_trusted_start(const Part& part, const ProgramTrust& trust);

} // namespace ew::core

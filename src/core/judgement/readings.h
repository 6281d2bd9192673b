// What a part of a script may run, for rules that ask or forbid. These rules look at every command
// that the words could start, whatever stands before it.
#pragma once

#include "core/judgement/dissection.h"

#include <string>
#include <vector>

namespace ew::core {

struct Readings {
    std::vector<Words> commands; // the command itself, and the commands that it visibly starts
    std::vector<Words> behind;   // words behind programs that may start any of them; also the words
                                 // of the texts among them
    bool has_alias = false;      // git subcommands may be redefined
    bool has_pattern = false;    // the shell may replace words
    bool is_whole = true;        // everything was examined
};

Readings readings_of(const Part& part, const ProgramTrust& trust);

} // namespace ew::core

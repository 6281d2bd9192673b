// Finds out what this machine can enforce by doing it: a sandbox is built over a scratch tree and
// forbidden things are tried in it. Version numbers lie in containers; this does not.
#pragma once

#include "base/clock.h"
#include "base/result.h"
#include "sandbox/machine.h"

#include <optional>
#include <string>
#include <string_view>

namespace ew::sandbox {

// How long run_trial() waits at most for all that it tries, and then ends it.
constexpr Millis longest_trial{20'000};

struct TrialPlaces {
    std::string init;            // the path of execward-init that is fixed at build time
    std::string state_directory; // where what was found is kept; empty: nowhere
};

// A machine that can enforce nothing has no `init`, even if the program is there.
//
// Waits for it, for longest_trial and a little more for cleaning up. Run it in an errand (which
// inherits no threads), or where waiting is right. Leaves nothing behind, also when it is killed: a
// process of its own sees to that. If that one is killed too, the next trial does.
Machine run_trial(const TrialPlaces& places);

// What was found before, if it was found in this boot, by this build and user, in the same
// surroundings (namespaces, capabilities, system call filters), with the same bubblewrap and
// execward-init, and was everything. What a machine lacks is not kept: it may have been repaired.
std::optional<Machine> remembered_trial(const TrialPlaces& places);

// Of a machine with troubles nothing is kept, nor is what was found before. What goes wrong here
// costs another trial, and no more.
void remember_trial(const TrialPlaces& places, const Machine& machine);

// For the pipe of an errand, and the file. Error: internal, the text is no whole machine.
std::string encode(const Machine& machine);
Result<Machine> decode_machine(std::string_view text);

} // namespace ew::sandbox

// Finds out what this machine can enforce by doing it: a sandbox is built over a scratch tree and
// forbidden things are tried in it. Version numbers lie in containers; this does not.
#pragma once

#include "base/clock.h"
#include "base/result.h"
#include "sandbox/policy/machine.h"

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

} // namespace ew::sandbox

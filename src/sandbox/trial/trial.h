// Finds out what this machine can enforce by trying it: builds a sandbox over a scratch tree and
// tries forbidden things in it. Version numbers can mislead in containers; a trial cannot.
#pragma once

#include "base/clock.h"
#include "base/result.h"
#include "sandbox/policy/machine.h"

#include <optional>
#include <string>
#include <string_view>

namespace ew::sandbox {

// How long run_trial() may take for all that it tries.
constexpr Millis longest_trial{20'000};

struct TrialPlaces {
    std::string init;            // the path of execward-init that is fixed at build time
    std::string state_directory; // where the result is kept; empty: nowhere
};

// A machine that can enforce nothing has no `init`, even if the program exists.
//
// Waits for longest_trial at most, and a little more for cleaning up. Run it in an errand (which
// inherits no threads), or where waiting is allowed. It leaves nothing behind, even if it is
// killed: then a process of its own removes the scratch tree. If that process is killed too, the
// next trial removes it.
Machine run_trial(const TrialPlaces& places);

} // namespace ew::sandbox

// Judges the findings of a probe run: which guarantees the machine really gives.
#pragma once

#include "sandbox/policy/machine.h"
#include "sandbox/trial/probe_run.h"

#include <vector>

namespace ew::sandbox {

// If a probe went through although the machine gives the guarantee against it, the guarantee is
// taken away and becomes a trouble.
void apply_trial_verdict(Machine& machine, const std::vector<Finding>& findings, Network network);

} // namespace ew::sandbox

// What the findings of a run of the probes mean for what a machine promises.
#pragma once

#include "sandbox/policy/machine.h"
#include "sandbox/trial/probe_run.h"

#include <vector>

namespace ew::sandbox {

// What went through although the machine promises that it does not is promised no more, and becomes
// a trouble.
void apply_trial_verdict(Machine& machine, const std::vector<Finding>& findings, Network network);

} // namespace ew::sandbox

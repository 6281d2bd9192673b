// What the findings of an attempt mean for what a machine promises.
#pragma once

#include "sandbox/policy/machine.h"
#include "sandbox/trial/attempt.h"

#include <vector>

namespace ew::sandbox {

// What went through although the machine promises that it does not is promised no more, and becomes
// a trouble.
void judge(Machine& machine, const std::vector<Finding>& findings, Network network);

} // namespace ew::sandbox

// The error for a person if a command cannot be confined as the policy requires.
#pragma once

#include "base/error.h"
#include "sandbox/policy/machine.h"

namespace ew::sandbox {

// Returns an error of kind sandbox_unavailable that names each missing guarantee, the obstacle on
// this machine, and the way out.
Error refusal(const Machine& machine, GuaranteeSet missing);

} // namespace ew::sandbox

// The entries of a policy as rules for places on this machine: links resolved, patterns expanded,
// special places found. The first step of a plan.
#pragma once

#include "sandbox/plan/path_rules.h"
#include "sandbox/policy/policy.h"

namespace ew::sandbox {

// Errors: see make_plan.
Result<PathRules> rules_of(const Policy& policy, const Context& context, int walker = -1);

} // namespace ew::sandbox

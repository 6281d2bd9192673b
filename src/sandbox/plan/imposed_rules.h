// The rules that no entry of a policy names: a private /tmp, the run-time directories of users, and
// execward's own files.
#pragma once

#include "base/result.h"
#include "sandbox/plan/path_rules.h"
#include "sandbox/policy/policy.h"

namespace ew::sandbox {

// To be called after the rules of the entries and the workspace. Errors: see make_plan.
Result<void> impose_rules(PathRules& rules, const Policy& policy, const Context& context);

} // namespace ew::sandbox

// The caches of compilers and package managers, which lie in the home directory and are needed even
// to build: in a sandbox they are read-only, so their tools fail (each tool's documentation names
// the variable).
#pragma once

#include "sandbox/plan/plan.h"
#include "sandbox/policy/policy.h"

#include <string>
#include <utility>
#include <vector>

namespace ew::sandbox {

using Environment = std::vector<std::pair<std::string, std::string>>;

// Returns the variables that lead the caches to where the policy wants them, without those that the
// environment of the command has. Caches that also hold what cannot be made anew without a network,
// or settings, are led there only where its home directory has none. Looks at the disk.
Environment cache_variables(const Environment& environment, const Policy& policy, const Plan& plan);

} // namespace ew::sandbox

// Paths that stay read-only in writable trees although no entry names them: files that git and
// agents would execute or obey. The second step of a plan.
#pragma once

#include "sandbox/plan/path_rules.h"
#include "sandbox/policy/policy.h"

namespace ew::sandbox {

// Adds rules for .git, .agents, .codex and .execward at the top of the writable roots, for what
// Policy::read_only names, and for git repositories anywhere in them. Existing rules stay.
// With Context::looks_afterwards it also fills PathRules::look.
void protect_metadata(PathRules& rules, const Policy& policy, const Context& context);

} // namespace ew::sandbox

// Paths that stay read-only in writable trees although no entry names them: files that git and
// agents would execute or obey. The second step of a plan.
#pragma once

#include "sandbox/plan/path_rules.h"

namespace ew::sandbox {

// Adds rules for .git, .agents, .codex and .execward at the top of the writable roots, and for git
// repositories anywhere in them. Existing rules stay. `looks_afterwards`: see Context; then it also
// fills PathRules::look.
void protect_metadata(PathRules& rules, bool looks_afterwards);

} // namespace ew::sandbox

// What stays read-only in writable trees although nobody named it: what git and agents would
// execute or obey. The second step of a plan.
#pragma once

#include "sandbox/plan/path_rules.h"

namespace ew::sandbox {

// Adds rules for .git, .agents, .codex and .execward at the top of what may be written, and for git
// repositories anywhere in it. Rules that are there already stay.
void protect_metadata(PathRules& rules);

} // namespace ew::sandbox

// Carries out a planned patch: stages the new files, checks the old ones again, and exchanges them.
#pragma once

#include "files/outcome.h"
#include "files/patch/patch_journal.h"
#include "files/patch/patch_plan.h"

namespace ew::files {

// Carries out all steps of the journal, or none.
Failure carry_out(const PatchPlan& plan, const Journal& journal);

} // namespace ew::files

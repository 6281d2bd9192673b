// A planned patch carried out: staged, looked at again, exchanged.
#pragma once

#include "files/outcome.h"
#include "files/patch/patch_journal.h"
#include "files/patch/patch_plan.h"

namespace ew::files {

// All steps of the journal, or none.
Failure carry_out(const PatchPlan& plan, const Journal& journal);

} // namespace ew::files

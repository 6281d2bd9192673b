// Tests whether a patch can change a file. In a sandbox, this shows whether the policy allows it,
// before anything is changed.
#pragma once

#include "files/patch/patch_report.h"

namespace ew::files {

// Returns true if, as far as can be told without a change, the directories of the file and of its
// destination accept new files, and neither is a mount point, which cannot be replaced. For a
// missing directory, the nearest existing one counts.
bool may_be_changed(const PatchedFile& file);

} // namespace ew::files

// Can a patch change a file here? In a sandbox that says whether the policy lets it, before
// anything is tried.
#pragma once

#include "files/patch/patch_report.h"

namespace ew::files {

// As far as it can be told without changing anything: the directories of the file and of its
// destination take new files, and neither is a mount of its own, which nothing can replace. Of
// directories that are to be made, the nearest that is there counts.
bool may_be_changed(const PatchedFile& file);

} // namespace ew::files

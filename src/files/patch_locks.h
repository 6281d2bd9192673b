// One patch at a time in each directory: two that change the same files would undo each other in
// part. Only processes that apply patches know of these locks.
#pragma once

#include "base/unique_fd.h"
#include "files/outcome.h"
#include "files/patch_journal.h"

#include <vector>

namespace ew::files {

constexpr std::size_t most_locked_directories = 500; // each is a descriptor

// flock(2) on the directories of the journal that are there, for as long as this lives. Where that
// cannot be had, such as on NFS, there is none.
class PatchLocks {
public:
    // Waits up to 10 s for other patches. Trouble::limit: too many directories.
    Failure take(const Journal& journal);

private:
    std::vector<UniqueFd> directories_ = {};
};

} // namespace ew::files

// Undoes or finishes a patch that was interrupted. Only the bytes on disk decide. It may be
// interrupted and repeated at any point.
#pragma once

#include "files/outcome.h"
#include "files/patch/patch_journal.h"
#include "files/patch/patch_report.h"

#include <string>

namespace ew::files {

enum class Direction {
    by_what_is_there, // forward if everything had been exchanged, else back
    back,
    to_the_end,
};

// Once the direction is known, does everything that is possible in spite of failures. Returns the
// first failure.
Failure settle(const Journal& journal, Direction direction, RecoveryReport& report);

// Writes directory entries to disk (fsync(2)).
Failure sync_directories(const Journal& journal);

// Renames within a directory, to a name that must be free. Returns false and sets errno on failure.
bool rename_to_free(int directory, const std::string& from, const std::string& to);

} // namespace ew::files

// The way back, or to the end, of a patch that is somewhere in between. What is there decides, by
// its bytes alone; it may stop anywhere and be done again.
#pragma once

#include "files/outcome.h"
#include "files/patch/patch_journal.h"
#include "files/patch/patch_report.h"

#include <string>

namespace ew::files {

enum class Direction {
    by_what_is_there, // to the end if everything had been exchanged, else back
    back,
    to_the_end,
};

// Everything that can be done is done, whatever fails, once the direction is known; the first
// failure is returned.
Failure settle(const Journal& journal, Direction direction, RecoveryReport& report);

// Writes what directories say to the disk.
Failure sync_directories(const Journal& journal);

// From one name to another that is free, in one directory. False, with errno.
bool rename_to_free(int directory, const std::string& from, const std::string& to);

} // namespace ew::files

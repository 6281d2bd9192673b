// Patches that are applied as a whole or not at all. All new content is written beside what it is
// to replace, everything is looked at again, and then one name after the other is exchanged; an
// error before the last of them undoes the others. What is killed in between is undone or finished
// by recover_patch(), for which a journal has to be written first (patch_journal.h).
#pragma once

#include "files/outcome.h"
#include "files/patch/patch_report.h"

#include <string>
#include <string_view>
#include <vector>

namespace ew::files {

constexpr std::size_t most_patched_bytes = 128U << 20; // of all files, old and new

struct PatchOrder {
    std::string base = {};  // absolute: what relative paths are relative to
    std::string patch = {}; // the text
    // Canonical directories, in one of which all has to lie that is changed, links resolved. None:
    // it may lie anywhere.
    std::vector<std::string> roots = {};
    std::vector<std::string> stand_ins = {}; // as in Request
};

// What the patch would change. Changes nothing.
Failure check_patch(const PatchOrder& order, PatchReport& report);

// How the change is known while it goes on.
struct PatchTicket {
    std::string token = {};    // of the journal that has been written
    std::string expected = {}; // the digest of the report that the journal is of
};

// Everything is changed, or nothing; the journal is done with, unless the failure is
// Trouble::not_undone. Trouble::changed: the report is another by now.
Failure apply_patch(const PatchOrder& order, const PatchTicket& ticket, PatchReport& report);

// Undoes or finishes what an apply_patch() that was killed has left. May be killed itself, and done
// again. The journal is done with if it returns no failure.
Failure recover_patch(std::string_view journal, RecoveryReport& report);

} // namespace ew::files

// Applies a patch completely or not at all. All new content is written next to the old files,
// everything is checked again, and then the names are exchanged one by one. An error before the
// last exchange undoes the others. If the process is killed in between, recover_patch() undoes or
// finishes the patch; for this, a journal must be written first (patch_journal.h).
#pragma once

#include "files/outcome.h"
#include "files/patch/patch_report.h"

#include <string>
#include <string_view>
#include <vector>

namespace ew::files {

constexpr std::size_t most_patched_bytes = 128U << 20; // all files, old and new

struct PatchOrder {
    std::string base = {};  // absolute: the directory that relative paths start from
    std::string patch = {}; // the text of the patch
    // Canonical directories; every changed file, with symlinks resolved, must be in one of them.
    // Without roots, files may be anywhere.
    std::vector<std::string> roots = {};
    std::vector<std::string> stand_ins = {}; // as in Request
};

// Reports what the patch would change. Changes nothing.
Failure check_patch(const PatchOrder& order, PatchReport& report);

// Identifies the change while it is carried out.
struct PatchTicket {
    std::string token = {};    // the token of the journal
    std::string expected = {}; // the digest of the report that the journal was made from
};

// Changes everything or nothing. The journal is no longer needed, unless the failure is
// Trouble::not_undone. Fails with Trouble::changed if the report differs from the expected one.
Failure apply_patch(const PatchOrder& order, const PatchTicket& ticket, PatchReport& report);

// Undoes or finishes the work of an apply_patch() that was killed. It may be killed itself and
// repeated. If it returns no failure, the journal is no longer needed.
Failure recover_patch(std::string_view journal, RecoveryReport& report);

} // namespace ew::files

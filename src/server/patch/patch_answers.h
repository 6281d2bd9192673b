// The messages to the client about a patch: its files and the answers to its request. The answer to
// exec/command looks like that of a command that has ended.
#pragma once

#include "base/clock.h"
#include "base/error.h"
#include "files/patch/patch_report.h"
#include "protocol/patched_file.h"
#include "server/patch/pending_patch.h"

#include <vector>

namespace ew::server {

// Moves the members that only the client gets out of `report`: the diffs.
std::vector<protocol::PatchedFile> take_shown(files::PatchReport& report);

void answer_checked(PendingPatch& patch);

void answer_applied(PendingPatch& patch, TimePoint now);

void answer_failed(PendingPatch& patch, const Error& error, TimePoint now);

} // namespace ew::server

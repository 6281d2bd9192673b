// What the client is told of a patch: its files and the answers to its request. An answer to
// exec/command looks like that of a command that has ended.
#pragma once

#include "base/clock.h"
#include "base/error.h"
#include "files/patch/patch_report.h"
#include "protocol/patched_file.h"
#include "server/patch/pending_patch.h"

#include <vector>

namespace ew::server {

// Takes what only the client gets from `report`: the diffs.
std::vector<protocol::PatchedFile> take_shown(files::PatchReport& report);

void answer_checked(PendingPatch& patch);

void answer_applied(PendingPatch& patch, TimePoint now);

void answer_failed(PendingPatch& patch, const Error& error, TimePoint now);

} // namespace ew::server

// A patch from its request to its answer: what was asked for, and what is known about it so far.
#pragma once

#include "base/clock.h"
#include "core/patch_call.h"
#include "files/patch/patch_report.h"
#include "protocol/patch.h"
#include "protocol/patched_file.h"
#include "server/connection/reply.h"
#include "server/exec/wait_terms.h"
#include "server/patch/journal_keeper.h"
#include "server/patch/patch_ruling.h"
#include "server/request/sandbox_request.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace ew::server {

struct PendingPatch {
    Reply reply;
    core::patch_call::Purpose purpose = core::patch_call::Purpose::apply;
    std::optional<WaitTerms> command = {}; // it came as exec/command
    protocol::PatchApplyParams params = {};
    std::string call_id = {};
    std::string workdir = {};                 // absolute, symlinks resolved
    std::optional<SandboxOrder> sandbox = {}; // in which the files are changed
    TimePoint began_at = {};
    core::patch_call::State state = {};
    files::PatchReport report = {};
    std::vector<protocol::PatchedFile> shown = {}; // the same for the client
    PatchRuling ruling = {};
    std::optional<TimePoint> asked_at = {};
    std::uint64_t approval_ms = 0;
    std::unique_ptr<JournalKeeper> journal = {}; // since it may be applied
};

} // namespace ew::server

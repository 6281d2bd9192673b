// A patch from its request to its answer: the request, and the facts known about it.
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
    std::optional<WaitTerms> command = {}; // set if it came as exec/command
    protocol::PatchApplyParams params = {};
    std::string call_id = {};
    std::string workdir = {};                 // absolute, symlinks resolved
    std::optional<SandboxOrder> sandbox = {}; // the sandbox for its changes
    TimePoint began_at = {};
    core::patch_call::State state = {};
    files::PatchReport report = {};
    std::vector<protocol::PatchedFile> shown = {}; // the files as the client is shown them
    PatchRuling ruling = {};
    std::optional<TimePoint> asked_at = {};
    std::uint64_t approval_ms = 0;
    std::unique_ptr<JournalKeeper> journal = {}; // set once it may be applied
};

} // namespace ew::server

// Decides whether a checked patch is applied, is a question, or is refused.
#pragma once

#include "core/judgement/policy_types.h"
#include "core/patch_call.h"
#include "files/patch/patch_report.h"
#include "server/approval/gate.h"
#include "server/session/session.h"

#include <string>
#include <vector>

namespace ew::server {

struct PatchRuling {
    core::Decision decision = core::Decision::prompt;
    std::string reason = {};
    std::string decided_by = {}; // policy, grant or client
    std::string rule = {};       // "grant 12"
};

// The patch to rule on.
struct PatchInQuestion {
    const files::PatchReport& report;
    const std::string& workdir;
    bool is_confined = false;      // it asks for a sandbox
    bool is_check = false;         // it is not applied, so no approval is used
    bool may_be_unconfined = true; // the server also works without a sandbox
};

PatchRuling rule_on(const PatchInQuestion& patch, const Session& session, Gate& gate);

// Returns the verdict for a ruling. It depends on whether the client answers questions.
core::patch_call::Verdict verdict_of(const PatchRuling& ruling, const Session& session);

// Returns the key of an approval that lets patches change this file.
std::string approval_key_of(const std::string& path);

// Returns the paths of all files that the patch writes or removes.
std::vector<std::string> places_of(const files::PatchReport& report);

// Returns the first file that the sandbox does not let programs write. Returns null if there is
// none.
const files::PatchedFile* find_unwritable(const files::PatchReport& report);

} // namespace ew::server

// Whether a patch that was checked is applied, must be asked about, or is refused.
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

// What is ruled on.
struct PatchInQuestion {
    const files::PatchReport& report;
    const std::string& workdir;
    bool is_confined = false;      // a sandbox is asked for
    bool is_check = false;         // it is not applied, so no approval is used
    bool may_be_unconfined = true; // the server does things without a sandbox, too
};

PatchRuling rule_on(const PatchInQuestion& patch, const Session& session, Gate& gate);

// What the ruling means to a client that answers questions, or does not.
core::patch_call::Verdict verdict_of(const PatchRuling& ruling, const Session& session);

// Of an approval that lets patches change a file.
std::string approval_key_of(const std::string& path);

// All files that are written or removed.
std::vector<std::string> places_of(const files::PatchReport& report);

// The first file that the sandbox does not let be written. Returns null if there is none.
const files::PatchedFile* find_unwritable(const files::PatchReport& report);

} // namespace ew::server

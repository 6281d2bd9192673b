// The possible answers to a question about a command, and the scope of each answer.
#pragma once

#include "core/judgement/judgement.h"
#include "protocol/approval.h"
#include "sandbox/policy/policy.h"
#include "server/request/exec_request.h"
#include "server/session/session.h"

#include <optional>
#include <string>
#include <vector>

namespace ew::server {

// The places that an approval of a plan can count for, beyond its directory.
struct ApprovalExtent {
    std::string workspace_root = {}; // that holds the directory; empty: no root does
    std::string project = {};        // that holds the directory; empty: no project does
};

ApprovalExtent extent_of(const ExecPlan& plan, const Session& session);

// The same for a directory of this machine.
ApprovalExtent extent_at(const std::string& directory, const Session& session);

// The choices before the command runs.
std::vector<protocol::ApprovalChoice> choices(const ApprovalExtent& extent,
                                              const core::Judgement& judgement,
                                              protocol::ApprovalKind kind);

// The choices after a first attempt. `widening` would let through the refused accesses.
std::vector<protocol::ApprovalChoice>
retry_choices(const ApprovalExtent& extent, const std::optional<sandbox::Additions>& widening);

} // namespace ew::server

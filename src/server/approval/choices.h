// What may be answered to a question about a command, and how far each answer counts.
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

// What an approval of a plan can count for, beyond its directory.
struct ApprovalExtent {
    std::string workspace_root = {}; // that the directory is in; empty: in none
    std::string project = {};        // that the directory is in; empty: in none
};

ApprovalExtent extent_of(const ExecPlan& plan, const Session& session);

// Before the command runs.
std::vector<protocol::ApprovalChoice> choices(const ApprovalExtent& extent,
                                              const core::Judgement& judgement,
                                              protocol::ApprovalKind kind);

// After a first attempt; `widening` would let through what was refused to it.
std::vector<protocol::ApprovalChoice>
retry_choices(const ApprovalExtent& extent, const std::optional<sandbox::Additions>& widening);

} // namespace ew::server

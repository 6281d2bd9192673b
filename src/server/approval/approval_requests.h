// The requests about approvals and rules: approvals/*, policy/explain.
#pragma once

#include "protocol/policy.h"
#include "protocol/stored_approvals.h"
#include "server/approval/gate.h"
#include "server/approval/records.h"
#include "server/connection/reply.h"
#include "server/session/session.h"

namespace ew::server {

class ApprovalRequests {
public:
    ApprovalRequests(const Session& session, Gate& gate, Records& records)
        : session_(session), gate_(gate), records_(records) {}

    void list(Reply reply);
    void handle(Reply reply, const protocol::ApprovalsRevokeParams& params);
    void handle(Reply reply, const protocol::ApprovalsGrantParams& params);
    void handle(Reply reply, const protocol::PolicyExplainParams& params);

private:
    const Session& session_;
    Gate& gate_;
    Records& records_;
};

} // namespace ew::server

// A call of exec/command that is not answered: what was asked for, how it was judged, how far it
// is.
#pragma once

#include "base/clock.h"
#include "core/exec_call.h"
#include "protocol/exec.h"
#include "server/approval/gate.h"
#include "server/connection/reply.h"
#include "server/exec/wait_terms.h"
#include "server/request/exec_request.h"
#include "store/audit.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace ew::server {

struct Call {
    Reply reply;
    protocol::ExecCommandParams params;
    std::string call_id;
    ExecPlan plan;
    Gate::Ruling ruling;
    WaitTerms terms;
    core::exec_call::State state;
    std::optional<TimePoint> asked_at = {}; // a question is open, or was just answered
    std::uint64_t approval_ms = 0;
    std::uint64_t attempts = 0;
    std::uint64_t process = 0; // serial, of the last attempt that was begun; 0: none
    std::uint64_t first = 0;   // of the attempt that ran, while a second one is on its way
    // After a first attempt that was refused something: what would let it through, and which
    // earlier approval allows that.
    std::optional<sandbox::Additions> widening = {};
    std::string allowed_by = {};
};

// As exec/list shows it, without its process.
protocol::ExecCallInfo info_of(const Call& call);

// A row of the audit about what became of a call.
store::AuditRow audit_row(const Call& call, std::string_view event, std::string detail);

} // namespace ew::server

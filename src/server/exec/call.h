// A call of exec/command that is not answered yet: its request, its ruling and its state.
#pragma once

#include "base/clock.h"
#include "core/exec_call.h"
#include "protocol/exec.h"
#include "protocol/exec_list.h"
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

// A command with its ruling. `execward run` has one, too.
struct JudgedCall {
    protocol::ExecCommandParams params;
    std::string call_id;
    ExecPlan plan;
    Gate::Ruling ruling;
    std::uint64_t attempts = 0;
    std::uint64_t edits = 0; // how often a person replaced the command
    std::optional<protocol::ExecEdit> edited = {};
};

struct Call : JudgedCall {
    Reply reply;
    WaitTerms terms;
    core::exec_call::State state;
    std::optional<TimePoint> asked_at = {}; // a question is open, or was just answered
    std::uint64_t approval_ms = 0;
    std::uint64_t process = 0; // serial number of the last attempt that was begun; 0: none
    std::uint64_t first = 0;   // serial number of the first attempt, while a second one is starting
    // Set after a first attempt with denials: the permissions that would have let it through, and
    // the earlier approval that covers them.
    std::optional<sandbox::Additions> widening = {};
    std::string allowed_by = {};
    std::string denied_by = {}; // the denial that prevents a second attempt, and its question
};

// Returns the call as exec/list shows it, without its process.
protocol::ExecCallInfo info_of(const Call& call);

// Returns the error, which says so if a person edited the command.
Error told(const Call& call, Error error);

// Returns an audit row about the outcome of a call.
store::AuditRow audit_row(const JudgedCall& call, std::string_view event, std::string detail);

} // namespace ew::server

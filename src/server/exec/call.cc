#include "server/exec/call.h"

#include "core/text/display.h"
#include "core/text/long_words.h"
#include "json/strings.h"
#include "protocol/policy.h"

#include <fmt/format.h>

#include <utility>
#include <variant>

namespace ew::server {

namespace exec_call = core::exec_call;
using protocol::ExecCallState;

namespace {

struct StateName {
    ExecCallState operator()(const exec_call::state::Asking&) { return ExecCallState::asking; }

    ExecCallState operator()(const exec_call::state::Starting&) { return ExecCallState::starting; }

    ExecCallState operator()(const exec_call::state::Running&) { return ExecCallState::running; }

    ExecCallState operator()(const exec_call::state::AskingToRetry&) {
        return ExecCallState::asking_to_retry;
    }

    // An answered call is removed before a client can list it.
    ExecCallState operator()(const exec_call::state::Answered&) { return ExecCallState::running; }
};

} // namespace

protocol::ExecCallInfo info_of(const Call& call) {
    protocol::ExecCallInfo info;
    info.call_id = call.call_id;
    info.environment = call.plan.environment_id();
    info.state = std::visit(StateName(), call.state);
    info.argv = core::shown_words(call.plan.argv);
    return info;
}

Error told(const Call& call, Error error) {
    if (call.edited)
        error.message +=
            fmt::format(" (a person edited the command: {} in place of {})",
                        core::shell_quoted(call.edited->to), core::shell_quoted(call.edited->from));
    return error;
}

store::AuditRow audit_row(const JudgedCall& call, std::string_view event, std::string detail) {
    store::AuditRow row;
    row.call = call.call_id;
    row.event = event;
    row.argv = json::strings_to_json(core::shown_words(call.plan.argv));
    row.directory = call.plan.workdir;
    row.decision = json::name_of(call.ruling.decision);
    row.decided_by = call.ruling.decided_by;
    row.rule = call.ruling.rule;
    row.detail = std::move(detail);
    if (call.plan.remote)
        row.detail.insert(0, fmt::format("environment {}: ", call.plan.remote->environment));
    return row;
}

} // namespace ew::server

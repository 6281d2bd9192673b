// What the effects of a call do: starts and answers. Its questions are in exec_questions.
#include "json/strings.h"
#include "server/connection/notify.h"
#include "server/environment/remote_plan.h"
#include "server/exec/exec_results.h"
#include "server/exec/exec_service.h"

#include <fmt/format.h>

#include <utility>

namespace ew::server {

namespace effect = core::exec_call::effect;
namespace event = core::exec_call::event;
using core::SandboxPermissions;
using core::exec_call::Bounds;

namespace {

std::vector<std::vector<std::string>> words_of(const core::Judgement& judgement) {
    std::vector<std::vector<std::string>> commands;
    for (const core::CommandVerdict& verdict : judgement.commands)
        commands.push_back(verdict.words);
    return commands;
}

} // namespace

void ExecService::audit(const Call& call, std::string_view event, std::string detail) {
    store::AuditRow row;
    row.call = call.call_id;
    row.event = event;
    row.argv = json::strings_to_json(call.plan.argv);
    row.directory = call.plan.workdir;
    row.decision = json::name_of(call.ruling.decision);
    row.decided_by = call.ruling.decided_by;
    row.rule = call.ruling.rule;
    row.detail = std::move(detail);
    if (call.plan.remote)
        row.detail.insert(0, fmt::format("environment {}: ", call.plan.remote->environment));
    records_.audit(std::move(row));
}

void ExecService::audit_start(const Call& call, const Attempt& attempt,
                              const std::string& process) {
    const protocol::Confinement confinement = expected_confinement(call.plan, attempt.extra);
    const bool is_confined = confinement.type != protocol::SandboxType::none;
    const std::string more = described(attempt.extra.additions);
    store::AuditRow row;
    row.call = call.call_id;
    row.event = "start";
    row.argv = json::strings_to_json(call.plan.argv);
    row.directory = call.plan.workdir;
    row.decision = json::name_of(core::Decision::allow);
    row.decided_by = attempt.decided_by;
    row.rule = attempt.rule.value_or("");
    const std::string where =
        call.plan.remote ? fmt::format("environment {}, ", call.plan.remote->environment) : "";
    row.detail =
        fmt::format("{}process {}, attempt {}, sandbox: {}{}{}", where, process, call.attempts,
                    text_of(confinement), is_confined && !more.empty() ? ", and it may " : "",
                    is_confined ? more : "");
    records_.audit(std::move(row));
}

std::string ExecService::next_id() {
    std::string id = fmt::format("{}", next_id_++);
    while (processes_.find(id) != nullptr)
        id = fmt::format("{}", next_id_++);
    return id;
}

// What a second attempt may reach. It keeps what the call was granted.
ExtraPermissions ExecService::again(const Call& call, Bounds bounds) {
    if (bounds == Bounds::none) return {SandboxPermissions::require_escalated, {}};
    return {SandboxPermissions::with_additional_permissions,
            together(call.plan.extra.additions, call.widening.value_or(sandbox::Additions{}))};
}

ExecService::Attempt ExecService::attempt_for(const Call& call, Bounds bounds,
                                              bool was_asked) const {
    Attempt attempt;
    attempt.extra = call.plan.extra;
    attempt.is_harmless = call.ruling.is_harmless && call.attempts == 0;
    attempt.decided_by = was_asked ? "client" : call.ruling.decided_by;
    attempt.reason = was_asked ? "approved" : call.ruling.decided_by;
    if (!call.ruling.rule.empty()) attempt.rule = call.ruling.rule;
    if (call.attempts == 0) return attempt;
    attempt.extra = again(call, bounds);
    attempt.rule.reset();
    attempt.reason = was_asked ? "approved" : "allowed before";
    if (!was_asked) {
        attempt.decided_by = "grant";
        attempt.rule = call.allowed_by;
        attempt.reason += fmt::format(" ({})", call.allowed_by);
    }
    attempt.reason += bounds == Bounds::none
                          ? std::string(" to run again without a sandbox")
                          : fmt::format(" to run again in the sandbox, where it may also {}",
                                        described(*call.widening));
    return attempt;
}

std::unique_ptr<ExecProcess> ExecService::record_of(std::uint64_t serial, const Call& call,
                                                    const Attempt& attempt,
                                                    const std::string& id) const {
    auto exec = std::make_unique<ExecProcess>();
    exec->call = serial;
    exec->begin.call_id = call.call_id;
    exec->begin.process_id = id;
    exec->begin.environment = call.plan.environment_id();
    exec->begin.mode = call.plan.mode;
    exec->begin.argv = call.plan.argv;
    exec->begin.program = call.plan.program;
    exec->begin.workdir = call.plan.workdir;
    exec->begin.commands = words_of(call.ruling.judgement);
    exec->begin.decided_by = attempt.decided_by;
    exec->begin.rule = attempt.rule;
    exec->begin.dropped_env = call.plan.environment.dropped;
    exec->stdin_text = call.params.stdin_text;
    exec->max_tokens = call.terms.max_tokens;
    exec->approval_ms = call.approval_ms;
    exec->decided_at = now_;
    return exec;
}

void ExecService::carry_out(std::uint64_t serial, Call& call, const effect::Start& start) {
    const bool was_asked = call.asked_at.has_value();
    if (was_asked) call.approval_ms += millis(now_ - *call.asked_at);
    call.asked_at.reset();
    const Attempt attempt = attempt_for(call, start.bounds, was_asked);
    // The first one is the answer if this cannot be started.
    call.first = std::exchange(call.process, 0);
    ++call.attempts;
    ProcessService::Launch launch;
    launch.request =
        spawn_request(call.plan, attempt.is_harmless, call.params.stdin_text.has_value());
    if (call.plan.remote) {
        launch.backend = &remote_;
        auto remote = std::make_unique<RemoteProcess>();
        remote->order = remote_start(call.plan, attempt.extra);
        launch.is_confined_there = remote->order.sandbox.has_value();
        launch.remote = std::move(remote);
    } else {
        launch.sandbox = confined_start(call.plan, attempt.extra);
    }
    launch.timeout_ms = call.params.timeout_ms.value_or(0);
    protocol::ExecAttemptEvent told;
    told.call_id = call.call_id;
    told.n = call.attempts;
    told.confinement = expected_confinement(call.plan, attempt.extra).type;
    told.reason = attempt.reason;
    notify(outbox_, "exec/attempt", told);
    if (launch.sandbox && !are_where_they_were(attempt.extra.additions)) {
        events_.emplace_back(
            serial, event::StartFailed{{ErrorKind::sandbox_unavailable,
                                        "the command was not run: a path that it was granted "
                                        "leads elsewhere now",
                                        "look what has replaced it, and ask again"}});
        return;
    }
    const std::string id = next_id();
    std::unique_ptr<ExecProcess> exec = record_of(serial, call, attempt, id);
    launch.consumer = exec.get();
    launch.exec = std::move(exec);
    audit_start(call, attempt, id);
    Result<Process*> launched = processes_.launch(id, launch);
    if (launched)
        call.process = (*launched)->serial;
    else
        events_.emplace_back(serial, event::StartFailed{launched.error()});
}

// Of all its attempts: nobody waits for them any more.
void ExecService::drop_waits(Call& call) {
    for (const std::uint64_t serial : {call.first, call.process})
        if (Process* const process = processes_.find(serial)) (void)take_wait_of_call(*process);
}

void ExecService::carry_out(std::uint64_t serial, Call& call, const effect::EndProgram&) {
    drop_waits(call);
    Process* const process = processes_.find(call.process);
    if (process == nullptr) return;
    if (process->is_starting()) called_off_[serial] = call.call_id;
    processes_.end(*process, 0);
}

void ExecService::carry_out(std::uint64_t, Call& call, const effect::AnswerResult& answer) {
    Process* const process = processes_.find(answer.trouble ? call.first : call.process);
    CHECK(process != nullptr); // it is not pruned while somebody waits for it
    std::optional<ExecWait> wait = take_wait_of_call(*process);
    CHECK(wait.has_value());
    if (call.asked_at) call.approval_ms += millis(now_ - *call.asked_at); // whether to try again
    if (answer.trouble) {
        audit(call, "failure", answer.trouble->message);
        wait->notice =
            fmt::format("it was to run again, and could not: {}", answer.trouble->message);
    }
    protocol::ExecResult result = make_result(*process, *wait, now_);
    result.timings.approval_ms = call.approval_ms;
    call.reply.send(result);
}

void ExecService::carry_out(std::uint64_t, Call& call, const effect::AnswerRefused& refused) {
    audit(call, "refusal", refused.error.message);
    call.reply.fail(refused.error);
}

void ExecService::carry_out(std::uint64_t, Call& call, const effect::AnswerFailed& failed) {
    audit(call, "failure", failed.error.message);
    protocol::ExecResult result = make_failure(call.call_id, failed.error, call.terms);
    result.environment = call.plan.environment_id();
    call.reply.send(result);
}

void ExecService::carry_out(std::uint64_t, Call& call, const effect::AnswerCancelled& cancelled) {
    drop_waits(call);
    Process* const process = processes_.find(call.process);
    if (!cancelled.program_goes_on || process == nullptr)
        return call.reply.fail(
            {ErrorKind::cancelled, call.attempts == 0
                                       ? "the call was cancelled; nothing was started"
                                       : "the call was cancelled and the program is ended"});
    call.reply.fail(
        {ErrorKind::cancelled,
         fmt::format("the call was cancelled; its program goes on as process '{}'", process->id),
         "exec/writeStdin waits for it, exec/terminate ends it; onCancel: "
         "\"terminate\" ends it right away",
         "", process->id});
}

} // namespace ew::server

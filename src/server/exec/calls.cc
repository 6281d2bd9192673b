#include "server/exec/calls.h"

#include "base/check.h"
#include "server/connection/notify.h"
#include "server/exec/approval_question.h"
#include "server/exec/exec_results.h"
#include "server/exec/expected_confinement.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>

namespace ew::server {

namespace exec_call = core::exec_call;
namespace effect = core::exec_call::effect;
namespace event = core::exec_call::event;
using core::exec_call::Bounds;

namespace {

// Counts the time since the question, if there was one, as approval time.
void add_approval_time(Call& call, TimePoint now) {
    if (call.asked_at) call.approval_ms += millis(now - *call.asked_at);
    call.asked_at.reset();
}

// The call stops waiting for its attempts.
void drop_waits(const Call& call, ProcessService& processes) {
    for (const std::uint64_t serial : {call.first, call.process})
        if (Process* const process = processes.find(serial))
            (void)process->exec->waits.take_for_call();
}

} // namespace

// ---------------------------------------------------------------- events

// Only this function changes the state of a call. Effects do not call it: the events that they
// cause wait in events_.
void Calls::take(Turn turn, const exec_call::Step& step) {
    turn.call.state = step.next;
    for (const exec_call::Effect& effect : step.effects)
        std::visit([&](const auto& what) { carry_out(turn, what); }, effect);
    if (std::holds_alternative<exec_call::state::Answered>(turn.call.state))
        calls_.erase(turn.serial);
}

void Calls::deliver(std::uint64_t serial, Event event) {
    events_.emplace_back(serial, std::move(event));
    work();
}

void Calls::work() {
    if (std::exchange(is_working_, true)) return;
    while (!events_.empty()) {
        const std::pair<std::uint64_t, Event> next = std::move(events_.front());
        events_.pop_front();
        const auto at = calls_.find(next.first);
        if (at == calls_.end()) continue; // answered in the meantime
        take({next.first, at->second}, exec_call::on(at->second.state, next.second));
    }
    is_working_ = false;
}

void Calls::begin(Reply reply, protocol::ExecCommandParams params, ExecPlan plan,
                  const WaitTerms& terms) {
    const std::string call_id = params.call_id.value_or(reply.call_id());
    const std::uint64_t serial = ++last_call_;
    const auto at = calls_.emplace(serial, Call{{std::move(params), call_id, std::move(plan), {}},
                                                std::move(reply),
                                                terms,
                                                exec_call::state::Answered{}});
    take({serial, at.first->second}, exec_call::begin(judge_.judge(at.first->second)));
    work();
}

void Calls::on_started(Process& process) {
    const std::uint64_t serial = process.exec->call;
    const auto at = calls_.find(serial);
    if (at == calls_.end()) {      // cancelled in the meantime
        called_off_.erase(serial); // too late: the program ends like any other
        return;
    }
    Call& call = at->second;
    if (Process* const first = parts_.processes.find(std::exchange(call.first, 0)))
        (void)first->exec->waits.take_for_call();
    programs_.begin_wait_for_call(process, call.terms);
    deliver(serial, event::Started{});
}

void Calls::on_wait_over(Process& process) {
    const std::uint64_t serial = process.exec->call;
    const auto at = calls_.find(serial);
    if (at == calls_.end()) return;
    if (!programs_.is_over(process)) return deliver(serial, event::WaitOver{});
    deliver(serial, judge_.judge_end(at->second, process));
}

// A start that was called off has an audit row, so its failure gets one, too.
void Calls::on_failed_start(const ProcessService::FailedStart& failed) {
    if (const auto at = called_off_.find(failed.call); at != called_off_.end()) {
        store::AuditRow row;
        row.call = at->second;
        row.event = "failure";
        row.detail = "the start was called off";
        parts_.records.audit(std::move(row));
        called_off_.erase(at);
    }
    deliver(failed.call, event::StartFailed{failed.error});
}

Process* Calls::process_of(const json::Id& request) {
    for (const auto& [serial, call] : calls_)
        if (call.reply.id() == request) return parts_.processes.find(call.process);
    return nullptr;
}

bool Calls::cancel(const json::Id& request) {
    const auto at = std::find_if(calls_.begin(), calls_.end(), [&](const auto& entry) {
        return entry.second.reply.id() == request;
    });
    if (at == calls_.end()) return false;
    const bool ends = at->second.params.on_cancel == protocol::OnCancel::terminate;
    deliver(at->first, event::Cancelled{ends});
    return true;
}

void Calls::list(const EnvironmentFilter& filter,
                 std::vector<protocol::ExecCallInfo>& infos) const {
    for (const auto& [serial, call] : calls_) {
        if (!filter.takes(call.plan.environment_id())) continue;
        protocol::ExecCallInfo& info = infos.emplace_back(info_of(call));
        const Process* const process = parts_.processes.find(call.process);
        if (process != nullptr) info.process_id = process->id;
    }
}

void Calls::abandon(const Error& error) {
    for (auto& entry : calls_)
        entry.second.reply.fail(error);
    calls_.clear();
}

// ---------------------------------------------------------------- questions

void Calls::ask(Turn turn, Question question) {
    turn.call.asked_at = now_;
    audit(turn.call, "question", std::string(json::name_of(question.request.kind)));
    Result<void> asked = parts_.questions.ask(*this, turn.serial, std::move(question), now_);
    if (!asked) events_.emplace_back(turn.serial, event::Refused{asked.error()});
}

void Calls::carry_out(Turn turn, const effect::Ask&) {
    const ExecPlan& plan = turn.call.plan;
    const protocol::Confinement sandbox =
        expected_confinement(parts_.host.machine(), plan, plan.extra);
    ask(turn, first_question(turn.call, parts_.session, sandbox));
}

void Calls::carry_out(Turn turn, const effect::AskToRetry&) {
    const Process* const first = parts_.processes.find(turn.call.process);
    CHECK(first != nullptr); // a process is not pruned while its call waits
    ask(turn, retry_question(turn.call, parts_.session, *first));
}

void Calls::carry_out(Turn turn, const effect::WithdrawQuestion&) {
    parts_.questions.leave(*this, turn.serial);
}

std::int64_t Calls::keep(const Question& question, const protocol::ApprovalAnswer& answer) {
    return parts_.records.keep(question, answer);
}

void Calls::approve(const Question& question, const protocol::ApprovalAnswer& answer) {
    const bool is_widened = answer.decision == protocol::ApprovalDecision::approved_widened;
    for (const std::uint64_t serial : question.calls)
        events_.emplace_back(serial, event::Approved{is_widened ? Bounds::widened : Bounds::none});
    work();
}

void Calls::edit(const Question& question, const protocol::ApprovalAnswer& answer) {
    for (const std::uint64_t serial : question.calls) {
        const auto at = calls_.find(serial);
        CHECK(at != calls_.end()); // a call leaves its question before it ends
        add_approval_time(at->second, now_);
        events_.emplace_back(serial, event::Edited{judge_.judge_edited(at->second, answer)});
    }
    work();
}

void Calls::refuse(const Question& question, const Error& error) {
    for (const std::uint64_t serial : question.calls)
        events_.emplace_back(serial, event::Refused{error});
    work();
}

// ---------------------------------------------------------------- programs

void Calls::audit(const Call& call, std::string_view event, std::string detail) {
    parts_.records.audit(audit_row(call, event, std::move(detail)));
}

void Calls::carry_out(Turn turn, const effect::Start& start) {
    Call& call = turn.call;
    const bool was_asked = call.asked_at.has_value();
    add_approval_time(call, now_);
    const Attempt attempt = next_attempt(call, start.bounds, was_asked);
    ++call.attempts;
    // If the second attempt cannot start, the first one provides the answer.
    call.first = std::exchange(call.process, 0);
    Result<Process*> launched = launch(turn, attempt);
    if (launched)
        call.process = (*launched)->serial;
    else
        events_.emplace_back(turn.serial, event::StartFailed{launched.error()});
}

Result<Process*> Calls::launch(Turn turn, const Attempt& attempt) {
    const Call& call = turn.call;
    const protocol::Confinement confinement =
        expected_confinement(parts_.host.machine(), call.plan, attempt.extra);
    ProcessService::Launch launch = launch_of(call, attempt);
    if (call.plan.remote) launch.backend = &parts_.remote;
    notify(parts_.outbox, "exec/attempt", attempt_event(call, attempt, confinement.type));
    if (launch.sandbox && !are_where_they_were(attempt.extra.additions))
        return Error{ErrorKind::sandbox_unavailable,
                     "the command was not run: a path that it was granted leads elsewhere now",
                     "look what has replaced it, and ask again"};
    if (launch.sandbox) parts_.gate.note_writable(attempt.extra.additions.write);
    std::string id;
    do
        id = fmt::format("{}", next_id_++);
    while (parts_.processes.find(id) != nullptr);
    std::unique_ptr<ExecProcess> exec = exec_process_of(call, attempt, id);
    exec->call = turn.serial;
    exec->decided_at = now_;
    const bool is_by_host =
        launch.sandbox && launch.sandbox->policy.network == sandbox::Network::hosts;
    launch.consumer = exec.get();
    launch.exec = std::move(exec);
    parts_.records.audit(start_row(call, attempt, id, confinement));
    Result<Process*> process = parts_.processes.launch(id, launch);
    if (process && is_by_host && !call.plan.remote)
        parts_.hosts.attend(**process, host_command(call, extent_of(call.plan, parts_.session)));
    return process;
}

void Calls::carry_out(Turn turn, const effect::EndProgram&) {
    drop_waits(turn.call, parts_.processes);
    Process* const process = parts_.processes.find(turn.call.process);
    if (process == nullptr) return;
    if (process->is_starting()) called_off_[turn.serial] = turn.call.call_id;
    parts_.processes.end(*process, 0);
}

// ---------------------------------------------------------------- answers

void Calls::carry_out(Turn turn, const effect::AnswerResult& answer) {
    Call& call = turn.call;
    Process* const process = parts_.processes.find(answer.trouble ? call.first : call.process);
    CHECK(process != nullptr); // a process is not pruned while a call waits for it
    std::optional<Wait> wait = process->exec->waits.take_for_call();
    CHECK(wait.has_value());
    add_approval_time(call, now_); // of the question about a second attempt
    if (answer.trouble) {
        audit(call, "failure", answer.trouble->message);
        wait->notice =
            fmt::format("it was to run again, and could not: {}", answer.trouble->message);
    }
    if (!call.denied_by.empty())
        wait->notice = fmt::format("it did not run again, and nobody was asked: a person denied "
                                   "that before ({})",
                                   call.denied_by);
    wait->edited = call.edited;
    protocol::ExecResult result = make_result(*process, *wait, now_);
    result.timings.approval_ms = call.approval_ms;
    call.reply.send(result);
}

void Calls::carry_out(Turn turn, const effect::AnswerRefused& refused) {
    const Error error = told(turn.call, refused.error);
    audit(turn.call, "refusal", error.message);
    turn.call.reply.fail(error);
}

void Calls::carry_out(Turn turn, const effect::AnswerFailed& failed) {
    const Error error = told(turn.call, failed.error);
    audit(turn.call, "failure", error.message);
    protocol::ExecResult result = make_failure(turn.call.call_id, error, turn.call.terms);
    result.edited = turn.call.edited;
    result.environment = turn.call.plan.environment_id();
    turn.call.reply.send(result);
}

void Calls::carry_out(Turn turn, const effect::AnswerCancelled& cancelled) {
    Call& call = turn.call;
    drop_waits(call, parts_.processes);
    Process* const process = parts_.processes.find(call.process);
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

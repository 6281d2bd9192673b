// What processes bring about: begin, output for who waits, the end.
#include "json/strings.h"
#include "json/writer.h"
#include "server/connection/notify.h"
#include "server/exec/exec_results.h"
#include "server/exec/exec_service.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace ew::server {

namespace event = core::exec_call::event;
using core::exec_call::Bounds;
using core::exec_call::Refusals;

void ExecService::on_news() {
    for (const std::uint64_t serial : processes_.take_news()) {
        Process* const process = processes_.find(serial);
        if (process == nullptr) continue;
        if (!process->is_starting()) look_at(*process);
    }
    for (const RemoteBackend::News& news : remote_.take_news())
        begin_waiting(news);
    for (const ProcessService::FailedStart& failed : processes_.take_failed_starts()) {
        tell_called_off(failed.call);
        deliver(failed.call, event::StartFailed{failed.error});
    }
}

// The audit has a row for the start, so it gets one for how that went.
void ExecService::tell_called_off(std::uint64_t call) {
    const auto at = called_off_.find(call);
    if (at == called_off_.end()) return;
    store::AuditRow row;
    row.call = at->second;
    row.event = "failure";
    row.detail = "the start was called off";
    records_.audit(std::move(row));
    called_off_.erase(at);
}

void ExecService::look_at(Process& process) {
    if (!process.exec->is_begun) begin(process);
    if (process.exit_is_logged && !process.exec->ended_at) {
        process.exec->ended_at = now_;
        audit_end(process);
    }
    check_waits(process);
    check_end(process);
}

void ExecService::audit_end(const Process& process) {
    const ExecProcess& exec = *process.exec;
    const std::vector<protocol::Denial> denials = process.denials();
    const std::string where =
        exec.begin.environment ? fmt::format("environment {}, ", *exec.begin.environment) : "";
    if (!denials.empty()) {
        store::AuditRow row;
        row.call = exec.begin.call_id;
        row.event = "denial";
        row.argv = json::strings_to_json(exec.begin.argv);
        row.directory = exec.begin.workdir;
        row.decision = fmt::format("{}", process.denial_count());
        row.decided_by = "sandbox";
        row.detail = fmt::format("{}process {}: {}", where, process.id, summary_of(denials));
        records_.audit(std::move(row));
    }
    store::AuditRow row;
    row.call = exec.begin.call_id;
    row.event = "exit";
    row.decision = fmt::format("{}", outcome_of(process).exit_code);
    row.detail = fmt::format("{}process {} after {} ms, sandbox: {}", where, process.id,
                             process.exit->usage.wall_ms, text_of(exec.begin.sandbox));
    if (process.exit->failure) row.detail += fmt::format(", {}", process.exit->failure->message);
    records_.audit(std::move(row));
}

// It runs. Whoever started it waits from now on.
void ExecService::begin(Process& process) {
    ExecProcess& exec = *process.exec;
    exec.is_begun = true;
    exec.spawn_ms = millis(now_ - exec.decided_at);
    exec.begin.sandbox = process.confinement();
    notify(outbox_, "exec/begin", exec.begin);
    ByteBuffer header;
    header.append(std::string_view(R"(","params":{"callId":)"));
    json::write_string(header, exec.begin.call_id);
    header.append(std::string_view(R"(,"processId":)"));
    json::write_string(header, process.id);
    header.append(std::string_view(R"(,"seq":)"));
    exec.header = header.view();
    if (exec.stdin_text) {
        (void)processes_.type(process, *exec.stdin_text);
        processes_.end_input(process);
        exec.stdin_text.reset();
    }
    (void)processes_.delivery().deliver(process); // before any answer
    const auto at = calls_.find(exec.call);
    if (at == calls_.end()) {         // cancelled meanwhile
        called_off_.erase(exec.call); // too late: it ends like any other
        return;
    }
    if (Process* const first = processes_.find(std::exchange(at->second.first, 0)))
        (void)take_wait_of_call(*first);
    ExecWait wait;
    wait.terms = at->second.terms;
    wait.since = now_;
    wait.deadline = deadline_after(now_, wait.terms.yield_ms);
    exec.waits.push_back(std::move(wait));
    deliver(exec.call, event::Started{});
}

// Everything it has put out is here, or is held back by somebody else for too long.
bool ExecService::is_over(const Process& process) const {
    if (!process.exit_is_logged) return false;
    return process.is_closed || now_ >= *process.exec->ended_at + answer_grace;
}

std::optional<TimePoint> ExecService::quiet_at(const Process& process, const ExecWait& wait) const {
    if (!wait.terms.quiet_ms || process.log.end() <= wait.output_from) return std::nullopt;
    return deadline_after(process.delivery.last_output, *wait.terms.quiet_ms);
}

bool ExecService::is_due(const Process& process, const ExecWait& wait) const {
    if (wait.is_put_by || outbox_.is_full_of_answers()) return false;
    if (process.exit_is_logged) return is_over(process); // and nothing less: it says how it ended
    return ew::is_due(wait.deadline, now_) || ew::is_due(quiet_at(process, wait), now_);
}

// The call takes its wait with it, or leaves it here until a person has answered.
void ExecService::tell_call(Process& process) {
    const std::uint64_t serial = process.exec->call;
    if (!is_over(process)) return deliver(serial, event::WaitOver{});
    deliver(serial, judge_end(process));
}

// Only what was refused counts, and only if the program failed by itself: what it has printed
// proves nothing, and who ended it wants no second attempt.
event::Ended ExecService::judge_end(const Process& process) {
    const auto at = calls_.find(process.exec->call);
    const std::vector<protocol::Denial> denials = process.denials();
    if (at == calls_.end() || denials.empty() || !has_failed_by_itself(process)) return {};
    Call& call = at->second;
    event::Ended ended;
    const bool has_network = std::any_of(denials.begin(), denials.end(), [](const auto& denial) {
        return denial.kind == "network";
    });
    ended.refusals = has_network ? Refusals::network : Refusals::some;
    if (!may_run_again(call.state, ended.refusals)) return ended;
    // What would have to be looked at is not here.
    if (!call.plan.remote) call.widening = widening_for(denials);
    if (call.widening) {
        call.allowed_by = gate_.take_approval(
            approval_key(call.plan, call.params, again(call, Bounds::widened)), call.plan);
        if (!call.allowed_by.empty()) ended.allowed = Bounds::widened;
    }
    if (ended.allowed) return ended;
    call.allowed_by = gate_.take_approval(
        approval_key(call.plan, call.params, again(call, Bounds::none)), call.plan);
    if (!call.allowed_by.empty()) ended.allowed = Bounds::none;
    return ended;
}

void ExecService::check_waits(Process& process) {
    std::vector<ExecWait>& waits = process.exec->waits;
    for (std::size_t i = 0; i < waits.size();) {
        if (!is_due(process, waits[i])) {
            ++i;
            continue;
        }
        if (!waits[i].reply) {
            waits[i].is_put_by = true;
            tell_call(process);
            i = 0; // waits have changed
            continue;
        }
        ExecWait wait = std::move(waits[i]);
        waits.erase(waits.begin() + static_cast<std::ptrdiff_t>(i));
        finish(process, std::move(wait));
    }
}

void ExecService::tell_interaction(const Process& process, const std::string& chars) {
    protocol::ExecInteractionEvent interaction;
    interaction.call_id = process.exec->begin.call_id;
    interaction.process_id = process.id;
    interaction.stdin_text = chars;
    notify(outbox_, "exec/terminalInteraction", interaction);
}

void ExecService::finish(Process& process, ExecWait wait) {
    if (!wait.chars.empty() || !process.exit_is_logged) tell_interaction(process, wait.chars);
    wait.reply->send(make_result(process, wait, now_));
}

std::optional<ExecWait> ExecService::take_wait_of_call(Process& process) {
    if (!process.exec) return std::nullopt;
    std::vector<ExecWait>& waits = process.exec->waits;
    const auto at =
        std::find_if(waits.begin(), waits.end(), [](const ExecWait& wait) { return !wait.reply; });
    if (at == waits.end()) return std::nullopt;
    ExecWait wait = std::move(*at);
    waits.erase(at);
    return wait;
}

// After every delta, once the streams have ended or are held open for too long.
void ExecService::check_end(Process& process) {
    ExecProcess& exec = *process.exec;
    if (exec.is_end_sent || !exec.ended_at) return;
    if (!process.is_closed && now_ < *exec.ended_at + end_grace) return;
    if (!can_send_end(process)) return;
    exec.is_end_sent = true;
    const Lane lane = lane_of_end(process);
    notify(outbox_, "exec/end", make_end(process), lane);
    if (lane == Lane::bulk) process.delivery.bulk_end = outbox_.bulk_queued();
}

Lane ExecService::lane_of_end(const Process& process) const {
    const bool would_overtake_deltas = outbox_.bulk_sent() < process.delivery.bulk_end;
    return would_overtake_deltas ? Lane::bulk : Lane::priority;
}

// It is large, so it is not made before the client has read what there is.
bool ExecService::can_send_end(const Process& process) const {
    const Lane lane = lane_of_end(process);
    const std::size_t mark = lane == Lane::bulk ? Outbox::bulk_mark : Outbox::priority_mark;
    return !process.log.has_undelivered() && outbox_.unsent(lane) < mark;
}

} // namespace ew::server

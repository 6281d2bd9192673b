// The requests about processes, and the way of a call from event to effect. How it begins is in
// exec_begin; what effects do in exec_effects; what processes bring about in exec_progress.
#include "server/exec/exec_service.h"

#include "core/output/utf8.h"
#include "server/connection/notify.h"
#include "server/exec/exec_results.h"
#include "server/session/environment_choice.h"

#include <fmt/format.h>

#include <algorithm>

namespace ew::server {

namespace exec_call = core::exec_call;

namespace {

constexpr std::string_view interrupt_key = "\x03";

} // namespace

// The only place that changes the state of a call. Effects do not come back here: what they bring
// about waits in events_.
void ExecService::take(std::uint64_t serial, Call& call, const Step& step) {
    call.state = step.next;
    for (const exec_call::Effect& effect : step.effects)
        std::visit([&](const auto& what) { carry_out(serial, call, what); }, effect);
    if (std::holds_alternative<exec_call::state::Answered>(call.state)) calls_.erase(serial);
}

void ExecService::deliver(std::uint64_t call, Event event) {
    events_.emplace_back(call, std::move(event));
    work();
}

void ExecService::work() {
    if (std::exchange(is_working_, true)) return;
    while (!events_.empty()) {
        const std::pair<std::uint64_t, Event> next = std::move(events_.front());
        events_.pop_front();
        const auto at = calls_.find(next.first);
        if (at == calls_.end()) continue; // answered meanwhile
        Call& call = at->second;
        take(next.first, call, exec_call::on(call.state, next.second));
    }
    is_working_ = false;
}

Process* ExecService::find_exec(const std::string& id, Reply& reply) {
    Process* const process = processes_.find(id);
    if (process == nullptr) {
        reply.fail(processes_.table().unknown(id));
        return nullptr;
    }
    if (process->exec && process->exec->is_begun) return process;
    reply.fail({ErrorKind::unknown_process,
                process->exec ? fmt::format("process '{}' has not started yet", id)
                              : fmt::format("process '{}' was not started by exec/command",
                                            core::shortened(id)),
                "exec/list shows the processes there are; process/write and process/read serve "
                "the others"});
    return nullptr;
}

void ExecService::handle(Reply reply, const protocol::ExecWriteParams& params) {
    Process* const process = find_exec(params.process_id, reply);
    if (process == nullptr) return;
    processes_.table().touch(*process);
    if (process->exec->waits.size() >= most_waits)
        return reply.fail({ErrorKind::limit,
                           fmt::format("{} requests wait for this process already", most_waits),
                           "wait for their answers"});
    ExecWait wait = {std::move(reply), terms_of(params), now_, {}, {}, process->exec->unread};
    wait.output_from = params.chars.empty() ? wait.view.begin() : process->log.end();
    wait.chars = params.chars;
    const bool has_input = !params.chars.empty() || params.close_stdin;
    const bool takes_input =
        !process->exit_is_logged && (!process->is_tty() || process->input.is_open());
    if (has_input && !takes_input) {
        wait.notice = "the input was not taken: the program has ended";
    } else if (!params.chars.empty() && !process->is_tty()) {
        if (params.chars != interrupt_key)
            return wait.reply->fail(
                {ErrorKind::stdin_closed,
                 fmt::format("process '{}' has no terminal and takes no input",
                             core::shortened(process->id)),
                 "start it with tty: true to type, or give the text as stdin; the single "
                 "character \\u0003 interrupts it",
                 "chars"});
        process->backend->interrupt(*process);
    } else if (!params.chars.empty() && !processes_.type(*process, params.chars)) {
        return wait.reply->fail({ErrorKind::limit,
                                 fmt::format("{} bytes of input wait for process '{}' already",
                                             InputQueue::most_queued, core::shortened(process->id)),
                                 "it does not read its terminal: wait, or end it"});
    }
    if (params.close_stdin && takes_input) processes_.end_input(*process);
    if (wait.terms.yield_ms > 0) wait.deadline = deadline_after(now_, wait.terms.yield_ms);
    process->exec->waits.push_back(std::move(wait));
    look_at(*process);
}

void ExecService::handle(Reply reply, const protocol::ExecTerminateAllParams& params) {
    Result<EnvironmentFilter> filter =
        EnvironmentFilter::of(session_.settings(), params.environment);
    if (!filter) return reply.fail(filter.error());
    protocol::ExecTerminateAllResult result;
    processes_.for_each([&](Process& process) {
        if (!process.exec || process.is_closed) return;
        if (!filter->takes(process.exec->begin.environment)) return;
        if (!process.exit) result.terminated.push_back(process.id);
        processes_.end(process, params.grace_ms.value_or(process.grace_ms));
    });
    const auto is_meant = [&](const WaitingCall& call) { return filter->takes(call.environment); };
    for (WaitingCall& call : waiting_) {
        if (!is_meant(call)) continue;
        call.reply.fail({ErrorKind::cancelled,
                         fmt::format("the call was ended while environment '{}' was being reached; "
                                     "nothing was started",
                                     call.environment)});
    }
    std::erase_if(waiting_, is_meant);
    reply.send(result);
}

protocol::ExecProcessInfo ExecService::info_of(Process& process) {
    const protocol::ExecBeginEvent& begin = process.exec->begin;
    protocol::ExecProcessInfo info;
    info.process_id = process.id;
    info.call_id = begin.call_id;
    info.environment = begin.environment;
    info.argv = begin.argv;
    info.workdir = begin.workdir;
    info.tty = process.is_tty();
    info.started_at_ms = process.started_at_ms;
    info.unread_bytes = process.exec->unread.size(process.log);
    info.descendants = process.backend->descendants(process);
    if (!process.exit_is_logged) return info;
    info.state = protocol::ExecProcessState::exited;
    const protocol::ExecEndEvent end = outcome_of(process);
    info.exit_code = end.exit_code;
    info.signal = end.signal;
    return info;
}

protocol::ExecCallInfo ExecService::info_of(const Call& call) {
    protocol::ExecCallInfo info;
    info.call_id = call.call_id;
    info.environment = call.plan.environment_id();
    info.state = static_cast<protocol::ExecCallState>(call.state.index());
    info.argv = call.plan.argv;
    const Process* const process = processes_.find(call.process);
    if (process != nullptr) info.process_id = process->id;
    return info;
}

// What will run is not known yet.
protocol::ExecCallInfo ExecService::info_of(const WaitingCall& call) {
    protocol::ExecCallInfo info;
    info.call_id = call.params.call_id.value_or(call.reply.call_id());
    info.environment = call.environment;
    info.state = protocol::ExecCallState::starting;
    info.argv = call.params.argv.value_or(std::vector{call.params.command.value_or("")});
    return info;
}

void ExecService::handle(Reply reply, const protocol::ExecListParams& params) {
    Result<EnvironmentFilter> filter =
        EnvironmentFilter::of(session_.settings(), params.environment);
    if (!filter) return reply.fail(filter.error());
    protocol::ExecListResult result;
    processes_.table().refresh();
    processes_.for_each([&](Process& process) {
        if (!process.exec || !process.exec->is_begun) return;
        if (filter->takes(process.exec->begin.environment))
            result.processes.push_back(info_of(process));
    });
    std::sort(result.processes.begin(), result.processes.end(), [](const auto& a, const auto& b) {
        return a.started_at_ms != b.started_at_ms ? a.started_at_ms < b.started_at_ms
                                                  : a.process_id < b.process_id;
    });
    for (const auto& entry : calls_)
        if (filter->takes(entry.second.plan.environment_id()))
            result.calls.push_back(info_of(entry.second));
    for (const WaitingCall& call : waiting_)
        if (filter->takes(call.environment)) result.calls.push_back(info_of(call));
    reply.send(result);
}

bool ExecService::cancel(const json::Id& id) {
    for (const auto& entry : calls_) {
        if (entry.second.reply.id() != id) continue;
        const bool ends = entry.second.params.on_cancel == protocol::OnCancel::terminate;
        deliver(entry.first, exec_call::event::Cancelled{ends});
        return true;
    }
    const auto waiting = std::find_if(waiting_.begin(), waiting_.end(),
                                      [&](const auto& call) { return call.reply.id() == id; });
    if (waiting != waiting_.end()) {
        waiting->reply.fail({ErrorKind::cancelled, "the call was cancelled; nothing was started"});
        waiting_.erase(waiting);
        return true;
    }
    bool found = false;
    processes_.for_each([&](Process& process) {
        if (!process.exec || found) return;
        std::vector<ExecWait>& waits = process.exec->waits;
        const auto at = std::find_if(waits.begin(), waits.end(), [&](const ExecWait& wait) {
            return wait.reply && wait.reply->id() == id;
        });
        if (at == waits.end()) return;
        found = true;
        if (!at->chars.empty()) tell_interaction(process, at->chars);
        at->reply->fail({ErrorKind::cancelled,
                         fmt::format("the wait was cancelled; process '{}' goes on", process.id),
                         "exec/writeStdin waits for it again", "", process.id});
        waits.erase(at);
    });
    return found;
}

void ExecService::refuse_all(const Error& error) {
    for (WaitingCall& call : waiting_)
        call.reply.fail(error);
    waiting_.clear();
}

bool ExecService::has_ends_to_tell() {
    bool found = false;
    processes_.for_each([&](const Process& process) {
        if (!process.exec) return;
        const bool has_end = process.exec->is_begun && process.exit && !process.exec->is_end_sent;
        found |= has_end || process.is_starting();
    });
    return found;
}

void ExecService::abandon(const Error& error) {
    refuse_all(error);
    for (auto& entry : calls_)
        entry.second.reply.fail(error);
    calls_.clear();
    processes_.for_each([&](Process& process) {
        if (!process.exec) return;
        for (ExecWait& wait : process.exec->waits)
            if (wait.reply) wait.reply->fail(error);
        process.exec->waits.clear();
    });
}

void ExecService::on_time() {
    processes_.for_each([&](Process& process) {
        if (process.exec && process.exec->is_begun) look_at(process);
    });
}

std::optional<TimePoint> ExecService::next_deadline() {
    std::optional<TimePoint> next;
    processes_.for_each([&](const Process& process) {
        if (!process.exec) return;
        const ExecProcess& exec = *process.exec;
        for (const ExecWait& wait : exec.waits) {
            if (wait.is_put_by || outbox_.is_full_of_answers()) continue; // the client must read
            next = earlier(next, wait.deadline);
            next = earlier(next, quiet_at(process, wait));
            if (exec.ended_at) next = earlier(next, *exec.ended_at + answer_grace);
        }
        if (exec.ended_at && !exec.is_end_sent && can_send_end(process))
            next = earlier(next, process.is_closed ? now_ : *exec.ended_at + end_grace);
    });
    return next;
}

} // namespace ew::server

#include "server/process/process_requests.h"

#include "core/output/utf8.h"
#include "os/signals.h"
#include "server/process/cast.h"
#include "server/process/typed_input.h"
#include "server/process/waiting.h"
#include "server/request/start_request.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <variant>

namespace ew::server {

using protocol::ProcessState;
using protocol::WriteStatus;

namespace {

ProcessState state_of(const Process& process) {
    if (process.is_starting()) return ProcessState::starting;
    if (process.is_closed) return ProcessState::closed;
    return process.exit_is_logged ? ProcessState::exited : ProcessState::running;
}

protocol::ProcessInfo info_of(Process& process, TimePoint now) {
    protocol::ProcessInfo info;
    info.process_id = process.id;
    info.environment = process.backend->environment(process);
    info.pid = process.backend->pid(process);
    info.argv = process.request.argv;
    info.cwd = process.request.directory;
    info.tty = process.is_tty();
    info.state = state_of(process);
    if (process.exit_is_logged) {
        info.exit_code = process.exit->code;
        if (process.exit->signal != 0) info.signal = os::signal_name(process.exit->signal);
    }
    info.started_at_ms = process.started_at_ms;
    info.next_seq = process.log.next_seq();
    if (process.is_running()) info.input_state = input_state(process, now);
    info.descendants = process.backend->descendants(process);
    return info;
}

} // namespace

std::size_t ProcessRequests::waiting_count() {
    std::size_t count = screens_.waiting_count();
    table_.for_each([&](const Process& process) {
        count += process.reads.size() + process.input.held_count() + process.start.parked.size();
    });
    return count;
}

bool ProcessRequests::refuse_if_too_many_wait(Reply& reply) {
    if (waiting_count() < most_waiting) return false;
    reply.fail({ErrorKind::limit, fmt::format("{} requests are waiting already", most_waiting),
                "wait for answers before sending more"});
    return true;
}

template <class Params>
bool ProcessRequests::park_if_starting(Process* process, Reply& reply, Params& params) {
    if (process == nullptr || !process->is_starting()) return false;
    if (!refuse_if_too_many_wait(reply))
        process->start.parked.push_back({std::move(reply), std::move(params)});
    return true;
}

void ProcessRequests::handle(Reply reply, protocol::StartParams params) {
    if (table_.find(params.process_id) != nullptr)
        return reply.fail(
            {ErrorKind::process_exists,
             fmt::format("process '{}' already exists", core::shortened(params.process_id)),
             "choose another processId; an id is free again once it is pruned", "processId"});
    Result<std::optional<SandboxOrder>> sandbox = sandbox_of(params, side_);
    if (!sandbox) return reply.fail(sandbox.error());
    ProcessService::Launch start;
    start.request = spawn_request(params);
    start.sandbox = std::move(*sandbox);
    start.grace_ms = params.grace_ms;
    start.timeout_ms = params.timeout_ms.value_or(0);
    start.answers_queries = params.answer_queries;
    const bool is_by_host = attendant_ != nullptr && start.sandbox &&
                            start.sandbox->policy.network == sandbox::Network::hosts;
    const bool has_proxy = params.network_proxy.has_value();
    if (is_by_host) attendant_->prepare(*start.sandbox, has_proxy);
    const std::string call_id = reply.call_id();
    start.reply.emplace(std::move(reply));
    Result<Process*> launched = processes_.launch(std::move(params.process_id), start);
    if (!launched) return start.reply->fail(launched.error());
    if (is_by_host)
        attendant_->attend(**launched, call_id, has_proxy ? &*params.network_proxy : nullptr);
}

void ProcessRequests::handle(Reply reply, protocol::ReadParams params) {
    Process* const process = table_.find(params.process_id);
    if (process == nullptr) return reply.fail(table_.unknown(params.process_id));
    if (park_if_starting(process, reply, params)) return;
    table_.touch(*process);
    const bool must_wait = params.until || ReadQueue::must_wait(*process, params);
    if (!must_wait) return ReadQueue::answer(*process, reply, params);
    if (refuse_if_too_many_wait(reply)) return;
    const auto deadline = deadline_after(processes_.now(), params.wait_ms.value_or(0));
    const bool is_watching = params.until.has_value();
    ReadQueue::Waiting waiting = {std::move(reply), std::move(params), deadline};
    if (is_watching) {
        Result<void> watched = process->reads.begin_watch(*process, waiting);
        if (!watched) return waiting.reply.fail(watched.error());
    }
    process->reads.add(std::move(waiting));
    // What is there already may be what it waits for.
    if (is_watching) process->reads.wake(*process, processes_.now(), processes_.outbox());
}

void ProcessRequests::handle(Reply reply, protocol::WriteParams params) {
    Process* const process = table_.find(params.process_id);
    if (process == nullptr)
        return reply.send(protocol::WriteResult{WriteStatus::unknown_process, {}});
    if (park_if_starting(process, reply, params)) return;
    table_.touch(*process);
    InputQueue& input = process->input;
    if (!input.takes_writes())
        return reply.send(protocol::WriteResult{WriteStatus::stdin_closed, {}});
    Result<std::string> typed =
        bytes_of({std::move(params.chunk.bytes), std::move(params.paste), std::move(params.keys)},
                 process->key_modes.modes());
    if (!typed) return reply.fail(typed.error());
    params.chunk.bytes = std::move(*typed);
    const std::size_t size = params.chunk.bytes.size();
    if (input.has_room_for(size)) {
        processes_.take_write(*process, std::move(reply), std::move(params));
        return process->backend->write_input(*process);
    }
    if (!input.may_hold(size))
        return reply.fail({ErrorKind::limit,
                           fmt::format("more than {} bytes of input are waiting for process '{}'",
                                       InputQueue::most_held, core::shortened(process->id)),
                           "it does not read its stdin: wait for answers to earlier writes"});
    if (refuse_if_too_many_wait(reply)) return;
    input.hold(std::move(reply), std::move(params));
}

void ProcessRequests::handle(Reply reply, protocol::CloseStdinParams params) {
    protocol::WriteParams write;
    write.process_id = std::move(params.process_id);
    write.close_stdin = true;
    handle(std::move(reply), std::move(write));
}

void ProcessRequests::handle(Reply reply, protocol::SignalParams params) {
    Process* const process = table_.find(params.process_id);
    if (park_if_starting(process, reply, params)) return;
    if (process == nullptr) {
        // Codex cannot know that the process has just ended, so its interrupt succeeds.
        if (params.signal == protocol::SignalName::interrupt) return reply.send(protocol::Empty{});
        return reply.fail(table_.unknown(params.process_id));
    }
    table_.touch(*process);
    process->backend->signal(*process, std::move(reply), params);
}

void ProcessRequests::handle(Reply reply, const protocol::TerminateParams& params) {
    Process* process = table_.find(params.process_id);
    if (process != nullptr && process->is_starting() && !process->start.is_cancelled) {
        // The program may already run, and only the report of its start has not been read yet.
        process->backend->look_at_start(*process);
        process = table_.find(params.process_id);
    }
    if (process == nullptr) return reply.send(protocol::TerminateResult{});
    table_.touch(*process);
    if (process->is_starting()) {
        processes_.expect_end(*process).waiters.push_back({std::move(reply), true});
        return processes_.call_off_start(*process); // may remove the process
    }
    const bool was_running = process->is_running();
    if (!was_running && !process->ending && !process->backend->has_left_overs(*process))
        return reply.send(protocol::TerminateResult{});
    process->backend->begin_ending(*process, params.grace_ms.value_or(process->grace_ms));
    process->ending->waiters.push_back({std::move(reply), was_running});
}

void ProcessRequests::handle(Reply reply, protocol::ResizeParams params) {
    Process* const process = table_.find(params.process_id);
    if (process == nullptr) return reply.fail(table_.unknown(params.process_id));
    if (park_if_starting(process, reply, params)) return;
    table_.touch(*process);
    if (!process->is_tty())
        return reply.fail(
            {ErrorKind::not_a_terminal,
             fmt::format("process '{}' has pipes, not a terminal", core::shortened(process->id)),
             "start it with tty: true", "processId"});
    process->backend->resize(*process, std::move(reply), params.size);
}

void ProcessRequests::handle(Reply reply, protocol::ScreenParams params) {
    Process* const process = table_.find(params.process_id);
    if (process == nullptr) return reply.fail(table_.unknown(params.process_id));
    if (park_if_starting(process, reply, params)) return;
    table_.touch(*process);
    if (!process->is_tty())
        return reply.fail(
            {ErrorKind::not_a_terminal,
             fmt::format("process '{}' has pipes and no screen", core::shortened(process->id)),
             "start it with tty: true; process/read has the output of any process", "processId"});
    if (refuse_if_too_many_wait(reply)) return;
    screens_.handle(*process, std::move(reply), params);
}

void ProcessRequests::handle(Reply reply, protocol::CastParams params) {
    Process* const process = table_.find(params.process_id);
    if (process == nullptr) return reply.fail(table_.unknown(params.process_id));
    if (park_if_starting(process, reply, params)) return;
    table_.touch(*process);
    if (!process->is_tty())
        return reply.fail({ErrorKind::not_a_terminal,
                           fmt::format("process '{}' has pipes, which no player shows",
                                       core::shortened(process->id)),
                           "start it with tty: true; process/read has the output of any process",
                           "processId"});
    reply.send(cast_of(*process, params.format));
}

std::optional<TimePoint> ProcessRequests::next_deadline() const {
    if (!screens_.has_work()) return std::nullopt;
    return processes_.now();
}

void ProcessRequests::list(Reply reply) {
    protocol::ListResult result;
    std::vector<Process*> by_start;
    table_.refresh();
    table_.for_each([&](Process& process) { by_start.push_back(&process); });
    std::sort(by_start.begin(), by_start.end(), [](const Process* a, const Process* b) {
        return a->serial / ProcessTable::places < b->serial / ProcessTable::places;
    });
    for (Process* const process : by_start)
        result.processes.push_back(info_of(*process, processes_.now()));
    reply.send(result);
}

bool ProcessRequests::cancel(const json::Id& id) {
    bool is_found = screens_.cancel(id);
    std::uint64_t to_call_off = 0; // the serial number of a start
    table_.for_each([&](Process& process) {
        if (is_found) return;
        is_found = cancel_in(process, id);
        if (is_found || !process.start.reply || process.start.reply->id() != id) return;
        is_found = true;
        to_call_off = process.serial;
    });
    if (Process* const starting = table_.find(to_call_off))
        starting->backend->look_at_start(*starting);
    Process* const process = table_.find(to_call_off);
    if (process != nullptr && process->is_starting()) processes_.call_off_start(*process);
    return is_found;
}

bool ProcessRequests::cancel_in(Process& process, const json::Id& id) {
    if (process.reads.cancel(id) || cancel_request(process.start.parked, id)) return true;
    if (process.input.cancel(id)) {
        processes_.release_held_writes(process); // a write behind the cancelled one may fit
        return true;
    }
    return process.ending && cancel_request(process.ending->waiters, id);
}

void ProcessRequests::handle_parked(std::vector<Parked> parked) {
    for (Parked& request : parked)
        std::visit([&](auto& params) { handle(std::move(request.reply), std::move(params)); },
                   request.params);
}

} // namespace ew::server

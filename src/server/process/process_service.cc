// The requests. What happens between them is in process_life, what is written to programs in
// process_input.
#include "server/process/process_service.h"

#include "core/output/utf8.h"
#include "json/writer.h"
#include "os/signals.h"
#include "server/connection/notify.h"
#include "server/process/sandbox_report.h"
#include "server/request/start_request.h"

#include <fmt/format.h>

#include <algorithm>

namespace ew::server {

using protocol::WriteStatus;

namespace {

std::string notification_header(const std::string& id) {
    ByteBuffer out;
    out.append(std::string_view(R"(","params":{"processId":)"));
    json::write_string(out, id);
    out.append(std::string_view(R"(,"seq":)"));
    return std::string(out.view());
}

protocol::StreamName stream_name(core::OutputLog::Kind kind) {
    return static_cast<protocol::StreamName>(kind); // the first three kinds, in the same order
}

} // namespace

Error ProcessService::unknown(std::string_view id) const {
    if (table_.was_pruned(id))
        return {
            ErrorKind::pruned_process,
            fmt::format("process '{}' has ended and its record was pruned", core::shortened(id)),
            "the 64 newest entries are kept: read what you need before starting more"};
    return {ErrorKind::unknown_process, fmt::format("no process '{}'", core::shortened(id)),
            "process/list shows the processes there are"};
}

std::size_t ProcessService::waiting_count() {
    std::size_t count = 0;
    table_.for_each([&](const Process& process) {
        count += process.waiting_reads.size() + process.input.held.size() + process.parked.size();
    });
    return count;
}

bool ProcessService::refuse_if_too_many_wait(Reply& reply) {
    if (waiting_count() < waiting_requests) return false;
    reply.fail({ErrorKind::limit, fmt::format("{} requests are waiting already", waiting_requests),
                "wait for answers before sending more"});
    return true;
}

template <class Params>
bool ProcessService::park_if_starting(Process* process, Reply& reply, Params& params) {
    if (process == nullptr || !process->is_starting()) return false;
    if (!refuse_if_too_many_wait(reply))
        process->parked.push_back({std::move(reply), std::move(params)});
    return true;
}

void ProcessService::handle(Reply reply, protocol::StartParams params) {
    if (table_.find(params.process_id) != nullptr)
        return reply.fail(
            {ErrorKind::process_exists,
             fmt::format("process '{}' already exists", core::shortened(params.process_id)),
             "choose another processId; an id is free again once it is pruned", "processId"});
    Launch start = {spawn_request(params), {}, params.grace_ms, params.timeout_ms.value_or(0)};
    Result<std::optional<SandboxOrder>> sandbox = sandbox_of(params, settings_.side);
    if (!sandbox) return reply.fail(sandbox.error());
    if (*sandbox)
        start.sandbox.emplace(std::move((*sandbox)->policy), std::move((*sandbox)->context));
    start.reply.emplace(std::move(reply));
    Result<Process*> launched = launch(std::move(params.process_id), start);
    if (!launched) start.reply->fail(launched.error());
}

Result<void> ProcessService::check_selection(const Launch& launch) const {
    const bool is_confined = launch.sandbox || (launch.elsewhere && launch.elsewhere->sandbox);
    if (settings_.selection == SandboxSelection::require && !is_confined)
        return Error{ErrorKind::denied,
                     "the process was not started: this server starts none without a sandbox",
                     "ask for one, or start the server without --sandbox require"};
    if (settings_.selection == SandboxSelection::forbid && is_confined)
        return Error{ErrorKind::sandbox_unavailable,
                     "the process was not started: this server makes no sandboxes",
                     "start the server without --sandbox forbid"};
    return {};
}

Result<Process*> ProcessService::launch(std::string id, Launch& launch) {
    TRY(check_selection(launch));
    Backend& backend = launch.backend != nullptr ? *launch.backend : *local_;
    Process* const process =
        table_.add(std::move(id), settings_.output, backend, outbox_.bulk_sent());
    if (process == nullptr)
        return Error{ErrorKind::too_many_processes,
                     fmt::format("all {} places are taken by processes that live, whose "
                                 "descendants live, or whose output was not read yet",
                                 ProcessTable::places),
                     "end one with process/terminate; process/list shows them"};
    process->request = std::move(launch.request);
    if (launch.sandbox) process->sandbox = std::make_unique<ProcessSandbox>(*launch.sandbox);
    if (launch.elsewhere) {
        process->remote = std::make_unique<RemoteProcess>();
        process->remote->order = std::move(*launch.elsewhere);
    }
    if (Result<void> begun = backend.begin(*process); !begun) {
        Error error = std::move(begun.error());
        table_.remove(*process);
        return error;
    }
    process->header = notification_header(process->id);
    process->started_at = now_;
    process->started_at_ms = millis(std::chrono::system_clock::now().time_since_epoch());
    process->grace_ms = launch.grace_ms;
    process->timeout_ms = launch.timeout_ms;
    process->start_reply = std::move(launch.reply);
    process->exec = std::move(launch.exec);
    return process;
}

// Once for any number of things that happen before the exec layer looks.
void ProcessService::note_news(Process& process) {
    if (!process.exec || std::exchange(process.exec->has_news, true)) return;
    news_.push_back(process.serial);
}

void ProcessService::warn_when_nearly_full() {
    const std::size_t live = table_.live_count();
    if (live < ProcessTable::warning_mark) {
        has_warned_ = false;
        return;
    }
    if (std::exchange(has_warned_, true) || !wants_extensions_) return;
    protocol::WarningEvent event;
    event.kind = "processTable";
    event.message =
        fmt::format("{} processes live; at {} no more can be started", live, ProcessTable::places);
    event.live = live;
    event.limit = ProcessTable::places;
    notify(outbox_, "execward/warning", event);
}

void ProcessService::handle(Reply reply, protocol::ReadParams params) {
    Process* const process = table_.find(params.process_id);
    if (process == nullptr) return reply.fail(unknown(params.process_id));
    if (park_if_starting(process, reply, params)) return;
    table_.touch(*process);
    if (!read_must_wait(*process, params)) return answer_read(*process, std::move(reply), params);
    if (refuse_if_too_many_wait(reply)) return;
    const auto deadline = deadline_after(now_, *params.wait_ms);
    process->waiting_reads.push_back({std::move(reply), std::move(params), deadline});
}

bool ProcessService::read_must_wait(Process& process, const protocol::ReadParams& params) const {
    if (params.wait_ms.value_or(0) == 0 || process.is_closed) return false;
    const std::uint64_t after = params.after_seq.value_or(0);
    if (process.log.has_output_after(after)) return false;
    return !process.exit_is_logged || after >= process.log.last_seq();
}

void ProcessService::answer_read(Process& process, Reply reply,
                                 const protocol::ReadParams& params) {
    core::OutputLog& log = process.log;
    protocol::ReadResult result;
    std::size_t total = 0;
    if (!params.max_bytes) log.cut_all();
    const std::uint64_t after = params.after_seq.value_or(0);
    for (std::uint64_t seq = log.first_after(after); seq <= log.last_seq(); ++seq) {
        if (seq == log.next_seq()) log.cut_one();
        const core::OutputLog::Entry entry = log.entry(seq);
        if (entry.size == 0) continue;
        if (params.max_bytes && !result.chunks.empty() && total + entry.size > *params.max_bytes)
            break;
        total += entry.size;
        protocol::OutputChunk& chunk = result.chunks.emplace_back();
        chunk.seq = seq;
        chunk.stream = stream_name(entry.kind);
        chunk.chunk.bytes.append(entry.bytes[0]).append(entry.bytes[1]);
    }
    const bool is_page = params.max_bytes && !result.chunks.empty();
    result.next_seq = is_page ? result.chunks.back().seq + 1 : log.next_seq();
    result.first_seq = log.first_seq();
    result.lost_bytes = log.lost_bytes();
    result.exited = process.exit_is_logged;
    result.closed = process.is_closed;
    result.timed_out = process.timed_out;
    if (process.exit_is_logged) {
        result.exit_code = process.exit->code;
        if (process.exit->failure) result.failure = process.exit->failure->message;
        if (process.exit->signal != 0) result.signal = os::signal_name(process.exit->signal);
        if (process.exit->is_usage_known) result.usage = process.exit->usage;
        add_sandbox_report(result, process);
    }
    reply.send(result);
}

void ProcessService::handle(Reply reply, protocol::WriteParams params) {
    Process* const process = table_.find(params.process_id);
    if (process == nullptr)
        return reply.send(protocol::WriteResult{WriteStatus::unknown_process, {}});
    if (park_if_starting(process, reply, params)) return;
    table_.touch(*process);
    Input& input = process->input;
    if (!input.is_open || input.close_when_written)
        return reply.send(protocol::WriteResult{WriteStatus::stdin_closed, {}});
    const std::size_t size = params.chunk.bytes.size();
    const bool fits = input.queued.empty() || input.queued.size() + size <= input_queue;
    if (fits && input.held.empty()) {
        take_write(*process, std::move(reply), std::move(params));
        return process->backend->write_input(*process);
    }

    if (input.held_bytes + size > input_held)
        return reply.fail({ErrorKind::limit,
                           fmt::format("more than {} bytes of input are waiting for process '{}'",
                                       input_held, core::shortened(process->id)),
                           "it does not read its stdin: wait for answers to earlier writes"});
    if (refuse_if_too_many_wait(reply)) return;
    input.held_bytes += size;
    input.held.push_back({std::move(reply), std::move(params)});
}

void ProcessService::handle(Reply reply, protocol::CloseStdinParams params) {
    protocol::WriteParams write;
    write.process_id = std::move(params.process_id);
    write.close_stdin = true;
    handle(std::move(reply), std::move(write));
}

void ProcessService::handle(Reply reply, protocol::SignalParams params) {
    Process* const process = table_.find(params.process_id);
    if (park_if_starting(process, reply, params)) return;
    if (process == nullptr) {
        // Codex cannot know that the process has just ended.
        if (params.signal == protocol::SignalName::interrupt) return reply.send(protocol::Empty{});
        return reply.fail(unknown(params.process_id));
    }
    table_.touch(*process);
    process->backend->signal(*process, std::move(reply), params);
}

void ProcessService::handle(Reply reply, const protocol::TerminateParams& params) {
    Process* process = table_.find(params.process_id);
    if (process != nullptr && process->is_starting() && !process->start_is_cancelled) {
        // It may be running already, and only the news of it not read yet.
        process->backend->look_at_start(*process);
        process = table_.find(params.process_id);
    }
    if (process == nullptr) return reply.send(protocol::TerminateResult{});
    table_.touch(*process);
    if (process->is_starting()) {
        expect_end(*process).waiters.push_back({std::move(reply), true});
        return call_off_start(*process); // it may be gone after this
    }
    const bool was_running = process->is_running();
    if (!was_running && !process->ending && !process->backend->has_left_overs(*process))
        return reply.send(protocol::TerminateResult{});
    process->backend->begin_ending(*process, params.grace_ms.value_or(process->grace_ms));
    process->ending->waiters.push_back({std::move(reply), was_running});
}

void ProcessService::handle(Reply reply, protocol::ResizeParams params) {
    Process* const process = table_.find(params.process_id);
    if (process == nullptr) return reply.fail(unknown(params.process_id));
    if (park_if_starting(process, reply, params)) return;
    table_.touch(*process);
    if (!process->is_tty())
        return reply.fail(
            {ErrorKind::not_a_terminal,
             fmt::format("process '{}' has pipes, not a terminal", core::shortened(process->id)),
             "start it with tty: true", "processId"});
    process->backend->resize(*process, std::move(reply), params.size);
}

void ProcessService::list(Reply reply) {
    protocol::ListResult result;
    std::vector<const Process*> by_start;
    refresh();
    table_.for_each([&](const Process& process) { by_start.push_back(&process); });
    std::sort(by_start.begin(), by_start.end(), [](const Process* a, const Process* b) {
        return a->serial / ProcessTable::places < b->serial / ProcessTable::places;
    });
    for (const Process* process : by_start) {
        using protocol::ProcessState;
        protocol::ProcessInfo& info = result.processes.emplace_back();
        info.process_id = process->id;
        if (process->exec) info.environment = process->exec->begin.environment;
        info.pid = process->leader();
        info.argv = process->request.argv;
        info.cwd = process->request.directory;
        info.tty = process->is_tty();
        info.state = process->is_starting()    ? ProcessState::starting
                     : process->is_closed      ? ProcessState::closed
                     : process->exit_is_logged ? ProcessState::exited
                                               : ProcessState::running;
        if (process->exit_is_logged) {
            info.exit_code = process->exit->code;
            if (process->exit->signal != 0) info.signal = os::signal_name(process->exit->signal);
        }
        info.started_at_ms = process->started_at_ms;
        info.next_seq = process->log.next_seq();
        info.descendants = process->backend->descendants(*process);
    }
    reply.send(result);
}

bool ProcessService::cancel(const json::Id& id) {
    const Error cancelled = {ErrorKind::cancelled, "the request was cancelled by the client"};
    bool found = false;
    std::uint64_t to_call_off = 0; // the serial of a start
    const auto cancel_in = [&](auto& waiting, auto on_found) {
        const auto at = std::find_if(waiting.begin(), waiting.end(),
                                     [&](const auto& entry) { return entry.reply.id() == id; });
        if (at == waiting.end() || found) return;
        found = true;
        on_found(*at);
        at->reply.fail(cancelled);
        waiting.erase(at);
    };
    const auto nothing_more = [](const auto&) {};
    table_.for_each([&](Process& process) {
        cancel_in(process.waiting_reads, nothing_more);
        cancel_in(process.parked, nothing_more);
        cancel_in(process.input.held, [&](const HeldWrite& write) {
            process.input.held_bytes -= write.params.chunk.bytes.size();
        });
        release_held_writes(process);
        if (process.ending) cancel_in(process.ending->waiters, nothing_more);
        if (found || !process.start_reply || process.start_reply->id() != id) return;
        found = true;
        to_call_off = process.serial;
    });
    if (Process* const starting = table_.find(to_call_off))
        starting->backend->look_at_start(*starting);
    Process* const process = table_.find(to_call_off);
    if (process != nullptr && process->is_starting()) call_off_start(*process);
    return found;
}

} // namespace ew::server

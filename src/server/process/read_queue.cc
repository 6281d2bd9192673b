#include "server/process/read_queue.h"

#include "core/output/utf8.h"
#include "os/signals.h"
#include "server/process/backend.h"
#include "server/process/process.h"
#include "server/process/sandbox_report.h"
#include "server/process/waiting.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace ew::server {

using core::OutputLog;

namespace {

protocol::StreamName stream_name(OutputLog::Kind kind) {
    switch (kind) {
    case OutputLog::Kind::out: return protocol::StreamName::out;
    case OutputLog::Kind::err: return protocol::StreamName::err;
    case OutputLog::Kind::pty: return protocol::StreamName::pty;
    case OutputLog::Kind::exited:
    case OutputLog::Kind::closed: break; // these have no bytes
    }
    return protocol::StreamName::out;
}

void add_chunks(protocol::ReadResult& result, OutputLog& log, const protocol::ReadParams& params) {
    std::size_t total = 0;
    if (!params.max_bytes) log.cut_all();
    const std::uint64_t after = params.after_seq.value_or(0);
    for (std::uint64_t seq = log.first_after(after); seq <= log.last_seq(); ++seq) {
        while (log.next_seq() <= seq)
            log.cut_one();
        const OutputLog::Entry entry = log.entry(seq);
        if (entry.size == 0) continue;
        if (params.max_bytes && !result.chunks.empty() && total + entry.size > *params.max_bytes)
            break;
        total += entry.size;
        protocol::OutputChunk& chunk = result.chunks.emplace_back();
        chunk.seq = seq;
        chunk.stream = stream_name(entry.kind);
        chunk.chunk.bytes.append(entry.bytes[0]).append(entry.bytes[1]);
    }
}

protocol::ReadResult result_of(Process& process, const protocol::ReadParams& params) {
    const OutputLog& log = process.log;
    protocol::ReadResult result;
    add_chunks(result, process.log, params);
    const bool is_page = params.max_bytes && !result.chunks.empty();
    result.next_seq = is_page ? result.chunks.back().seq + 1 : log.next_seq();
    result.first_seq = log.first_seq();
    result.lost_bytes = log.lost_bytes();
    result.exited = process.exit_is_logged;
    result.closed = process.is_closed;
    result.timed_out = process.timed_out;
    if (!process.exit_is_logged) return result;
    result.exit_code = process.exit->code;
    if (process.exit->failure) result.failure = process.exit->failure->message;
    if (process.exit->signal != 0) result.signal = os::signal_name(process.exit->signal);
    if (process.exit->is_usage_known) result.usage = process.exit->usage;
    add_sandbox_report(result, process);
    return result;
}

// Where the output of the answer begins.
std::uint64_t begin_of_answer(const OutputLog& log, std::uint64_t after_seq) {
    if (after_seq == 0) return 0;
    if (after_seq < log.first_seq()) return log.oldest();
    return log.end_of(after_seq).value_or(log.end());
}

std::optional<TimePoint> quiet_from(const Process& process, const ReadQueue::Waiting& read) {
    const std::optional<std::uint64_t>& quiet_ms = read.params.until->quiet_ms;
    if (!quiet_ms || process.log.end() <= read.output_from) return std::nullopt;
    return deadline_after(process.delivery.last_output, *quiet_ms);
}

// Returns why the wait of a request with `until` is over, or nullopt while it goes on.
std::optional<protocol::WaitEnd> end_of(const Process& process, const ReadQueue::Waiting& read,
                                        TimePoint now) {
    using protocol::WaitEndReason;
    if (read.watch->end()) return read.watch->end();
    if (process.exit_is_logged) return protocol::WaitEnd{WaitEndReason::exit};
    if (is_due(quiet_from(process, read), now)) return protocol::WaitEnd{WaitEndReason::quiet};
    if (is_due(read.deadline, now)) return protocol::WaitEnd{WaitEndReason::time};
    return std::nullopt;
}

} // namespace

bool ReadQueue::must_wait(const Process& process, const protocol::ReadParams& params) {
    if (params.wait_ms.value_or(0) == 0 || process.is_closed) return false;
    const std::uint64_t after = params.after_seq.value_or(0);
    if (process.log.has_output_after(after)) return false;
    return !process.exit_is_logged || after >= process.log.last_seq();
}

void ReadQueue::answer(Process& process, Reply& reply, const protocol::ReadParams& params) {
    reply.send(result_of(process, params));
}

Result<void> ReadQueue::begin_watch(const Process& process, Waiting& waiting) const {
    const protocol::Until& until = *waiting.params.until;
    const auto watching =
        std::ranges::count_if(waiting_, [](const Waiting& read) { return read.watch.has_value(); });
    if (static_cast<std::size_t>(watching) >= most_watching)
        return Error{ErrorKind::limit,
                     fmt::format("{} requests with until wait for process '{}' already",
                                 most_watching, core::shortened(process.id)),
                     "wait for their answers, or cancel one of them"};
    if (process.backend->environment(process))
        if (std::optional<Error> refusal = refusal_elsewhere(until)) return *refusal;
    waiting.output_from = begin_of_answer(process.log, waiting.params.after_seq.value_or(0));
    waiting.watch = TRY(UntilWatch::of(until, waiting.output_from));
    waiting.watch->look_at(process.log);
    return {};
}

void ReadQueue::look_at_program(Process& process, TimePoint now) {
    WantedLook wanted;
    for (const Waiting& read : waiting_) {
        if (!read.watch || !is_due(read.watch->next_look(), now)) continue;
        wanted.ports |= read.watch->wants_ports();
        wanted.input |= read.watch->wants_input();
    }
    if (process.exit_is_logged || wanted.is_empty()) return;
    const UntilWatch::Look look = server::look_at_program(process, wanted, now);
    for (Waiting& read : waiting_)
        if (read.watch) read.watch->take(look, now);
}

void ReadQueue::wake(Process& process, TimePoint now, const Outbox& outbox) {
    is_blocked_ = false;
    if (waiting_.empty()) return;
    look_at_program(process, now);
    std::vector<Waiting> still_waiting;
    for (Waiting& read : waiting_) {
        const std::optional<protocol::WaitEnd> end =
            read.watch ? end_of(process, read, now) : std::nullopt;
        const bool can_be_answered =
            read.watch ? end.has_value()
                       : is_due(read.deadline, now) || !must_wait(process, read.params);
        const bool is_blocked = can_be_answered && outbox.is_full_of_answers();
        is_blocked_ |= is_blocked;
        if (!can_be_answered || is_blocked) {
            still_waiting.push_back(std::move(read));
            continue;
        }
        protocol::ReadResult result = result_of(process, read.params);
        result.wait_end = end;
        read.reply.send(result);
    }
    waiting_ = std::move(still_waiting);
}

std::optional<TimePoint> ReadQueue::next_deadline(const Process& process) const {
    std::optional<TimePoint> next;
    if (is_blocked_) return next;
    for (const Waiting& read : waiting_) {
        next = earlier(next, read.deadline);
        if (!read.watch) continue;
        next = earlier(next, quiet_from(process, read));
        if (process.is_running()) next = earlier(next, read.watch->next_look());
    }
    return next;
}

bool ReadQueue::cancel(const json::Id& id) {
    return cancel_request(waiting_, id);
}

} // namespace ew::server

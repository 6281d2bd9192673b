#include "server/process/read_queue.h"

#include "os/signals.h"
#include "server/process/process.h"
#include "server/process/sandbox_report.h"
#include "server/process/waiting.h"

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

void ReadQueue::add(Reply reply, protocol::ReadParams params, std::optional<TimePoint> deadline) {
    waiting_.push_back({std::move(reply), std::move(params), deadline});
}

void ReadQueue::wake(Process& process, TimePoint now, const Outbox& outbox) {
    is_blocked_ = false;
    if (waiting_.empty()) return;
    std::vector<Waiting> still_waiting;
    for (Waiting& read : waiting_) {
        const bool can_be_answered = is_due(read.deadline, now) || !must_wait(process, read.params);
        const bool is_blocked = can_be_answered && outbox.is_full_of_answers();
        is_blocked_ |= is_blocked;
        if (can_be_answered && !is_blocked)
            answer(process, read.reply, read.params);
        else
            still_waiting.push_back(std::move(read));
    }
    waiting_ = std::move(still_waiting);
}

bool ReadQueue::has_due(TimePoint now) const {
    return !is_blocked_ && std::ranges::any_of(waiting_, [&](const Waiting& read) {
        return is_due(read.deadline, now);
    });
}

std::optional<TimePoint> ReadQueue::next_deadline() const {
    std::optional<TimePoint> next;
    if (is_blocked_) return next;
    for (const Waiting& read : waiting_)
        next = earlier(next, read.deadline);
    return next;
}

bool ReadQueue::cancel(const json::Id& id) {
    return cancel_request(waiting_, id);
}

} // namespace ew::server

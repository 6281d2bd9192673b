// What happens to a process between requests: its start, output, exit, end, timers.
#include "core/output/denial_hint.h"
#include "server/process/process_service.h"

#include <algorithm>

namespace ew::server {

namespace {

// Does the end look as if the sandbox was the cause? A guess, from what the program has put out.
std::optional<std::string> hint_in(const Process& process) {
    std::string text;
    if (process.exit->code != 0) process.log.copy(process.log.oldest(), process.log.end(), text);
    const std::optional<std::string_view> hint = core::denial_hint(process.exit->code, true, text);
    if (!hint) return std::nullopt;
    return std::string(*hint);
}

} // namespace

void ProcessService::begin_running(Process& process) {
    process.has_started = true;
    if (process.timeout_ms > 0) process.timeout_at = deadline_after(now_, process.timeout_ms);

    if (process.start_reply) {
        protocol::StartResult result;
        result.process_id = process.id;
        if (process.sandbox) {
            protocol::Confinement confinement = process.confinement();
            result.sandbox_type = confinement.type;
            result.missing = std::move(confinement.missing);
            if (!process.sandbox->notes().empty()) result.notes = process.sandbox->notes();
        }
        process.start_reply->send(result);
    }
    // Calling it off came too late, so it is ended like any other, with what it may have started.
    if (process.start_is_cancelled) process.backend->begin_ending(process, 0);
    process.start_reply.reset();
    note_news(process);
    warn_when_nearly_full();
    handle_parked(std::exchange(process.parked, {}));
}

// Its name is free again when the client learns of the failure.
void ProcessService::fail_start(Process& process, Error error) {
    if (process.start_is_cancelled) error = {ErrorKind::cancelled, "the start was cancelled"};
    if (process.start_reply) process.start_reply->fail(error);
    if (process.exec) failed_starts_.push_back({process.exec->call, std::move(error)});
    if (process.ending) finish_ending(process, {});
    std::vector<Parked> parked = std::move(process.parked);
    table_.remove(process);
    handle_parked(std::move(parked));
}

void ProcessService::handle_parked(std::vector<Parked> parked) {
    for (Parked& request : parked)
        std::visit([&](auto& params) { handle(std::move(request.reply), std::move(params)); },
                   request.params);
}

void ProcessService::settle(Process& process) {
    tell_exit_if_drained(process);
    close_if_ended(process);
    pump_.deliver(process, now_);
    wake_reads(process);
    note_news(process);
}

bool ProcessService::deliver_pending() {
    bool has_delivered = false;
    const std::size_t first = next_to_deliver_;
    for (std::size_t i = 0; i < ProcessTable::places; ++i) {
        const std::size_t place = (first + i) % ProcessTable::places;
        Process* const process = table_.at(place);
        if (process == nullptr) continue;
        if (process->has_blocked_reads) wake_reads(*process);
        if (!process->log.has_undelivered()) continue;
        has_delivered |= pump_.deliver(*process, now_);
        if (process->exit && !process->is_closed) settle(*process);
        // Who finds no room is the first to use it another time.
        if (process->log.has_undelivered() && next_to_deliver_ == first)
            next_to_deliver_ = (place + 1) % ProcessTable::places;
    }
    return has_delivered;
}

bool ProcessService::has_undelivered() {
    bool found = false;
    table_.for_each([&](const Process& process) {
        found |= process.log.has_undelivered() || process.has_blocked_reads;
    });
    return found;
}

void ProcessService::wake_reads(Process& process) {
    process.has_blocked_reads = false;
    if (process.waiting_reads.empty()) return;
    std::vector<WaitingRead> still_waiting;
    for (WaitingRead& waiting : process.waiting_reads) {
        const bool can_be_answered =
            is_due(waiting.deadline, now_) || !read_must_wait(process, waiting.params);
        const bool is_blocked = can_be_answered && outbox_.is_full_of_answers();
        process.has_blocked_reads |= is_blocked;
        if (can_be_answered && !is_blocked)
            answer_read(process, std::move(waiting.reply), waiting.params);
        else
            still_waiting.push_back(std::move(waiting));
    }
    process.waiting_reads = std::move(still_waiting);
}

void ProcessService::note_exit(Process& process, Exit exit) {
    process.exit = std::move(exit);
    process.timeout_at.reset();
    close_input(process);
    warn_when_nearly_full(); // or forget that it was
}

void ProcessService::tell_exit_if_drained(Process& process) {
    if (!process.exit || process.exit_is_logged) return;
    const bool is_drained = process.streams[0].backlog == 0 && process.streams[1].backlog == 0;
    if (!is_drained || (process.sandbox && !process.sandbox->is_cleared())) return;
    for (const core::Stream stream : {core::Stream::out, core::Stream::err, core::Stream::pty})
        process.log.flush(stream);
    if (process.sandbox) process.exit->sandbox_hint = hint_in(process);
    process.log.append_exited();
    process.exit_is_logged = true;
    if (settings_.close_grace) process.close_at = now_ + *settings_.close_grace;
}

void ProcessService::close_if_ended(Process& process) {
    if (!process.exit_is_logged || process.is_closed) return;
    // Once the tree is gone, whoever still holds a stream is no member and is not waited for.
    if (process.is_tree_gone) pump_.end_silent_streams(process);
    const bool is_given_up = is_due(process.close_at, now_);
    if (!process.streams_ended() && !is_given_up) return;
    process.is_given_up = !process.streams_ended();
    process.close_at.reset();
    process.log.append_closed();
    process.is_closed = true;
}

void ProcessService::call_off_start(Process& process) {
    process.start_is_cancelled = true;
    process.backend->call_off_start(process);
}

// Both requests, the start and what called it off, are answered when nothing of it is left, or when
// it proves to hang, say in a directory that does not answer.
Ending& ProcessService::expect_end(Process& process) {
    if (process.ending) return *process.ending;
    process.ending = Ending{Ending::Phase::calling_off_start};
    process.ending->give_up = now_ + Ending::patience;
    return *process.ending;
}

void ProcessService::end(Process& process, std::uint64_t grace_ms) {
    if (process.is_starting()) return call_off_start(process);
    process.backend->begin_ending(process, grace_ms);
}

void ProcessService::finish_ending(Process& process, const std::vector<std::int64_t>& survivors) {
    Ending ending = std::move(*process.ending);
    process.ending.reset();
    protocol::TerminateResult result;
    result.survivors = survivors;
    for (Ending::Waiter& waiter : ending.waiters) {
        result.running = waiter.was_running;
        waiter.reply.send(result);
    }
    process.is_tree_gone = process.exit && survivors.empty();
    settle(process);
}

void ProcessService::fail_ending(Process& process, const Error& error) {
    Ending ending = std::move(*process.ending);
    process.ending.reset();
    for (Ending::Waiter& waiter : ending.waiters)
        waiter.reply.fail(error);
    settle(process);
}

void ProcessService::check_timers(Process& process) {
    if (is_due(process.timeout_at, now_)) {
        process.timeout_at.reset();
        process.timed_out = true;
        process.backend->begin_ending(process, process.grace_ms);
    }
    const std::uint64_t serial = process.serial;
    process.backend->check_timers(process);
    if (table_.find(serial) == nullptr) return;
    const bool holds_bytes_too_long = is_due(process.log.held_until(), now_);
    if (holds_bytes_too_long) process.log.flush_held_since(now_);
    const bool has_read_due =
        !process.has_blocked_reads &&
        std::any_of(process.waiting_reads.begin(), process.waiting_reads.end(),
                    [&](const WaitingRead& read) { return is_due(read.deadline, now_); });
    if (holds_bytes_too_long || has_read_due || is_due(process.close_at, now_)) settle(process);
}

void ProcessService::on_time(TimePoint now) {
    now_ = now;
    table_.for_each([&](Process& process) { check_timers(process); });
}

std::optional<TimePoint> ProcessService::next_deadline() {
    std::optional<TimePoint> next;
    table_.for_each([&](const Process& process) {
        next = earlier(next, process.backend->next_deadline(process));
        next = earlier(next, process.timeout_at);
        next = earlier(next, process.log.held_until());
        next = earlier(next, process.close_at);
        for (const WaitingRead& read : process.waiting_reads)
            if (!process.has_blocked_reads) next = earlier(next, read.deadline);
    });
    return next;
}

} // namespace ew::server

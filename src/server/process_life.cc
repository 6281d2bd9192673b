// What happens to a process between requests: its start, output, exit, timers.
#include "base/log.h"
#include "core/denial_hint.h"
#include "os/proc.h"
#include "server/process_service.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <limits>

namespace ew::server {

namespace {

std::uint64_t millis(const timeval& time) {
    return static_cast<std::uint64_t>(time.tv_sec) * 1000 +
           static_cast<std::uint64_t>(time.tv_usec) / 1000;
}

// The limits that a kernel ends a program for (setrlimit(2)). The others only make calls fail.
std::vector<std::string> limit_hits(const os::SpawnRequest& request, const Exit& exit) {
    const std::uint64_t used = (exit.usage.user_ms + exit.usage.system_ms) / 1000; // seconds
    std::vector<std::string> hits;
    for (const os::ChildLimit& limit : request.limits) {
        const bool is_over_time =
            limit.resource == RLIMIT_CPU &&
            (exit.signal == SIGXCPU || (exit.signal == SIGKILL && used >= limit.limit.rlim_cur));
        if (is_over_time) hits.emplace_back("cpuSeconds");
        if (limit.resource == RLIMIT_FSIZE && exit.signal == SIGXFSZ)
            hits.emplace_back("fileSizeBytes");
    }
    return hits;
}

// Does the end look as if the sandbox was the cause? A guess, from what the program has put out.
std::optional<std::string> hint_in(const Process& process) {
    std::string text;
    if (process.exit->code != 0) process.log.copy(process.log.oldest(), process.log.end(), text);
    const std::optional<std::string_view> hint = core::denial_hint(process.exit->code, true, text);
    if (!hint) return std::nullopt;
    return std::string(*hint);
}

} // namespace

void ProcessService::on_start_report(std::uint64_t serial) {
    Process* const process = table_.find(serial);
    if (process == nullptr || !process->is_starting()) return;
    if (!process->sandbox) {
        if (const std::optional<os::StartFailure> failure = process->start->outcome())
            finish_start(*process, *failure);
        return;
    }
    if (!process->sandbox->is_launched() || process->start_failure) return;
    if (const std::optional<sandbox::Launch::Outcome> outcome = process->sandbox->outcome())
        finish_confined(*process, *outcome);
}

void ProcessService::finish_start(Process& process, const os::StartFailure& failure) {
    poller_.unwatch(process.start->report());
    if (failure.step != os::StartStep::none)
        return fail_start(process, os::describe(failure, process.request));
    os::Spawned spawned = std::move(process.start->spawned());
    process.start.reset();
    take_over(process, std::move(spawned));
}

void ProcessService::finish_confined(Process& process, const sandbox::Launch::Outcome& outcome) {
    poller_.unwatch(process.sandbox->start_report());
    if (outcome.failure) {
        if (outcome.contradicts_machine && !process.start_is_cancelled) host_.doubt();
        process.start_failure = outcome.failure;
        process.may_start_again = outcome.is_passing;
        process.sandbox->end(poller_, process.serial, now_);
        if (process.sandbox->is_cleared()) start_again_or_fail(process);
        return;
    }
    const std::uint64_t serial = process.serial;
    process.is_being_confined = false;
    process.sandbox->begin(poller_, process.serial);
    if (UniqueFd guarded = process.sandbox->take_guarded()) host_.keep_guarded(std::move(guarded));
    take_over(process, std::move(process.sandbox->spawned()));
    Process* const still = table_.find(serial);
    if (still == nullptr || !still->early_end) return;
    const EarlyEnd end = *std::exchange(still->early_end, std::nullopt);
    on_exit(*still, end.status, end.usage);
}

// It runs.
void ProcessService::take_over(Process& process, os::Spawned spawned) {
    process.streams[0].fd = std::move(spawned.output);
    process.streams[0].name = process.is_tty() ? core::Stream::pty : core::Stream::out;
    process.streams[1].fd = std::move(spawned.error);
    process.streams[1].name = core::Stream::err;
    process.input.fd = std::move(spawned.input);
    if (process.is_tty()) // epoll keeps one interest a descriptor, so writing has one of its own
        process.input.fd = UniqueFd(::fcntl(process.streams[0].fd.get(), F_DUPFD_CLOEXEC, 3));
    pump_.watch(process);
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
    if (process.start_is_cancelled) begin_ending(process, 0);
    process.start_reply.reset();
    note_news(process);
    warn_when_nearly_full();
    handle_parked(std::exchange(process.parked, {}));
}

// Nothing of the program has run, and another plan promises no less.
void ProcessService::start_again_or_fail(Process& process) {
    Error failure = *std::exchange(process.start_failure, std::nullopt);
    const bool is_wanted = !process.start_is_cancelled && !process.ending;
    const bool may_start = std::exchange(process.may_start_again, false) && is_wanted &&
                           process.start_tries < most_start_tries;
    if (!may_start) return fail_start(process, std::move(failure));
    ++process.start_tries;
    process.sandbox = std::make_unique<Confinement>(process.sandbox->wish());
    if (Result<void> begun = begin_confined(process); !begun)
        fail_start(process, std::move(begun.error()));
}

// The child is gone, so its name is free again when the client learns of the failure.
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

void ProcessService::on_output(std::uint64_t serial, std::size_t stream, std::size_t budget) {
    Process* const process = table_.find(serial);
    if (process == nullptr || process->is_starting()) return;
    pump_.read(*process, stream, budget, now_);
    settle(*process);
}

// Brings everything that follows from new output or from the exit up to date.
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

void ProcessService::forget_cold() {
    std::erase_if(hot_, [&](std::uint64_t serial) {
        const Process* const process = table_.find(serial);
        return process == nullptr || now_ >= process->typed_until || !process->streams[0].fd;
    });
}

void ProcessService::read_hot() {
    forget_cold();
    for (std::size_t i = 0; i < hot_.size(); ++i)
        on_output(hot_[i], 0, OutputPump::shared_budget);
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

void ProcessService::on_children() {
    for (;;) {
        int status = 0;
        rusage usage = {};
        const pid_t pid = ::wait4(-1, &status, WNOHANG, &usage);
        if (pid <= 0) break;
        families_.forget(pid);
        if (Process* const process = table_.find_leader(pid)) on_exit(*process, status, usage);
    }
    table_.for_each([&](Process& process) {
        if (process.ending) continue_ending(process);
    });
}

void ProcessService::on_machine() {
    if (!host_.on_ready()) return;
    begin_waiting();
}

std::vector<std::uint64_t> ProcessService::waiting_for_machine() {
    std::vector<std::uint64_t> waiting;
    table_.for_each([&](const Process& process) {
        if (process.is_being_confined && !process.sandbox->is_launched())
            waiting.push_back(process.serial);
    });
    return waiting;
}

// What can be enforced here is known, or that it cannot be known.
void ProcessService::begin_waiting() {
    for (const std::uint64_t serial : waiting_for_machine()) {
        Process* const process = table_.find(serial);
        if (process == nullptr) continue; // gone with one before it
        if (Result<void> begun = launch_confined(*process); !begun)
            fail_start(*process, std::move(begun.error()));
    }
}

void ProcessService::refuse_waiting(const Error& error) {
    for (const std::uint64_t serial : waiting_for_machine())
        if (Process* const process = table_.find(serial)) fail_start(*process, error);
}

void ProcessService::on_supervisor(std::uint64_t serial) {
    Process* const process = table_.find(serial);
    if (process != nullptr && process->sandbox) process->sandbox->on_supervisor(now_);
}

void ProcessService::on_clearing(std::uint64_t serial) {
    Process* const process = table_.find(serial);
    if (process == nullptr || !process->sandbox) return;
    process->sandbox->on_clearing(poller_, now_);
    if (!process->sandbox->is_cleared()) return;
    if (process->start_failure) return start_again_or_fail(*process);
    settle(*process);
}

void ProcessService::on_exit(Process& process, int status, const rusage& usage) {
    if (process.is_starting()) {
        const std::uint64_t serial = process.serial;
        const pid_t ended = process.pid;
        on_start_report(serial);
        const bool has_failed = table_.find(serial) == nullptr;
        if (has_failed || process.pid != ended) return; // or begun again
        // The child is gone, so its report has ended. That of a sandbox may be held for a moment
        // by processes in it that are still being killed.
        CHECK(!process.is_starting() || process.sandbox);
        if (process.start_failure) return;
        if (process.is_starting()) {
            process.early_end = EarlyEnd{status, usage};
            return;
        }
        if (process.exit) return;
    }
    if (process.sandbox) status = process.sandbox->wait_status(status);
    Exit exit;
    exit.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    exit.code = exit.signal != 0 ? 128 + exit.signal : WEXITSTATUS(status);
    exit.usage.wall_ms = ew::millis(now_ - process.started_at);
    exit.usage.user_ms = millis(usage.ru_utime);
    exit.usage.system_ms = millis(usage.ru_stime);
    exit.usage.peak_rss_bytes = static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;
    exit.limit_hits = limit_hits(process.request, exit);
    process.exit = std::move(exit);
    if (process.sandbox) process.sandbox->end(poller_, process.serial, now_);
    process.timeout_at.reset();
    if (process.terminal_retry) pump_.retry_terminal(process);
    close_input(process);
    read_what_is_left(process);
    // A child of it that was between fork and exec has not got the first one.
    const bool was_asked = process.ending && process.ending->phase == Ending::Phase::polite;
    if (was_asked) (void)signal_tree(process, SIGTERM, protocol::SignalScope::tree);
    settle(process);
    warn_when_nearly_full(); // or forget that it was
}

// What could be read at the exit is told before it.
void ProcessService::read_what_is_left(Process& process) {
    // What a terminal still holds cannot be asked; it is read until it has nothing more to give.
    constexpr std::size_t unknown = std::numeric_limits<std::size_t>::max();
    for (std::size_t i = 0; i < process.streams.size(); ++i) {
        OutputStream& stream = process.streams[i];
        if (!stream.fd) continue;
        stream.backlog = process.is_tty() ? unknown : os::readable_bytes(stream.fd.get());
        while (stream.backlog > 0 && pump_.read(process, i, OutputPump::lone_budget, now_)) {}
    }
}

void ProcessService::tell_exit_if_drained(Process& process) {
    if (!process.exit || process.exit_is_logged) return;
    const bool is_drained = process.streams[0].backlog == 0 && process.streams[1].backlog == 0;
    if (!is_drained || (process.sandbox && !process.sandbox->is_cleared())) return;
    for (const OutputStream& stream : process.streams)
        process.log.flush(stream.name);
    if (process.sandbox) process.exit->sandbox_hint = hint_in(process);
    process.log.append_exited();
    process.exit_is_logged = true;
    if (settings_.close_grace) process.close_at = now_ + *settings_.close_grace;
}

void ProcessService::close_if_ended(Process& process) {
    if (!process.exit_is_logged || process.is_closed) return;
    // Once the tree is gone, whoever still holds a stream is no member and is not waited for.
    for (std::size_t i = 0; process.is_tree_gone && i < process.streams.size(); ++i) {
        const OutputStream& stream = process.streams[i];
        if (!stream.fd || os::readable_bytes(stream.fd.get()) > 0) continue;
        process.log.flush(stream.name);
        pump_.end_stream(process, i);
    }
    const bool is_given_up = is_due(process.close_at, now_);
    if (!process.streams_ended() && !is_given_up) return;
    process.is_given_up = !process.streams_ended();
    process.close_at.reset();
    process.log.append_closed();
    process.is_closed = true;
}

void ProcessService::check_timers(Process& process) {
    if (process.sandbox) {
        process.sandbox->on_time(now_);
        if (!process.sandbox->is_cleared() && is_due(process.sandbox->next_deadline(), now_))
            on_clearing(process.serial);
    }
    if (is_due(process.timeout_at, now_)) {
        process.timeout_at.reset();
        process.timed_out = true;
        begin_ending(process, process.grace_ms);
    }
    if (process.ending &&
        (is_due(process.ending->kill_at, now_) || is_due(process.ending->look_again, now_) ||
         is_due(process.ending->give_up, now_)))
        continue_ending(process);
    if (is_due(process.terminal_retry, now_)) {
        pump_.retry_terminal(process);
        write_input(process);
    }
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
    if (host_.on_time(now)) begin_waiting();
    table_.for_each([&](Process& process) { check_timers(process); });
}

std::optional<TimePoint> ProcessService::next_deadline() {
    std::optional<TimePoint> next = host_.next_deadline();
    table_.for_each([&](const Process& process) {
        if (process.sandbox) next = earlier(next, process.sandbox->next_deadline());
        next = earlier(next, process.timeout_at);
        next = earlier(next, process.log.held_until());
        next = earlier(next, process.terminal_retry);
        next = earlier(next, process.close_at);
        for (const WaitingRead& read : process.waiting_reads)
            if (!process.has_blocked_reads) next = earlier(next, read.deadline);
        if (!process.ending) return;
        next = earlier(next, process.ending->kill_at);
        next = earlier(next, process.ending->look_again);
        next = earlier(next, process.ending->give_up);
    });
    return next;
}

} // namespace ew::server

#include "server/process/process_service.h"

#include "base/check.h"
#include "core/output/denial_hint.h"
#include "json/writer.h"
#include "os/pty.h"
#include "protocol/process_start.h"
#include "server/connection/notify.h"
#include "server/process/consumer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>

namespace ew::server {

namespace {

constexpr std::array every_stream = {core::Stream::out, core::Stream::err, core::Stream::pty};

// How long unread output is left alone before it is looked at again. Most often it is read before.
constexpr Millis unread_patience{500};

std::string notification_header(const std::string& id) {
    ByteBuffer out;
    out.append(std::string_view(R"(","params":{"processId":)"));
    json::write_string(out, id);
    out.append(std::string_view(R"(,"seq":)"));
    return std::string(out.view());
}

// Guesses from the output whether the sandbox caused the end of the program.
std::optional<std::string> hint_in(const Process& process) {
    std::string text;
    if (process.exit->code != 0) process.log.copy(process.log.oldest(), process.log.end(), text);
    const std::optional<std::string_view> hint = core::denial_hint(process.exit->code, true, text);
    if (!hint) return std::nullopt;
    return std::string(*hint);
}

// Returns true if the program ran on this machine without a sandbox and everything about it was
// sent: it has no timer until the client asks for something.
bool is_at_rest(const Process& process) {
    return process.is_closed && !process.is_output_open && !process.ending && !process.remote &&
           !process.exit->wants_sandbox_hint && process.reads.size() == 0 &&
           !process.log.has_undelivered();
}

} // namespace

Result<void> ProcessService::check_selection(const Launch& launch) const {
    const bool is_confined = launch.sandbox || launch.is_confined_there;
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
    if (launch.answers_queries) TRY(check_answers(launch.request.terminal));
    Backend& backend = launch.backend != nullptr ? *launch.backend : *local_;
    Process* const process =
        table_.add(std::move(id), settings_.output, backend, outbox_.bulk_sent());
    if (process == nullptr)
        return Error{ErrorKind::too_many_processes,
                     fmt::format("all {} places are taken by processes that live, whose "
                                 "descendants live, or whose output was not read yet",
                                 ProcessTable::places),
                     "end one with process/terminate; process/list shows them"};
    if (!process->log.has_memory()) {
        table_.remove(*process);
        return Error{ErrorKind::limit, "the process was not started: no memory for its output",
                     "raise the limit of address space (ulimit -v), or end other processes"};
    }
    process->request = std::move(launch.request);
    if (launch.answers_queries) {
        Result<LiveScreen> screen = LiveScreen::of(*process, LiveScreen::first_version);
        CHECK(screen); // check_answers() has looked
        screen->answer();
        process->screen = std::make_unique<LiveScreen>(std::move(*screen));
    }
    if (Result<void> begun =
            backend.begin(*process, {std::move(launch.sandbox), std::move(launch.elsewhere)});
        !begun) {
        Error error = std::move(begun.error());
        table_.remove(*process);
        return error;
    }
    process->delivery.header = notification_header(process->id);
    process->started_at = now_;
    process->started_at_ms = millis(std::chrono::system_clock::now().time_since_epoch());
    process->grace_ms = launch.grace_ms;
    process->timeout.ms = launch.timeout_ms;
    process->start.reply = std::move(launch.reply);
    process->exec = std::move(launch.exec);
    process->consumer = launch.consumer;
    return process;
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

void ProcessService::begin_running(Process& process) {
    process.start.is_over = true;
    if (process.timeout.ms > 0) process.timeout.at = deadline_after(now_, process.timeout.ms);

    if (process.start.reply) {
        protocol::StartResult result;
        result.process_id = process.id;
        SandboxState sandbox = process.backend->sandbox_state(process);
        if (sandbox.is_confined) {
            result.sandbox_type = sandbox.confinement.type;
            result.missing = std::move(sandbox.confinement.missing);
            if (!sandbox.notes.empty()) result.notes = std::move(sandbox.notes);
        }
        process.start.reply->send(result);
    }
    // The cancellation came too late, so the program is ended with all its descendants.
    if (process.start.is_cancelled) process.backend->begin_ending(process, 0);
    process.start.reply.reset();
    note_news(process);
    warn_when_nearly_full();
    handle_parked(std::exchange(process.start.parked, {}));
}

// The id is free again when the client learns of the failure.
void ProcessService::fail_start(Process& process, Error error) {
    if (process.start.is_cancelled) error = {ErrorKind::cancelled, "the start was cancelled"};
    if (process.start.reply) process.start.reply->fail(error);
    if (process.consumer != nullptr)
        failed_starts_.push_back({process.consumer->serial_of_call(), std::move(error)});
    if (process.ending) finish_ending(process, {});
    std::vector<Parked> parked = std::move(process.start.parked);
    table_.remove(process);
    handle_parked(std::move(parked));
}

void ProcessService::handle_parked(std::vector<Parked> parked) {
    if (!parked.empty()) handle_parked_(std::move(parked));
}

// Notes a process only once, however many changes come before the exec layer looks.
void ProcessService::note_news(const Process& process) {
    const bool is_noted = std::ranges::find(news_, process.serial) != news_.end();
    if (process.consumer != nullptr && !is_noted) news_.push_back(process.serial);
}

// The answers go behind what was typed before. They are no typing: no event shows them, and the
// output that follows has no precedence.
void ProcessService::answer_queries(Process& process) {
    const std::string replies = process.screen ? process.screen->take_replies() : std::string();
    const bool is_taken =
        process.input.takes_writes() && process.input.has_room_for(replies.size());
    if (replies.empty() || !is_taken) return;
    (void)process.input.append(replies);
    process.delivery.last_input = now_;
    process.backend->write_input(process);
}

void ProcessService::settle(Process& process) {
    answer_queries(process);
    tell_exit_if_drained(process);
    close_if_ended(process);
    (void)delivery_.deliver(process);
    process.reads.wake(process, now_, outbox_);
    note_news(process);
}

bool ProcessService::deliver_pending() {
    bool has_delivered = false;
    const std::size_t first = next_to_deliver_;
    for (std::size_t i = 0; i < ProcessTable::places; ++i) {
        const std::size_t place = (first + i) % ProcessTable::places;
        Process* const process = table_.at(place);
        if (process == nullptr) continue;
        if (process->reads.is_blocked()) process->reads.wake(*process, now_, outbox_);
        if (!process->log.has_undelivered()) continue;
        has_delivered |= delivery_.deliver(*process);
        if (process->exit && !process->is_closed) settle(*process);
        // The process that finds no room is the first in the next round.
        if (process->log.has_undelivered() && next_to_deliver_ == first)
            next_to_deliver_ = (place + 1) % ProcessTable::places;
    }
    return has_delivered;
}

bool ProcessService::has_undelivered() {
    bool found = false;
    table_.for_each([&](const Process& process) {
        found |= process.log.has_undelivered() || process.reads.is_blocked();
    });
    return found;
}

void ProcessService::take_write(Process& process, Reply reply, protocol::WriteParams params) {
    protocol::WriteResult result;
    if (params.write_id && !process.input.accept_id(*params.write_id)) return reply.send(result);
    const std::size_t longest_line = process.input.append(params.chunk.bytes);
    delivery_.note_typing(process);
    const bool is_long_line = process.is_tty() && longest_line > os::longest_canonical_line;
    if (is_long_line && process.backend->line_mode(process).value_or(os::LineMode{}).is_canonical)
        result.notice = fmt::format(
            "the terminal is in canonical mode and keeps only the first {} bytes of a line",
            os::longest_canonical_line);
    if (params.close_stdin) process.backend->end_input(process);
    reply.send(result);
}

bool ProcessService::type(Process& process, std::string_view bytes) {
    if (!process.input.has_room_for(bytes.size())) return false;
    (void)process.input.append(bytes);
    delivery_.note_typing(process);
    if (process.input.is_open()) process.backend->write_input(process);
    return true;
}

void ProcessService::end_input(Process& process) {
    if (!process.input.is_open()) return;
    process.backend->end_input(process);
    process.backend->write_input(process);
}

void ProcessService::release_held_writes(Process& process) {
    while (std::optional<InputQueue::HeldWrite> next = process.input.take_held())
        take_write(process, std::move(next->reply), std::move(next->params));
}

void ProcessService::close_input(Process& process) {
    for (InputQueue::HeldWrite& write : process.input.close())
        write.reply.send(protocol::WriteResult{protocol::WriteStatus::stdin_closed, {}});
}

void ProcessService::note_exit(Process& process, Exit exit) {
    process.exit = std::move(exit);
    process.timeout.at.reset();
    close_input(process);
    warn_when_nearly_full(); // or reset the warning
}

void ProcessService::tell_exit_if_drained(Process& process) {
    if (!process.exit || process.exit_is_logged) return;
    if (!process.backend->may_tell_exit(process)) return;
    for (const core::Stream stream : every_stream)
        process.log.flush(stream);
    if (process.exit->wants_sandbox_hint) process.exit->sandbox_hint = hint_in(process);
    process.log.append_exited();
    process.exit_is_logged = true;
    if (settings_.close_grace) process.closing.due = now_ + *settings_.close_grace;
}

void ProcessService::close_if_ended(Process& process) {
    if (!process.exit_is_logged || process.is_closed) return;
    if (process.closing.is_tree_gone) process.backend->end_silent_streams(process);
    const bool is_given_up = is_due(process.closing.due, now_);
    if (process.is_output_open && !is_given_up) return;
    process.closing.is_given_up = process.is_output_open;
    process.closing.due.reset();
    process.log.append_closed();
    process.is_closed = true;
}

void ProcessService::call_off_start(Process& process) {
    process.start.is_cancelled = true;
    process.backend->call_off_start(process);
}

// The start and the request that cancelled it are both answered when nothing is left of the
// program, or when the start proves to hang, for example in a directory that does not answer.
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
    process.closing.is_tree_gone = process.exit && survivors.empty();
    settle(process);
}

void ProcessService::fail_ending(Process& process, const Error& error) {
    Ending ending = std::move(*process.ending);
    process.ending.reset();
    for (Ending::Waiter& waiter : ending.waiters)
        waiter.reply.fail(error);
    settle(process);
}

// Only time in which the stream is read counts: the rest of the character may have arrived and not
// be read, because the client does not read.
bool ProcessService::release_held_bytes(Process& process) {
    bool has_released = false;
    for (const core::Stream stream : every_stream) {
        if (!process.log.holds_too_long(stream, now_)) continue;
        if (process.backend->has_unread(process, stream)) {
            process.log.hold_again(stream, now_ + unread_patience);
        } else {
            process.log.flush(stream);
            has_released = true;
        }
    }
    return has_released;
}

void ProcessService::check_timers(Process& process) {
    if (is_due(process.timeout.at, now_)) {
        process.timeout.at.reset();
        process.timed_out = !process.backend->has_program_ended(process);
        if (process.timed_out) process.backend->begin_ending(process, process.grace_ms);
    }
    const std::uint64_t serial = process.serial;
    process.backend->check_timers(process);
    if (table_.find(serial) == nullptr) return;
    const bool has_released = release_held_bytes(process);
    if (has_released || process.reads.has_due(process, now_) || is_due(process.closing.due, now_))
        settle(process);
}

void ProcessService::on_time() {
    table_.for_each([&](Process& process) {
        if (!is_at_rest(process)) check_timers(process);
    });
}

std::optional<TimePoint> ProcessService::next_deadline() {
    std::optional<TimePoint> next;
    table_.for_each([&](const Process& process) {
        if (is_at_rest(process)) return;
        next = earlier(next, process.backend->next_deadline(process));
        next = earlier(next, process.timeout.at);
        next = earlier(next, process.log.held_until());
        next = earlier(next, process.closing.due);
        next = earlier(next, process.reads.next_deadline(process));
    });
    return next;
}

} // namespace ew::server

#include "server/environment/remote_output.h"

#include "core/output/utf8.h"
#include "peer/peer.h"
#include "protocol/envelope.h"
#include "server/connection/notify.h"
#include "server/environment/remote_handle.h"
#include "server/environment/remote_reports.h"
#include "server/process/process_service.h"

#include <fmt/format.h>

#include <utility>
#include <variant>

namespace ew::server {

// The time by which the server must have answered a question that is sent now.
TimePoint RemoteOutput::patience() const {
    return parts_.processes.now() + RemoteConnection::answer_patience;
}

// ---------------------------------------------------------------- events

void RemoteOutput::take(std::uint64_t seq, peer::Event event) {
    // Events still arrive, perhaps over a slow line.
    if (missing_end_) missing_end_->due = patience();
    events_.add(seq, std::move(event));
    drain();
}

void RemoteOutput::drain() {
    Process& process = parts_.process;
    if (process.is_starting()) return; // the answer to the start comes first
    is_held_up_ = drain_all();
    // The events that are missing in between will not come any more.
    const bool skips_gaps = events_.take_given_up() || loss_;
    while (skips_gaps && !is_held_up_ && events_.skip_gap())
        is_held_up_ = drain_all();
    if (is_held_up_ && !loss_) parts_.there.connection().hold_up();
    if (loss_)
        events_.forget_gap();
    else
        events_.look_for_gap(parts_.processes.now());
    tell_lost_output();
    if (loss_ && !is_held_up_ && !process.is_closed) note_loss();
    parts_.processes.settle(process);
}

// Returns true if the log has no room for the rest even after delivery to the client.
bool RemoteOutput::drain_all() {
    while (drain_events()) {
        parts_.processes.settle(parts_.process);
        if (!parts_.process.log.has_room()) return true;
    }
    return false;
}

// Returns true if the log has no room for the rest.
bool RemoteOutput::drain_events() {
    while (peer::Event* const event = events_.next()) {
        if (!drain_one(*event)) return true;
        events_.take_next();
    }
    return false;
}

// Returns false if the log had no room for all of the event.
bool RemoteOutput::drain_one(peer::Event& event) {
    Process& process = parts_.process;
    ProcessService& processes = parts_.processes;
    if (peer::OutputPiece* const piece = std::get_if<peer::OutputPiece>(&event)) {
        const std::string_view rest = std::string_view(piece->bytes).substr(piece->taken);
        if (process.is_closed) { // closed before its output ended
            process.log.count_lost(rest.size());
            return true;
        }
        piece->taken += processes.delivery().append(process, stream_of(piece->stream), rest);
        return piece->taken == piece->bytes.size();
    }
    if (peer::PeerEnd* const end = std::get_if<peer::PeerEnd>(&event)) {
        note_end(std::move(*end));
        processes.settle(process); // more output may come after the exit
    } else if (const peer::Lost* const lost = std::get_if<peer::Lost>(&event)) {
        events_.count_lost(lost->count);
    } else {
        process.is_output_open = false;
        if (!process.exit) await_end();
    }
    return true;
}

// ---------------------------------------------------------------- its end

void RemoteOutput::note_end(peer::PeerEnd end) {
    Process& process = parts_.process;
    const TimePoint now = parts_.processes.now();
    peer::make_fit_to_show(end);
    Exit exit = exit_told(end, millis(now - process.started_at), asked_for_sandbox_);
    denial_count_ = *end.denial_count;
    denials_ = std::move(end.denials);
    parts_.processes.note_exit(process, std::move(exit));
    // The grace time was not needed. The rest of the tree is ended now.
    if (process.ending && process.ending->kill_at) process.ending->kill_at = now;
}

void RemoteOutput::await_end() {
    if (!missing_end_) missing_end_ = MissingEnd{patience()};
}

void RemoteOutput::doubt_end() {
    missing_end_ = MissingEnd{parts_.processes.now(), true};
}

// The server is asked once. If it does not report the end then either, the process is lost:
// otherwise it would keep its place in the table for ever.
void RemoteOutput::miss_end() {
    const RemoteHandle& there = parts_.there;
    if (parts_.process.is_closed || !there.is_reached()) return missing_end_.reset();
    missing_end_->due = patience();
    // The end may be among messages that are not read yet.
    if (is_held_up_ || there.connection().is_held_up()) return;
    if (std::exchange(missing_end_->is_asked, true)) return lose_unheard();
    if (!events_.is_reading()) read_gap();
}

void RemoteOutput::lose_unheard() {
    missing_end_.reset();
    lose({ErrorKind::environment_lost,
          fmt::format("the server of '{}' does not tell how process '{}' ended",
                      parts_.there.connection().settings().id, core::shortened(parts_.process.id)),
          "it may still run there"});
}

// ---------------------------------------------------------------- what is missing

void RemoteOutput::read_gap() {
    if (!parts_.there.is_reached()) return events_.forget_gap(); // lose() follows soon
    events_.begin_reading();
    parts_.there.read(events_.last_taken(), patience());
}

std::string RemoteOutput::on_read(const protocol::Message& answer) {
    const bool is_end_missing = missing_end_ && missing_end_->is_asked;
    if (answer.is_error) {
        give_up_gap();
        // The server does not know the program.
        if (is_end_missing && !parts_.process.is_closed) lose_unheard();
        return {};
    }
    events_.end_reading();
    Result<peer::PeerReadResult> result = peer::read_message<peer::PeerReadResult>(answer.params);
    if (!result) return cannot_read("answer to process/read", result.error());
    if (is_end_missing && missing_end_->is_doubtful && !result->exited)
        missing_end_.reset(); // the program still runs
    events_.add(std::move(*result));
    drain();
    return {};
}

void RemoteOutput::give_up_gap() {
    events_.end_reading();
    events_.give_up_gap();
    drain();
}

// A server could lose output without end, so warnings wait for room in the outbox.
void RemoteOutput::tell_lost_output() {
    if (events_.lost() == 0) return;
    if (parts_.outbox.unsent(Lane::priority) > Outbox::priority_mark && !loss_) return;
    protocol::WarningEvent event;
    event.kind = "outputLost";
    event.message = fmt::format("{} pieces of the output of process '{}' are lost: the server of "
                                "'{}' no longer had them",
                                events_.take_lost(), core::shortened(parts_.process.id),
                                parts_.there.connection().settings().id);
    notify(parts_.outbox, "execward/warning", event);
}

// ---------------------------------------------------------------- the loss of all the rest

void RemoteOutput::lose(Error loss) {
    loss_ = std::move(loss);
    drain();
}

// All output that has arrived is in the log.
void RemoteOutput::note_loss() {
    Process& process = parts_.process;
    if (!process.exit) {
        Exit exit;
        exit.code = -1;
        exit.usage.wall_ms = millis(parts_.processes.now() - process.started_at);
        exit.failure = loss_;
        parts_.processes.note_exit(process, std::move(exit));
    }
    process.is_output_open = false;
    end_ending(*loss_);
}

void RemoteOutput::end_ending(const Error& loss) {
    if (!parts_.process.ending) return;
    if (parts_.there.connection().peer()->is_execward) // it ends its programs
        parts_.processes.finish_ending(parts_.process, {});
    else
        parts_.processes.fail_ending(parts_.process, loss);
}

void RemoteOutput::check_timers() {
    const TimePoint now = parts_.processes.now();
    if (is_due(events_.gap_deadline(), now)) read_gap();
    if (missing_end_ && missing_end_->due <= now) miss_end();
}

std::optional<TimePoint> RemoteOutput::next_deadline() const {
    const std::optional<TimePoint> gap = events_.gap_deadline();
    return missing_end_ ? earlier(gap, missing_end_->due) : gap;
}

} // namespace ew::server

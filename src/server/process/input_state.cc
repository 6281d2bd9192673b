#include "server/process/input_state.h"

#include "server/process/backend.h"
#include "server/process/process.h"

#include <algorithm>

namespace ew::server {

using protocol::Certainty;
using protocol::InputKind;

namespace {

// Without facts of the kernel. A terminal in its usual mode says nothing about its program.
bool seems_to_wait(const InputLook& look, const InputMemory::Activity& activity, TimePoint now) {
    const bool has_own_mode = look.kind == InputKind::password || look.kind == InputKind::raw;
    const TimePoint last = std::max(activity.output, activity.input);
    return has_own_mode && !look.reading.is_busy && now - last >= InputMemory::silence;
}

} // namespace

protocol::InputState InputMemory::note(const InputLook& look, const Activity& activity,
                                       TimePoint now) {
    protocol::InputState state;
    state.kind = look.kind;
    const bool may_be_waking =
        activity.input > activity.output && now - activity.input < waking_time;
    if (look.reading.reader && !may_be_waking && !activity.has_queued_input) {
        note_reader(look.reading, now);
    } else {
        seen_.reset();
        waits_since_.reset();
    }
    state.waiting = waits_since_.has_value();
    if (waits_since_) state.since_ms = millis(now - *waits_since_);
    if (look.reading.reader || !look.reading.is_hidden) return state;
    state.certainty = Certainty::termios;
    state.waiting = seems_to_wait(look, activity, now);
    return state;
}

void InputMemory::note_reader(const os::ReaderLook& look, TimePoint now) {
    const os::InputReader& reader = *look.reader;
    if (reader.returns_soon) return note_brief_reader(look, now);
    const bool is_same_sleep =
        seen_ && seen_->thread == reader.thread && seen_->sleeps == reader.sleeps;
    if (!is_same_sleep || !waits_since_) waits_since_ = now;
    seen_ = reader;
    seen_at_ = now;
}

// The program waits if the thread was busy for less than a tenth of the time since the last look,
// and no other one is.
void InputMemory::note_brief_reader(const os::ReaderLook& look, TimePoint now) {
    const os::InputReader& reader = *look.reader;
    const bool is_same_thread = seen_ && seen_->thread == reader.thread;
    if (is_same_thread && !look.is_busy && now - seen_at_ < between_looks) return;
    const std::uint64_t busy = is_same_thread ? reader.busy_ms - seen_->busy_ms : 0;
    if (!is_same_thread || look.is_busy || busy * 10 > millis(now - seen_at_))
        waits_since_.reset();
    else if (!waits_since_)
        waits_since_ = seen_at_;
    seen_ = reader;
    seen_at_ = now;
}

std::optional<protocol::InputState> input_state(Process& process, TimePoint now) {
    const std::optional<InputLook> look = process.backend->look_at_input(process);
    if (!look) return std::nullopt;
    return process.input_memory.note(
        *look,
        {process.delivery.last_output, process.delivery.last_input, !process.input.is_empty()},
        now);
}

bool hides_input(const Process& process) {
    const std::optional<os::LineMode> mode = process.backend->line_mode(process);
    return mode && !mode->echoes;
}

} // namespace ew::server

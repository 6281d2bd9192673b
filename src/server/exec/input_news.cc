#include "server/exec/input_news.h"

#include "protocol/exec_events.h"
#include "server/connection/notify.h"
#include "server/exec/exec_process.h"

#include <algorithm>

namespace ew::server {

// Nobody can write to a command without a terminal.
bool InputNews::is_watched(const Process& process) const {
    return is_wanted_ && process.local && process.is_tty() && process.is_running() &&
           process.exec->is_begun;
}

void InputNews::look_at(Process& process) {
    if (!is_watched(process)) return;
    ExecProcess& exec = *process.exec;
    const TimePoint active = std::max(process.delivery.last_output, process.delivery.last_input);
    switch (exec.input_schedule.take(std::max(active, process.started_at), now_)) {
    case InputSchedule::Due::nothing: return;
    case InputSchedule::Due::busy: return tell(process, {exec.told_input.kind});
    case InputSchedule::Due::look: break;
    }
    if (const auto state = input_state(process, now_)) tell(process, *state);
}

// A change of the kind alone does not matter while the program works.
void InputNews::tell(Process& process, const protocol::InputState& state) {
    protocol::InputState& told = process.exec->told_input;
    const bool has_other_kind = state.kind != told.kind && state.waiting;
    if (state.waiting == told.waiting && !has_other_kind) return;
    told = state;
    notify(outbox_, "exec/inputState",
           protocol::ExecInputStateEvent{process.exec->begin.call_id, process.id, state});
}

std::optional<TimePoint> InputNews::next_deadline(const Process& process) const {
    if (!is_watched(process)) return std::nullopt;
    return process.exec->input_schedule.next();
}

} // namespace ew::server

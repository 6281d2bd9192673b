#include "server/exec/input_schedule.h"

#include <algorithm>

namespace ew::server {

InputSchedule::Due InputSchedule::take(TimePoint last_activity, TimePoint now) {
    if (seen_ != last_activity) note_activity(last_activity);
    if (!is_due(due_, now)) return Due::nothing;
    burst_end_.reset();
    if (now < *seen_ + settling_time) {
        burst_end_ = now + longest_burst;
        due_ = *seen_ + settling_time;
        return Due::busy;
    }
    due_ = now + pause_;
    pause_ = std::min(pause_ * 2, longest_pause);
    return Due::look;
}

void InputSchedule::note_activity(TimePoint at) {
    seen_ = at;
    pause_ = shortest_pause;
    if (!burst_end_) burst_end_ = at + longest_burst;
    due_ = std::min(at + settling_time, *burst_end_);
}

} // namespace ew::server

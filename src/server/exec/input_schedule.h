// When to look at what a program does about its input: soon after its output has stopped or input
// was written, and then less and less often. Pure.
#pragma once

#include "base/clock.h"

#include <cstdint>
#include <optional>

namespace ew::server {

class InputSchedule {
public:
    // How long output must have stopped before a look.
    static constexpr Millis settling_time{100};
    // How long output may go on until the program counts as busy without a look.
    static constexpr Millis longest_burst{500};
    // The time between two looks at a silent program grows from the shortest to the longest.
    static constexpr Millis shortest_pause{250};
    static constexpr Millis longest_pause{8000};

    enum class Due : std::uint8_t { nothing, look, busy };

    // `last_activity` is when output last came or input was last written.
    Due take(TimePoint last_activity, TimePoint now);

    std::optional<TimePoint> next() const { return due_; }

private:
    void note_activity(TimePoint at);

    std::optional<TimePoint> due_;
    std::optional<TimePoint> seen_; // the last activity that is known here
    std::optional<TimePoint> burst_end_;
    Millis pause_ = shortest_pause;
};

} // namespace ew::server

#include "server/exec/input_schedule.h"
#include "support/testing.h"

#include <vector>

using ew::Millis;
using ew::TimePoint;
using ew::server::InputSchedule;
using Due = ew::server::InputSchedule::Due;

namespace {

const TimePoint start = TimePoint() + Millis(1000);

// Returns the times, from the start, of what is due within this time after activity at the start.
std::vector<long> looks_within(Millis time) {
    InputSchedule schedule;
    std::vector<long> looks;
    for (TimePoint now = start; now < start + time; now += Millis(1))
        if (schedule.take(start, now) == Due::look) looks.push_back((now - start) / Millis(1));
    return looks;
}

} // namespace

TEST_SUITE_BEGIN("server/exec/input_schedule");

TEST_CASE("looks begin when output has stopped, and become rare") {
    CHECK(looks_within(Millis(4000)) == std::vector<long>{100, 350, 850, 1850, 3850});
    CHECK(looks_within(Millis(60000)).size() < 15);
}

TEST_CASE("activity brings the next look nearer") {
    InputSchedule schedule;
    for (TimePoint now = start; now < start + Millis(10000); now += Millis(1))
        (void)schedule.take(start, now);

    const TimePoint typed = start + Millis(10000);
    CHECK(schedule.take(typed, typed) == Due::nothing);
    CHECK(schedule.next() == typed + InputSchedule::settling_time);
    CHECK(schedule.take(typed, typed + InputSchedule::settling_time) == Due::look);
}

TEST_CASE("output that goes on is never looked at") {
    InputSchedule schedule;
    int busy = 0;
    for (TimePoint now = start; now < start + Millis(3000); now += Millis(10)) {
        const Due due = schedule.take(now, now);
        CHECK(due != Due::look);
        busy += due == Due::busy ? 1 : 0;
    }

    CHECK(busy >= 4);
    CHECK(busy <= 6);
}

TEST_SUITE_END();

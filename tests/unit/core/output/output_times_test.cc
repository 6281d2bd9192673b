#include "core/output/output_times.h"
#include "support/testing.h"

using namespace ew;
using core::OutputTimes;

namespace {

const TimePoint start = TimePoint() + Millis(1000);

} // namespace

TEST_SUITE_BEGIN("core/output_times");

TEST_CASE("output that follows within a step has the time of its beginning") {
    OutputTimes times;
    times.note(0, 0, start);
    times.note(10, 0, start + OutputTimes::step / 2);
    times.note(20, 0, start + OutputTimes::step);

    REQUIRE(times.marks().size() == 2);
    CHECK(times.marks()[0].position == 0);
    CHECK(times.marks()[0].at == start);
    CHECK(times.marks()[1].position == 20);
    CHECK(times.marks()[1].at == start + OutputTimes::step);
}

TEST_CASE("a part of a character has the time of its rest") {
    OutputTimes times;
    times.note(5, 0, start);
    times.note(5, 0, start + Millis(500));

    REQUIRE(times.marks().size() == 1);
    CHECK(times.marks()[0].at == start + Millis(500));
}

TEST_CASE("the marks of output that is not kept go first") {
    OutputTimes times;
    for (std::uint64_t i = 0; i < OutputTimes::most; ++i)
        times.note(i, 0, start + i * OutputTimes::step);
    const std::uint64_t oldest = OutputTimes::most - 10;
    times.note(OutputTimes::most, oldest, start + OutputTimes::most * OutputTimes::step);

    REQUIRE(times.marks().size() == 11);
    CHECK(times.marks()[0].position == oldest);
    CHECK(times.marks()[10].position == OutputTimes::most);
}

TEST_CASE("too many marks become coarser, the oldest ones most, and stay in order") {
    OutputTimes times;
    const std::uint64_t count = 20 * OutputTimes::most;
    for (std::uint64_t i = 0; i < count; ++i)
        times.note(i, 0, start + i * OutputTimes::step);

    const auto& marks = times.marks();
    CHECK(marks.size() <= OutputTimes::most);
    CHECK(marks.capacity() <= OutputTimes::most);
    CHECK(marks.front().position == 0);
    CHECK(marks.back().position == count - 1);
    for (std::size_t i = 0; i < marks.size(); ++i)
        CHECK(marks[i].at == start + marks[i].position * OutputTimes::step);
    for (std::size_t i = 1; i < marks.size(); ++i)
        CHECK(marks[i - 1].position < marks[i].position);
    CHECK(marks[1].position - marks[0].position > 1);
    CHECK(marks.back().position - marks[marks.size() - 2].position == 1);
}

TEST_SUITE_END();

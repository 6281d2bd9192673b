#include "report/time_scale.h"
#include "support/testing.h"

using ew::report::TimeScale;

TEST_CASE("times keep their order and their distances on a line without pauses") {
    const TimeScale scale({{0, 600}, {500, 1000}});

    CHECK(scale.place_of(0) == 0);
    CHECK(scale.place_of(250) == doctest::Approx(25));
    CHECK(scale.place_of(1000) == doctest::Approx(TimeScale::length));
    CHECK_FALSE(scale.is_shortened());
}

TEST_CASE("a long pause takes little room") {
    constexpr long day = 86'400'000;
    const TimeScale scale({{0, 60'000}, {day, day + 60'000}});

    CHECK(scale.is_shortened());
    CHECK(scale.place_of(60'000) > 45);
    CHECK(scale.place_of(day) < 55);
    CHECK(scale.place_of(day) > scale.place_of(60'000));
    CHECK(scale.place_of(day + 60'000) == doctest::Approx(TimeScale::length));
}

TEST_CASE("a line of one moment has a place for it") {
    CHECK(TimeScale({{7, 7}}).place_of(7) == 0);
    CHECK(TimeScale({}).place_of(7) == 0);
}

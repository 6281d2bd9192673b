#include "base/clock.h"
#include "support/testing.h"

using ew::Millis;
using ew::TimePoint;

namespace {

constexpr std::uint64_t a_century = 100ULL * 365 * 24 * 3600 * 1000;
const TimePoint now = TimePoint() + Millis(5000);

} // namespace

TEST_SUITE_BEGIN("base/clock");

TEST_CASE("a deadline lies the given milliseconds ahead") {
    CHECK(*ew::deadline_after(now, 0) == now);
    CHECK(*ew::deadline_after(now, 250) == now + Millis(250));
}

TEST_CASE("a deadline a century ahead or more is never") {
    CHECK(ew::deadline_after(now, a_century - 1).has_value());
    CHECK_FALSE(ew::deadline_after(now, a_century).has_value());
    CHECK_FALSE(ew::deadline_after(now, ~0ULL).has_value());
}

TEST_CASE("the farthest deadline does not overflow the clock") {
    CHECK(*ew::deadline_after(ew::clock_now(), a_century - 1) > ew::clock_now());
}

TEST_CASE("of two deadlines the earlier counts, and any counts before never") {
    const TimePoint later = now + Millis(1);

    CHECK(*ew::earlier(now, later) == now);
    CHECK(*ew::earlier(later, now) == now);
    CHECK(*ew::earlier(std::nullopt, later) == later);
    CHECK(*ew::earlier(later, std::nullopt) == later);
    CHECK_FALSE(ew::earlier(std::nullopt, std::nullopt).has_value());
}

TEST_CASE("a deadline is due from its moment on, and never is not due") {
    CHECK_FALSE(ew::is_due(now + Millis(1), now));
    CHECK(ew::is_due(now, now));
    CHECK(ew::is_due(now, now + Millis(1)));
    CHECK_FALSE(ew::is_due(std::nullopt, now));
}

TEST_SUITE_END();

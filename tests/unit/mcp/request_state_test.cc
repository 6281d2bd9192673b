#include "mcp/request_state.h"
#include "support/testing.h"

#include <string>

using ew::Millis;
using ew::TimePoint;
using ew::mcp::StateSeal;

namespace {

constexpr TimePoint now{Millis{1'000'000}};
constexpr TimePoint later{Millis{1'060'000}};

} // namespace

TEST_SUITE_BEGIN("mcp/request_state");

TEST_CASE("a state opens for its call until its time is over") {
    const StateSeal seal("secret");
    const std::string state = seal.seal("question.1", "call", later);

    CHECK(seal.open(state, "call", now) == "question.1");
    CHECK(seal.open(state, "call", later - Millis(1)) == "question.1");
    CHECK_FALSE(seal.open(state, "call", later));
    CHECK_FALSE(seal.open(state, "other", now));
}

TEST_CASE("no changed state opens") {
    const StateSeal seal("secret");
    const std::string state = seal.seal("q", "call", later);
    for (std::size_t i = 0; i < state.size(); ++i) {
        std::string changed = state;
        changed[i] = changed[i] == '1' ? '2' : '1';
        CHECK_FALSE(seal.open(changed, "call", now));
        CHECK_FALSE(seal.open(state.substr(0, i), "call", now));
    }
    CHECK_FALSE(seal.open(state + "0", "call", now));
    CHECK_FALSE(seal.open("", "call", now));
    CHECK_FALSE(seal.open("....", "call", now));
}

TEST_CASE("a state of another process does not open") {
    CHECK_FALSE(StateSeal("one").open(StateSeal("two").seal("q", "call", later), "call", now));
}

TEST_SUITE_END();

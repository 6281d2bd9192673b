#include "protocol/process_output.h"
#include "server/environment/remote_events.h"
#include "support/testing.h"

#include <string>

using ew::Millis;
using ew::TimePoint;
using ew::peer::OutputPiece;
using ew::peer::PeerReadResult;
using ew::server::RemoteEvents;

namespace {

constexpr TimePoint start{};

OutputPiece piece(std::string bytes) {
    return {ew::protocol::StreamName::out, std::move(bytes)};
}

PeerReadResult answer_up_to(std::uint64_t next_seq) {
    PeerReadResult result;
    result.next_seq = next_seq;
    return result;
}

void take_all(RemoteEvents& events) {
    while (events.next() != nullptr)
        events.take_next();
}

} // namespace

TEST_SUITE_BEGIN("server/remote events");

TEST_CASE("a missing event is asked for when it is late") {
    RemoteEvents events;
    events.add(2, piece("b"));
    CHECK(!events.gap_deadline());

    events.look_for_gap(start);
    events.look_for_gap(start + Millis(10)); // it is missing since then
    CHECK(events.gap_deadline() == start + RemoteEvents::gap_patience);

    events.begin_reading();
    CHECK(!events.gap_deadline());
    CHECK(events.last_taken() == 0);
}

TEST_CASE("an event that comes in time is not asked for") {
    RemoteEvents events;
    events.add(2, piece("b"));
    events.look_for_gap(start);

    events.add(1, piece("a"));
    take_all(events);
    events.look_for_gap(start + Millis(10));

    CHECK(!events.gap_deadline());
    CHECK(events.last_taken() == 2);
}

TEST_CASE("a gap that is given up is skipped and counted") {
    RemoteEvents events;
    events.add(4, piece("d"));
    events.give_up_gap();

    CHECK(events.take_given_up());
    CHECK(!events.take_given_up());
    CHECK(events.skip_gap());
    CHECK(!events.skip_gap());
    REQUIRE(events.next() != nullptr);
    CHECK(events.lost() == 3);
    CHECK(events.take_lost() == 3);
    CHECK(events.lost() == 0);
}

TEST_CASE("a read that does not bring the next event gives the gap up") {
    RemoteEvents events;
    events.add(3, piece("c"));
    events.begin_reading();
    events.end_reading();
    events.add(answer_up_to(1)); // it knows of nothing

    CHECK(!events.is_reading());
    CHECK(events.take_given_up());
}

TEST_CASE("a read that brings the next event does not") {
    RemoteEvents events;
    events.add(2, piece("b"));
    PeerReadResult result = answer_up_to(2);
    result.chunks.push_back({1, ew::protocol::StreamName::out, {"a"}});
    events.add(std::move(result));

    CHECK(!events.take_given_up());
    take_all(events);
    CHECK(events.last_taken() == 2);
}

TEST_SUITE_END();

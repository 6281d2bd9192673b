#include "sandbox/gateway/look_up.h"
#include "support/testing.h"

#include <poll.h>
#include <sys/wait.h>

#include <vector>

using namespace ew;
using namespace ew::sandbox;

TEST_SUITE_BEGIN("sandbox/gateway");

namespace {

std::vector<LookUpRoom::Place> all_places(LookUpRoom& room) {
    std::vector<LookUpRoom::Place> places;
    while (LookUpRoom::Place place = room.enter())
        places.push_back(std::move(place));
    return places;
}

} // namespace

TEST_CASE("look-ups wait while those of other sandboxes have taken all places") {
    LookUpRoom room;
    LookUps look_ups(&room);
    const TimePoint now = clock_now();
    std::vector<LookUpRoom::Place> taken = all_places(room);
    CHECK(taken.size() == LookUpRoom::most);

    CHECK(!look_ups.begin("192.0.2.7", now));
    REQUIRE(look_ups.next_deadline());
    taken.pop_back();

    const TimePoint later = *look_ups.next_deadline();
    CHECK(look_ups.on_time(later));
    const std::optional<LookUps::Begun> begun = look_ups.begin("192.0.2.7", later);
    REQUIRE(begun);
    CHECK(!room.enter());
    pollfd waiting = {begun->fd, POLLIN, 0};
    while (!look_ups.on_ready(begun->serial, later))
        REQUIRE(::poll(&waiting, 1, 60'000) == 1);
    CHECK(room.enter());
    REQUIRE(look_ups.find("192.0.2.7", later));
    CHECK(look_ups.find("192.0.2.7", later)->addresses.size() == 1);
    (void)::waitpid(-1, nullptr, 0);
}

TEST_CASE("a gateway that ends leaves its places to others") {
    LookUpRoom room;
    {
        LookUps look_ups(&room);
        REQUIRE(look_ups.begin("192.0.2.7", clock_now()));
        CHECK(all_places(room).size() == LookUpRoom::most - 1);
    }
    CHECK(all_places(room).size() == LookUpRoom::most);
    (void)::waitpid(-1, nullptr, 0);
}

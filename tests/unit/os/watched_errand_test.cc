#include "os/watched_errand.h"
#include "support/testing.h"

#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <optional>
#include <string>
#include <utility>

namespace {

using namespace ew;
using os::WatchedErrand;

constexpr os::Token token = {3, 14};
constexpr Millis generous{120'000};

os::Errand begin(const std::function<std::string()>& body, TimePoint deadline) {
    Result<os::Errand> errand = os::Errand::begin(body, {}, deadline);
    REQUIRE(errand);
    return std::move(*errand);
}

// As the owner of the loop would.
void reap(pid_t pid) {
    REQUIRE(::waitpid(pid, nullptr, 0) == pid);
}

} // namespace

TEST_CASE("the poller tells when a watched errand is done") {
    os::Poller poller;
    const TimePoint now = clock_now();
    WatchedErrand errand(begin([] { return std::string("found"); }, now + generous), poller, token);

    std::optional<std::string> result;
    while (!result) {
        const auto ready = poller.wait(now + generous, clock_now());
        REQUIRE(ready.size() == 1);
        CHECK(ready[0].serial == token.serial);
        result = errand.take_result(now);
    }

    CHECK(*result == "found");
    reap(errand.pid());
}

TEST_CASE("an errand that is late has a result that says so, and leaves the poller at its end") {
    os::Poller poller;
    const TimePoint now = clock_now();
    const auto wait = [] {
        ::pause();
        return std::string();
    };
    std::optional<WatchedErrand> errand;
    errand.emplace(begin(wait, now + generous), poller, token);
    const pid_t pid = errand->pid();

    CHECK_FALSE(errand->take_result(now));
    CHECK(errand->take_result(now + generous) == "it took too long");

    errand.reset();
    reap(pid);
    CHECK(poller.ready_now().empty());
}

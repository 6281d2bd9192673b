#include "os/poller.h"
#include "server/patch/journal_keeper.h"
#include "support/temp_directory.h"
#include "support/testing.h"

#include <sys/wait.h>

#include <filesystem>
#include <string>
#include <variant>

namespace {

using namespace ew;
using server::JournalKeeper;
namespace event = core::patch_call::event;

constexpr Millis generous{120'000};

struct Scene {
    test::TempDirectory state;
    os::Poller poller;
    JournalKeeper keeper{state.path(), poller, {1, 2}};

    // Waits as the loop would, and reaps.
    core::patch_call::Event news() {
        const pid_t errand = keeper.errand();
        JournalKeeper::News news;
        while (!news) {
            REQUIRE(poller.wait(clock_now() + generous, clock_now()).size() == 1);
            news = keeper.take_news(clock_now());
        }
        REQUIRE(::waitpid(errand, nullptr, 0) == errand);
        return *news;
    }

    bool has_journal() const {
        return std::filesystem::exists(state.path() + "/patches/" + keeper.patch_token());
    }
};

} // namespace

TEST_SUITE_BEGIN("server/patch/journal_keeper");

TEST_CASE("a journal is on the disk from its writing to its removal") {
    Scene scene;

    CHECK_FALSE(scene.keeper.write({}, clock_now()));
    CHECK(std::holds_alternative<event::Noted>(scene.news()));
    CHECK(scene.has_journal());

    CHECK_FALSE(scene.keeper.remove(clock_now()));
    CHECK(std::holds_alternative<event::Tidied>(scene.news()));
    CHECK_FALSE(scene.has_journal());
}

TEST_CASE("a journal that has settled a patch is removed") {
    Scene scene;
    REQUIRE_FALSE(scene.keeper.write({}, clock_now()));
    REQUIRE(std::holds_alternative<event::Noted>(scene.news()));

    CHECK_FALSE(scene.keeper.settle(clock_now()));

    CHECK(std::holds_alternative<event::Settled>(scene.news()));
    CHECK_FALSE(scene.has_journal());
}

TEST_CASE("where no journal can be made, that is said at once, and there is none to remove") {
    os::Poller poller;
    JournalKeeper keeper("/proc/nowhere", poller, {1, 2});

    const JournalKeeper::News news = keeper.write({}, clock_now());

    REQUIRE(news);
    const auto* failed = std::get_if<event::NoteFailed>(&*news);
    REQUIRE(failed != nullptr);
    CHECK(failed->error.message.starts_with("the patch was not applied: no journal can be kept: "));
    const JournalKeeper::News removed = keeper.remove(clock_now());
    REQUIRE(removed);
    CHECK(std::holds_alternative<event::Tidied>(*removed));
}

TEST_SUITE_END();

#include "server/approval/questions.h"
#include "support/testing.h"

using namespace ew;
using namespace ew::server;

TEST_CASE("calls that would ask the same share one question") {
    Questions questions("approval");
    REQUIRE(questions.open("rm x", 1) != nullptr);

    Question* const joined = questions.join("rm x", 2);

    REQUIRE(joined != nullptr);
    CHECK(joined->calls == std::vector<std::uint64_t>{1, 2});
    CHECK(questions.join("rm y", 3) == nullptr);
}

TEST_CASE("an answer closes its question, and a second one finds nothing") {
    Questions questions("approval");
    const std::string id = questions.open("rm x", 1)->id;

    CHECK(questions.take(id).has_value());
    CHECK_FALSE(questions.take(id).has_value());
    CHECK_FALSE(questions.take("approval-77").has_value());
    CHECK_FALSE(questions.take("").has_value());
}

TEST_CASE("a question lives until the last call leaves it") {
    Questions questions("approval");
    questions.open("rm x", 1);
    questions.join("rm x", 2);

    CHECK_FALSE(questions.leave(1).has_value());
    const std::optional<Question> closed = questions.leave(2);

    REQUIRE(closed.has_value());
    CHECK(closed->id == "approval-1");
    CHECK_FALSE(questions.leave(2).has_value());
    CHECK(questions.join("rm x", 3) == nullptr);
}

TEST_CASE("ids of questions are not used twice") {
    Questions questions("approval");
    const std::string first = questions.open("a", 1)->id;
    (void)questions.take(first);

    CHECK(questions.open("a", 2)->id != first);
}

TEST_CASE("only so many questions are open at once") {
    Questions questions("approval");
    for (std::size_t i = 0; i < Questions::most_open; ++i)
        REQUIRE(questions.open(std::to_string(i), i) != nullptr);

    CHECK(questions.open("one more", 1000) == nullptr);
    (void)questions.take_any();
    CHECK(questions.open("one more", 1000) != nullptr);
}

TEST_CASE("a question whose time is over is found once") {
    Questions questions("approval");
    const TimePoint now = clock_now();
    questions.open("patient", 1);
    questions.open("hasty", 2)->deadline = now + Millis(10);

    CHECK(questions.next_deadline() == now + Millis(10));
    CHECK_FALSE(questions.take_due(now).has_value());
    CHECK(questions.take_due(now + Millis(10))->key == "hasty");
    CHECK_FALSE(questions.take_due(now + Millis(10)).has_value());
    CHECK_FALSE(questions.next_deadline().has_value());
}

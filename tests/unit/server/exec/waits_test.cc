#include "server/exec/waits.h"
#include "support/outbox_pipe.h"
#include "support/testing.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

using namespace ew;
using namespace ew::server;

namespace {

constexpr Millis patience{1000};
constexpr Millis quiet{100};

const TimePoint start = clock_now();

Wait wait(std::optional<TimePoint> deadline) {
    Wait wait;
    wait.since = start;
    wait.deadline = deadline;
    return wait;
}

Wait wait_for_quiet() {
    Wait result = wait(start + patience);
    result.terms.quiet_ms = quiet.count();
    return result;
}

Waits::Progress running(std::uint64_t end_of_output = 0, TimePoint last_output = start) {
    return {end_of_output, last_output, {}};
}

Waits::Progress over_at(TimePoint time) {
    return {0, start, time};
}

Wait wait_until(const protocol::Until& until, std::optional<TimePoint> deadline = {}) {
    Wait result = wait(deadline);
    result.terms.until = until;
    Result<UntilWatch> watch = UntilWatch::of(until, 0);
    REQUIRE(watch);
    result.watch = std::move(*watch);
    return result;
}

void put(core::OutputLog& log, std::string_view text) {
    const core::OutputLog::Space space = log.space(core::Stream::out, text.size());
    const std::size_t size = std::min(space.size[0], text.size());
    REQUIRE(size == text.size());
    std::memcpy(space.at[0], text.data(), size);
    log.commit(core::Stream::out, size, start);
}

// A client whose requests wait.
class Writers {
public:
    void add(std::string id, Wait waiting) {
        waits.add({Reply(client_.outbox(), {std::move(id)}), std::move(waiting), ""});
    }

    // The ids of the requests whose wait is over, in order.
    std::string over(const Waits::Progress& progress, TimePoint now) {
        std::string ids;
        while (std::optional<WritersWait> writer = waits.take_over(progress, now)) {
            ids += writer->reply.id().json;
            writer->reply.send_null();
        }
        return ids;
    }

private:
    test::OutboxPipe client_;

public:
    Waits waits;
};

} // namespace

TEST_SUITE_BEGIN("server/waits");

TEST_CASE("a wait ends at its deadline") {
    Writers writers;
    writers.add("1", wait(start + patience));
    writers.add("2", wait({}));

    CHECK(writers.waits.next_deadline(running()) == start + patience);
    CHECK(writers.over(running(), start).empty());
    CHECK(writers.over(running(), start + patience) == "1");

    CHECK_FALSE(writers.waits.next_deadline(running()).has_value());
    CHECK(writers.over(over_at(start), start) == "2");
}

TEST_CASE("a wait for a port or for input looks again and again, whoever waits") {
    protocol::Until port;
    port.port = 0;
    protocol::Until input;
    input.input = true;
    for (const protocol::Until& until : {port, input}) {
        Waits of_call;
        of_call.begin_for_call(wait_until(until, start + patience));
        Writers writers;
        writers.add("1", wait_until(until));
        for (Waits* const waits : {&of_call, &writers.waits}) {
            CHECK(is_due(waits->next_deadline(running()), start));
            waits->take({}, start);
            const std::optional<TimePoint> next = waits->next_deadline(running());
            REQUIRE(next.has_value());
            CHECK(*next > start);
            CHECK(*next < start + patience);
        }
    }
}

TEST_CASE("a wait for silence ends after output, and not before there was some") {
    Writers writers;
    writers.add("1", wait_for_quiet());

    CHECK(writers.over(running(), start + quiet).empty());
    CHECK(writers.waits.next_deadline(running(1, start + quiet)) == start + 2 * quiet);
    CHECK(writers.over(running(1, start + quiet), start + quiet).empty());
    CHECK(writers.over(running(1, start + quiet), start + 2 * quiet) == "1");
}

TEST_CASE("what was put out before the wait is no output for it") {
    Writers writers;
    Wait later = wait_for_quiet();
    later.output_from = 5;
    writers.add("1", std::move(later));

    CHECK(writers.over(running(5), start + quiet).empty());
    CHECK(writers.over(running(6), start + quiet) == "1");
}

TEST_CASE("once the program has exited, nothing less than its end is an answer") {
    Writers writers;
    writers.add("1", wait(start));
    const TimePoint end = start + Millis(50);

    CHECK(writers.waits.next_deadline(over_at(end)) == end);
    CHECK(writers.over(over_at(end), start).empty());
    CHECK(writers.over(over_at(end), end) == "1");
}

TEST_CASE("the call is told once that its wait is over, and may leave it there") {
    Waits waits;
    waits.begin_for_call(wait(start + patience));

    CHECK(waits.next_deadline(running()) == start + patience);
    CHECK_FALSE(waits.is_over_for_call(running(), start));
    CHECK(waits.is_over_for_call(running(), start + patience));
    CHECK_FALSE(waits.is_over_for_call(running(), start + patience));
    CHECK_FALSE(waits.next_deadline(running()).has_value());

    CHECK_FALSE(waits.is_empty());
    CHECK(waits.take_for_call().has_value());
    CHECK(waits.is_empty());
    CHECK_FALSE(waits.take_for_call().has_value());
}

TEST_CASE("a wait for a text ends with it, and says where it is") {
    protocol::Until until;
    until.pattern = {"two", {}};
    Waits waits;
    core::OutputLog log{core::OutputLimits{}};
    waits.begin_for_call(wait_until(until));

    put(log, "one\ntw");
    waits.look_at(log);
    CHECK_FALSE(waits.is_over_for_call(running(), start));
    put(log, "o\n");
    waits.look_at(log);
    CHECK(waits.is_over_for_call(running(), start));

    const std::optional<Wait> over = waits.take_for_call();
    REQUIRE((over && over->end && over->end->match));
    CHECK(over->end->reason == protocol::WaitEndReason::pattern);
    CHECK(over->end->match->text == "two");
    CHECK(over->end->match->line == 2);
    CHECK(over->end->match->offset == 4);
}

TEST_CASE("a wait begins in what the log still has") {
    core::OutputLimits limits;
    limits.retained_bytes = 4096;
    core::OutputLog log{limits};
    for (int round = 0; round < 100; ++round) {
        put(log, std::string(100, 'x'));
        while (log.has_undelivered()) {
            (void)log.next_undelivered();
            log.mark_delivered();
        }
    }
    put(log, "end");
    protocol::Until until;
    until.pattern = {"xend", {}};
    Result<UntilWatch> watch = UntilWatch::of(until, 0);
    REQUIRE(watch);
    watch->look_at(log);
    REQUIRE((watch->end() && watch->end()->match));
    CHECK(watch->end()->match->offset == 9999);
}

TEST_CASE("a wait for a port wants looks at the ports until it is over") {
    protocol::Until any;
    any.port = 0;
    protocol::Until one;
    one.port = 80;
    Writers writers;
    writers.add("1", wait_until(any));
    writers.add("2", wait_until(one));

    CHECK(writers.waits.wanted(start).ports);
    writers.waits.take({}, start);
    CHECK_FALSE(writers.waits.wanted(start).ports);
    CHECK(writers.over(running(), start).empty());
    const std::optional<TimePoint> next = writers.waits.next_deadline(running());
    REQUIRE(next);
    CHECK(writers.waits.wanted(*next).ports);
    writers.waits.take({{81}}, *next);
    CHECK(writers.over(running(), *next) == "1");
    writers.waits.take({{80, 81}}, *next);
    CHECK(writers.over(running(), *next) == "2");
    CHECK_FALSE(writers.waits.wanted(*next + patience).ports);
}

TEST_CASE("a wait for input ends when a look finds that the program waits") {
    protocol::Until until;
    until.input = true;
    Waits waits;
    waits.begin_for_call(wait_until(until));

    CHECK(waits.wanted(start).input);
    CHECK_FALSE(waits.wanted(start).ports);
    waits.take({{80}, false}, start);
    CHECK_FALSE(waits.is_over_for_call(running(), start));
    waits.take({{}, true}, start + patience);
    REQUIRE(waits.is_over_for_call(running(), start + patience));
    CHECK(waits.take_for_call()->end->reason == protocol::WaitEndReason::input);
}

TEST_CASE("the reason of an end is the first that there was") {
    protocol::Until until;
    until.bytes = 3;
    core::OutputLog log{core::OutputLimits{}};
    put(log, "12");
    for (const bool is_enough : {false, true}) {
        Waits waits;
        waits.begin_for_call(wait_until(until, start + patience));
        if (is_enough) put(log, "3");
        waits.look_at(log);
        REQUIRE(waits.is_over_for_call(running(), start + patience));
        CHECK(waits.take_for_call()->end->reason ==
              (is_enough ? protocol::WaitEndReason::bytes : protocol::WaitEndReason::time));
    }
    Waits waits;
    waits.begin_for_call(wait_until(until, start + patience));
    REQUIRE(waits.is_over_for_call(over_at(start), start));
    CHECK(waits.take_for_call()->end->reason == protocol::WaitEndReason::exit);
}

TEST_CASE("a call that does not wait is told nothing") {
    Waits waits;

    CHECK_FALSE(waits.is_over_for_call(over_at(start), start));
}

TEST_CASE("a request is found by its id") {
    Writers writers;
    writers.add("1", wait({}));
    writers.add("2", wait({}));

    CHECK_FALSE(writers.waits.take({"3"}).has_value());
    std::optional<WritersWait> found = writers.waits.take({"2"});
    REQUIRE(found.has_value());
    found->reply.send_null();

    CHECK(writers.waits.writers() == 1);
    writers.waits.abandon({ErrorKind::shutting_down, "the server has ended"});
    CHECK(writers.waits.is_empty());
}

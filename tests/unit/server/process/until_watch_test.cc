#include "server/process/until_watch.h"
#include "support/random.h"
#include "support/testing.h"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>

using namespace ew;
using namespace ew::server;

namespace {

void put(core::OutputLog& log, std::string_view text) {
    const core::OutputLog::Space space = log.space(core::Stream::out, text.size());
    (void)text.copy(space.at[0], space.size[0]);
    if (text.size() > space.size[0]) (void)text.copy(space.at[1], space.size[1], space.size[0]);
    log.commit(core::Stream::out, text.size(), {});
    while (log.has_undelivered()) {
        (void)log.next_undelivered();
        log.mark_delivered();
    }
}

protocol::Until until_text(std::string text, std::uint64_t from) {
    protocol::Until until;
    until.pattern = protocol::UntilPattern{std::move(text), {}};
    until.from = from;
    return until;
}

UntilWatch watch(const protocol::Until& until) {
    Result<UntilWatch> made = UntilWatch::of(until, 0);
    REQUIRE(made);
    return std::move(*made);
}

// Random letters of a small alphabet, so that a short text occurs sooner or later.
std::string random_output(test::Random& random, std::size_t size) {
    std::string output;
    while (output.size() < size)
        output += "ab\n"[random.below(3)];
    return output;
}

} // namespace

TEST_SUITE_BEGIN("server/until_watch");

TEST_CASE("random output in random pieces: the match is where it is in the whole") {
    test::Random random(7);
    for (int round = 0; round < 300; ++round) {
        const std::string whole = random_output(random, 200 + random.below(3000));
        const std::string text = random_output(random, 1 + random.below(9));
        const std::uint64_t from = random.below(whole.size());
        const std::size_t expected = whole.find(text, from);
        // The log is so small that it drops most of what has been looked at.
        core::OutputLog log({.retained_bytes = 512, .chunk_bytes = 256, .entries = 64});
        UntilWatch looks = watch(until_text(text, from));
        for (std::size_t at = 0; at < whole.size() && !looks.end();) {
            const std::size_t size = std::min(1 + random.below(200), whole.size() - at);
            put(log, std::string_view(whole).substr(at, size));
            looks.look_at(log);
            at += size;
        }

        CAPTURE(round);
        REQUIRE(looks.end().has_value() == (expected != std::string::npos));
        if (!looks.end()) continue;
        CHECK(looks.end()->reason == protocol::WaitEndReason::pattern);
        CHECK(looks.end()->match->offset == expected);
        CHECK(looks.end()->match->text == text);
        const auto begin = whole.begin() + static_cast<std::ptrdiff_t>(from);
        const auto found = whole.begin() + static_cast<std::ptrdiff_t>(expected);
        CHECK(looks.end()->match->line ==
              static_cast<std::uint64_t>(std::count(begin, found, '\n')) + 1);
    }
}

TEST_CASE("bytes are counted from where the wait begins, in whatever pieces they come") {
    core::OutputLog log({});
    protocol::Until until;
    until.bytes = 5;
    until.from = 3;
    UntilWatch looks = watch(until);
    for (const char* piece : {"1234", "56", "7"}) {
        put(log, piece);
        looks.look_at(log);
        CHECK_FALSE(looks.end());
    }
    put(log, "8");
    looks.look_at(log);

    REQUIRE(looks.end());
    CHECK(looks.end()->reason == protocol::WaitEndReason::bytes);
}

TEST_SUITE_END();

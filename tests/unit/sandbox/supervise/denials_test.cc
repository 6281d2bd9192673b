#include "sandbox/supervise/denials.h"
#include "support/testing.h"

#include <string>

namespace {

using namespace ew::sandbox;

Denial denial(std::string target, DenialKind kind = DenialKind::network) {
    Denial made;
    made.kind = kind;
    made.operation = "connect";
    made.target = std::move(target);
    return made;
}

} // namespace

TEST_CASE("equal denials are counted and kept once") {
    DenialLog log;

    log.add(denial("192.0.2.7:443"));
    log.add(denial("192.0.2.7:443"));
    log.add(denial("192.0.2.7:443", DenialKind::socket));

    REQUIRE(log.kept().size() == 2);
    CHECK(log.kept()[0].count == 2);
    CHECK(log.kept()[1].count == 1);
    CHECK(log.total() == 3);
}

TEST_CASE("denials beyond the bound are counted but not kept") {
    DenialLog log;
    for (std::size_t i = 0; i < DenialLog::most_kept + 5; ++i)
        log.add(denial(std::to_string(i)));
    log.add(denial("0"));

    CHECK(log.kept().size() == DenialLog::most_kept);
    CHECK(log.kept()[0].count == 2);
    CHECK(log.total() == DenialLog::most_kept + 6);
}

TEST_CASE("a target that is too long is cut between characters") {
    DenialLog log;

    log.add(denial(std::string(DenialLog::longest_target - 1, 'x') + "\xc3\xa9"));

    CHECK(log.kept()[0].target == std::string(DenialLog::longest_target - 1, 'x'));
}

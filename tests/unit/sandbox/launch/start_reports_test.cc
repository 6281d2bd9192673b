#include "sandbox/launch/start_outcome.h"
#include "sandbox/launch/start_reports.h"
#include "support/testing.h"

#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

using namespace ew;
using namespace ew::sandbox;
using namespace std::string_view_literals;

namespace {

using Taken = StartReports::Taken;

// One packet, as a process of a start sends it.
void send(const UniqueFd& end, wire::Record record, std::string_view text) {
    record.size = static_cast<std::uint32_t>(text.size());
    std::string packet(sizeof record, '\0');
    std::memcpy(packet.data(), &record, sizeof record);
    packet += text;
    REQUIRE(::write(end.get(), packet.data(), packet.size()) ==
            static_cast<ssize_t>(packet.size()));
}

StartReport failed_at(wire::Step step, int error, std::string text = {}) {
    StartReport report;
    report.record.kind = wire::RecordKind::failed;
    report.record.step = static_cast<std::uint32_t>(step);
    report.record.value = error;
    report.text = std::move(text);
    return report;
}

} // namespace

TEST_CASE("reports of a start come one by one, with who has sent them") {
    StartReports reports;
    Result<UniqueFd> theirs = reports.open();
    REQUIRE(theirs);
    StartReport report;
    CHECK(reports.take(report) == Taken::none);

    send(*theirs, {.kind = wire::RecordKind::note}, "a note");
    send(*theirs, {.kind = wire::RecordKind::refused, .value = 7}, "why\0what to do\0"sv);
    theirs->reset();

    REQUIRE(reports.take(report) == Taken::report);
    CHECK(report.text == "a note");
    CHECK(report.sender == ::getpid());
    StartReport next;
    REQUIRE(reports.take(next) == Taken::report);
    CHECK(next.record.value == 7);
    CHECK(next.texts() == std::vector<std::string>{"why", "what to do"});
    CHECK(reports.take(report) == Taken::end);
}

TEST_CASE("a packet that is no report ends the reports of a start") {
    StartReports reports;
    Result<UniqueFd> theirs = reports.open();
    REQUIRE(theirs);

    REQUIRE(::write(theirs->get(), "x", 1) == 1);

    StartReport report;
    CHECK(reports.take(report) == Taken::end);
}

TEST_CASE("the numbers of a report have eight bytes each") {
    const std::vector<std::uint64_t> numbers = {1, std::uint64_t{1} << 40};
    StartReport report;
    report.text.resize(2 * sizeof(std::uint64_t) + 3); // the rest is no number
    std::memcpy(report.text.data(), numbers.data(), 2 * sizeof(std::uint64_t));

    CHECK(report.numbers() == numbers);
}

TEST_CASE("a step that this machine refuses contradicts what was found about it") {
    const os::SpawnRequest request;

    CHECK(failed_start(failed_at(wire::Step::landlock, EPERM), request).contradicts_machine);
    CHECK(!failed_start(failed_at(wire::Step::landlock, ENOMEM), request).contradicts_machine);
    CHECK(!failed_start(failed_at(wire::Step::limits, EPERM), request).contradicts_machine);
}

TEST_CASE("what was moved while its sandbox was made lets a start be tried again") {
    const StartOutcome outcome = failed_start(failed_at(wire::Step::mounts, ESTALE, "/w/a"), {});

    CHECK(outcome.is_passing);
    REQUIRE(outcome.failure);
    CHECK(outcome.failure->message.find("'/w/a'") != std::string::npos);
}

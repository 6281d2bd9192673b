#include "core/screen/asciicast.h"
#include "support/testing.h"

using namespace ew;
using core::Asciicast;
using core::CastHeader;
using core::CastVersion;

namespace {

CastHeader header() {
    return {{24, 80}, 1'780'000'000, "make -s", "xterm"};
}

std::string events_of(const std::string& cast) {
    return cast.substr(cast.find('\n') + 1);
}

} // namespace

TEST_SUITE_BEGIN("core/asciicast");

TEST_CASE("each version has its header") {
    CHECK(
        Asciicast(CastVersion::v3, header()).take() ==
        R"({"version":3,"term":{"cols":80,"rows":24,"type":"xterm"},"timestamp":1780000000,"command":"make -s"})"
        "\n");
    CHECK(
        Asciicast(CastVersion::v2, header()).take() ==
        R"({"version":2,"width":80,"height":24,"timestamp":1780000000,"command":"make -s","env":{"TERM":"xterm"}})"
        "\n");
    CHECK(Asciicast(CastVersion::v3, {{24, 80}, {}, "", ""}).take() ==
          "{\"version\":3,\"term\":{\"cols\":80,\"rows\":24}}\n");
}

TEST_CASE("version 3 tells the time since the event before, version 2 since the beginning") {
    const auto events = [](CastVersion version) {
        Asciicast cast(version, header());
        cast.output(Millis(1500), "a\r\n");
        cast.resize(Millis(1501), {30, 100});
        cast.marker(Millis(1501), "half");
        cast.output(Millis(63007), "\x1b[0m\"");
        cast.exit(Millis(63008), 3);
        return events_of(cast.take());
    };

    CHECK(events(CastVersion::v3) == "[1.500, \"o\", \"a\\r\\n\"]\n"
                                     "[0.001, \"r\", \"100x30\"]\n"
                                     "[0.000, \"m\", \"half\"]\n"
                                     "[61.506, \"o\", \"\\u001b[0m\\\"\"]\n"
                                     "[0.001, \"x\", \"3\"]\n");
    CHECK(events(CastVersion::v2) == "[1.500, \"o\", \"a\\r\\n\"]\n"
                                     "[1.501, \"r\", \"100x30\"]\n"
                                     "[1.501, \"m\", \"half\"]\n"
                                     "[63.007, \"o\", \"\\u001b[0m\\\"\"]\n");
}

TEST_CASE("time does not run backwards") {
    Asciicast cast(CastVersion::v3, header());
    cast.output(Millis(20), "a");
    cast.exit(Millis(10), 0);

    CHECK(events_of(cast.take()) == "[0.020, \"o\", \"a\"]\n[0.000, \"x\", \"0\"]\n");
}

TEST_CASE("a character that comes in pieces is whole, and bytes that are none are replaced") {
    Asciicast cast(CastVersion::v3, header());
    cast.output(Millis(1), "caf\xc3");
    cast.output(Millis(2), "\xa9 \xff");
    cast.output(Millis(3), "\xe2\x82");

    CHECK(events_of(cast.take()) == "[0.001, \"o\", \"caf\"]\n"
                                    "[0.001, \"o\", \"\xc3\xa9 \xef\xbf\xbd\"]\n"
                                    "[0.000, \"o\", \"\xef\xbf\xbd\xef\xbf\xbd\"]\n");
}

TEST_SUITE_END();

#include "protocol/decode.h"
#include "protocol/process.h"
#include "protocol/session.h"
#include "support/parsed.h"
#include "support/testing.h"

#include <string>
#include <string_view>

using ew::ErrorKind;
using ew::Result;
using ew::protocol::decode;
using namespace ew::protocol;

namespace {

// The params of a start with one member more.
std::string start_with(std::string_view member) {
    return R"({"processId":"p","argv":["true"],"cwd":"/","env":{},"tty":false,)" +
           std::string(member) + "}";
}

template <class Params>
Params decoded(std::string_view json) {
    ew::test::Parsed parsed(json);
    REQUIRE(parsed.is_json());
    Result<Params> params = decode<Params>(parsed.value());
    if (!params) FAIL(params.error().message);
    return std::move(*params);
}

template <class Params>
ew::Error error_of(std::string_view json) {
    ew::test::Parsed parsed(json);
    REQUIRE(parsed.is_json());
    Result<Params> params = decode<Params>(parsed.value());
    REQUIRE_FALSE(params);
    return params.error();
}

} // namespace

TEST_SUITE_BEGIN("protocol/decode");

TEST_CASE("a start with nothing but what is required has the defaults") {
    const auto params = decoded<StartParams>(start_with(R"("unknown":1)"));

    CHECK(params.argv == std::vector<std::string>{"true"});
    CHECK(params.cwd.native == "/");
    CHECK_FALSE(params.pipe_stdin);
    CHECK_FALSE(params.sandbox.has_value());
    CHECK_FALSE(params.timeout_ms.has_value());
    CHECK(params.grace_ms == 0);
}

TEST_CASE("an error of params names the member and what is expected of it") {
    const ew::Error error = error_of<StartParams>(start_with(R"("size":{"rows":0,"cols":1})"));

    CHECK(error.kind == ErrorKind::invalid_params);
    CHECK(error.path == "size.rows");
    CHECK(error.message == "size.rows: expected a whole number from 1 to 65535");
}

TEST_CASE("params that are no object say so") {
    CHECK(error_of<ReadParams>("5").message == "params: expected an object");
    CHECK(error_of<ReadParams>("[1]").message == "params: expected an object");
}

TEST_CASE("absent params and an empty array count as an empty object") {
    CHECK(decode<ReadParams>(nullptr).error().path == "processId");
    CHECK(error_of<ReadParams>("[]").path == "processId");
    CHECK(decode<InitializeParams>(nullptr));
}

TEST_CASE("an empty argv is refused") {
    CHECK(error_of<StartParams>(R"({"processId":"p","argv":[],"cwd":"/","env":{},"tty":false})")
              .path == "argv");
}

TEST_CASE("a sandbox counts as disabled only when its permissions say so") {
    struct Case {
        std::string sandbox;
        bool is_disabled;
    };

    for (const Case& one : std::vector<Case>{{"{}", false},
                                             {R"({"permissions":{"type":"disabled"}})", true},
                                             {R"({"permissions":{"type":"managed"}})", false},
                                             {R"({"permissions":"disabled"})", false},
                                             {R"({"type":"disabled"})", false}}) {
        CAPTURE(one.sandbox);
        const auto params = decoded<StartParams>(start_with("\"sandbox\":" + one.sandbox));
        REQUIRE(params.sandbox.has_value());
        CHECK(params.sandbox->is_disabled == one.is_disabled);
    }
}

TEST_CASE("a confinement that is null is none, and one of another type is refused") {
    for (const std::string member : {"sandbox", "managedNetwork", "networkProxy"}) {
        CAPTURE(member);
        const auto params = decoded<StartParams>(start_with('"' + member + R"(":null)"));
        CHECK_FALSE((params.sandbox || params.managed_network || params.network_proxy));

        const ew::Error error = error_of<StartParams>(start_with('"' + member + R"(":"x")"));
        CHECK(error.path == member);
        CHECK(error.message == member + ": expected an object or null");
    }
}

TEST_CASE("the id that a cancel names is compared as the id of a request is kept") {
    CHECK(decoded<CancelParams>(R"({"id":"a"})").id.json == R"("a")");
    CHECK(decoded<CancelParams>(R"({"id":-1})").id.json == "-1");
    CHECK(error_of<CancelParams>(R"({"id":null})").path == "id");
}

TEST_CASE("methods without parameters take nothing, an empty object or an empty array") {
    CHECK(expect_no_params(nullptr));
    CHECK(expect_no_params(ew::test::Parsed("{}").value()));
    CHECK(expect_no_params(ew::test::Parsed("[]").value()));

    for (const std::string_view json : {R"({"a":1})", "[1]", "5", "\"\""}) {
        ew::test::Parsed parsed(json);
        CAPTURE(json);
        Result<void> result = expect_no_params(parsed.value());
        REQUIRE_FALSE(result);
        CHECK(result.error().kind == ErrorKind::invalid_params);
    }
}

TEST_SUITE_END();

// That names and codes are those of the schema is checked in schema_test.cc.
#include "protocol/methods.h"
#include "support/testing.h"

using ew::ErrorKind;
using ew::protocol::Method;
using ew::protocol::method_named;

TEST_SUITE_BEGIN("protocol/methods");

TEST_CASE("a method is found by its whole name, case included") {
    CHECK(method_named("process/read") == Method::process_read);
    CHECK_FALSE(method_named("process/Read").has_value());
    CHECK_FALSE(method_named("process/rea").has_value());
    CHECK_FALSE(method_named("process/read ").has_value());
    CHECK_FALSE(method_named("").has_value());
}

TEST_CASE("methods of the protocol that are not served are known as reserved") {
    CHECK(method_named("environmentConfig/read") == Method::reserved);
    CHECK(method_named("http/request") == Method::reserved);
}

TEST_CASE("notifications are no requests") {
    CHECK_FALSE(method_named("initialized").has_value());
    CHECK_FALSE(method_named("exit").has_value());
    CHECK_FALSE(method_named("$/cancelRequest").has_value());
}

TEST_CASE("every error has a code of JSON-RPC and a name") {
    for (int value = 0; value <= static_cast<int>(ErrorKind::internal); ++value) {
        const auto kind = static_cast<ErrorKind>(value);
        CAPTURE(value);
        const int code = ew::protocol::code_of(kind);
        // -32004 is Codex's, for what is not there.
        CHECK((code == -32004 || (code <= -32600 && code >= -32800)));
        CHECK_FALSE(ew::protocol::name_of(kind).empty());
    }
}

TEST_SUITE_END();

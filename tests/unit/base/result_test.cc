#include "base/result.h"
#include "support/child_process.h"
#include "support/testing.h"

#include <memory>
#include <string>

using ew::Error;
using ew::ErrorKind;
using ew::Result;

namespace {

Result<int> half(int number) {
    if (number % 2 != 0) return Error{ErrorKind::invalid_params, "it is odd"};
    return number / 2;
}

Result<void> expect_even(int number) {
    (void)TRY(half(number));
    return {};
}

Result<int> quarter(int number) {
    TRY(expect_even(number));
    const int once = TRY(half(number));
    return TRY(half(once));
}

Result<std::unique_ptr<int>> boxed(int number) {
    return std::make_unique<int>(number);
}

Result<int> unboxed(int number) {
    const std::unique_ptr<int> box = TRY(boxed(number));
    return *box;
}

} // namespace

TEST_SUITE_BEGIN("base/result");

TEST_CASE("a result holds a value or an error") {
    Result<int> good = half(4);
    REQUIRE(good);
    CHECK(*good == 2);

    Result<int> bad = half(3);
    REQUIRE_FALSE(bad);
    CHECK(bad.error().message == "it is odd");
}

TEST_CASE("TRY gives the value of a success") {
    Result<int> result = quarter(12);

    REQUIRE(result);
    CHECK(*result == 3);
}

TEST_CASE("TRY passes an error up, from results with and without a value") {
    CHECK(quarter(7).error().message == "it is odd");
    CHECK(quarter(6).error().kind == ErrorKind::invalid_params);
}

TEST_CASE("TRY moves a value that cannot be copied") {
    Result<int> result = unboxed(5);

    REQUIRE(result);
    CHECK(*result == 5);
}

TEST_CASE("a result without a value is a success by itself") {
    CHECK(Result<void>());
    CHECK_FALSE(Result<void>(Error{ErrorKind::limit, "full"}));
}

TEST_CASE("taking the value of an error is a bug that ends the program and says where") {
    const auto outcome = ew::test::in_child([] { return *half(3) == 1; });

    CHECK(outcome.signal == SIGABRT);
    CHECK(outcome.errors.find("execward: bug: ") != std::string::npos);
    CHECK(outcome.errors.find("result.h:") != std::string::npos);
}

TEST_CASE("taking the error of a success is a bug that ends the program") {
    const auto outcome = ew::test::in_child([] { return half(4).error().message.empty(); });

    CHECK(outcome.signal == SIGABRT);
}

TEST_SUITE_END();

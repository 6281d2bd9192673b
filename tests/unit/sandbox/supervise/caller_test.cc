#include "sandbox/supervise/caller.h"
#include "support/testing.h"

#include <string_view>
#include <vector>

using ew::sandbox::numbers_in;
using ew::sandbox::status_field;
using Numbers = std::vector<unsigned>;

TEST_SUITE_BEGIN("sandbox/supervise/caller");

TEST_CASE("numbers end with their text, whatever lies behind it") {
    constexpr std::string_view memory = "10 20\t30 4 50";

    CHECK(numbers_in(memory) == Numbers{10, 20, 30, 4, 50});
    CHECK(numbers_in(memory.substr(0, 8)) == Numbers{10, 20, 30});
    CHECK(numbers_in(memory.substr(0, 7)) == Numbers{10, 20, 3});
    CHECK(numbers_in(memory.substr(0, 3)) == Numbers{10});
    CHECK(numbers_in(memory.substr(0, 0)).empty());
}

TEST_CASE("a number that no user can have is left out") {
    CHECK(numbers_in("1 99999999999 2") == Numbers{1, 2});
    CHECK(numbers_in("-5 x7") == Numbers{5, 7});
}

TEST_CASE("a field of a status is found by its whole name") {
    constexpr std::string_view status = "Name:\tUid\nTgid:\t7\nUid:\t1\t2 \nGroups:\t\n";

    CHECK(status_field(status, "Uid") == "1\t2");
    CHECK(status_field(status, "gid").empty());
    CHECK(status_field(status, "Groups").empty());
    CHECK(numbers_in(status_field(status, "Uid")) == Numbers{1, 2});
}

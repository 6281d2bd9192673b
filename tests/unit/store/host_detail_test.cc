#include "store/host_detail.h"

#include <doctest/doctest.h>

using namespace ew::store;

TEST_CASE("the detail of a host is data, and a text for people") {
    const std::string detail = to_detail({2, 10, std::uint64_t{1} << 40, "/usr/bin/\"x\""});
    const std::optional<HostDetail> read = host_detail_of(detail);
    REQUIRE(read);
    CHECK(read->connections == 2);
    CHECK(read->sent == 10);
    CHECK(read->received == std::uint64_t{1} << 40);
    CHECK(read->program == "/usr/bin/\"x\"");
    CHECK(text_of_host_detail(detail) ==
          "2 connections, 10 bytes sent, 1099511627776 received, by /usr/bin/\"x\"");
    CHECK(text_of_host_detail(to_detail({1, 0, 0, ""})) ==
          "1 connections, 0 bytes sent, 0 received");
}

TEST_CASE("another text is no detail of a host, and is shown as it is") {
    for (const char* const text : {"", "dropped", "{}", "[1,2]", R"({"connections":-1})",
                                   "2 connections, 10 bytes sent, 20 received, by x"}) {
        CAPTURE(text);
        CHECK_FALSE(host_detail_of(text));
        CHECK(text_of_host_detail(text) == text);
    }
}

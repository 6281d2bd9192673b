#include "sandbox/gateway/host_use.h"
#include "support/testing.h"

#include <string>

using namespace ew::sandbox;

TEST_SUITE_BEGIN("sandbox/gateway");

TEST_CASE("uses of one host and port are added up, and none is lost behind the bound") {
    HostUses uses;
    const auto use = [](const std::string& host) {
        HostUse one;
        one.there.host = host;
        one.there.port = 443;
        one.connections = 1;
        one.sent = 2;
        return one;
    };
    for (std::size_t i = 0; i < HostUses::most + 2; ++i)
        uses.add(use("host" + std::to_string(i)));
    uses.add(use("host0"));
    REQUIRE(uses.list().size() == HostUses::most);
    CHECK(uses.list().front().connections == 2);
    CHECK(uses.list().front().sent == 4);
    CHECK(uses.list().back().there.host == "further hosts");
    CHECK(uses.list().back().connections == 3);
}

#include "sandbox/gateway/candidates.h"
#include "support/testing.h"

#include <string>
#include <vector>

using namespace ew;

TEST_SUITE_BEGIN("sandbox/gateway/candidates");

TEST_CASE("a proxy of the machine is no host, also by an address that carries its own") {
    const std::vector<core::HostRule> rules = core::observing_rules("test");
    const core::Internet proxy = *core::read_internet("203.0.113.9");
    const auto refusal = [&](const char* address) {
        sandbox::FoundHost found;
        found.addresses.push_back({*core::read_internet(address), false});
        const core::Destination there = {"host.example", std::nullopt, 3128};
        return sandbox::candidates_for(rules, there, false, found, {&proxy, 1}).refusal;
    };

    CHECK(refusal("203.0.113.9") == sandbox::is_a_proxy);
    CHECK(refusal("64:ff9b::203.0.113.9") == sandbox::is_a_proxy);
    CHECK(refusal("2002:cb00:7109::1") == sandbox::is_a_proxy);
    CHECK(refusal("203.0.113.10").empty());
    CHECK(refusal("64:ff9b::203.0.113.10").empty());
}

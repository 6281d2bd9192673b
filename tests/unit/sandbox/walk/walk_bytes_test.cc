#include "sandbox/walk/walk_bytes.h"
#include "support/testing.h"

#include <string>

using namespace ew;
using namespace ew::sandbox;

TEST_CASE("an order and the findings of a walk arrive as they were") {
    const WalkOrder order = {
        {"/w", "/v"}, {{"/w", {"**", "*.pem"}, 3}, {"/v", {"x*"}, {}}}, {"/w/closed"}};
    const WalkFindings findings = {{"/w/r"},
                                   {{"/w/a.pem", "/w/b.pem"}, {}},
                                   {{"/w/shut", true, {0, 1}}},
                                   {{"/w/far", false, {1}}},
                                   true};

    CHECK(decode_walk_order(encode(order)) == order);
    CHECK(decode_walk_findings(encode(findings)) == findings);
}

TEST_CASE("an order or findings that are cut short are none") {
    const std::string order = encode(WalkOrder{{"/w"}, {{"/w", {"*.pem"}, {}}}, {}});
    const std::string findings = encode(WalkFindings{{"/w/r"}, {{"/w/a.pem"}}, {}, {}, false});

    for (std::size_t size = 0; size < order.size(); ++size)
        CHECK_FALSE(decode_walk_order(std::string_view(order).substr(0, size)));
    for (std::size_t size = 0; size < findings.size(); ++size)
        CHECK_FALSE(decode_walk_findings(std::string_view(findings).substr(0, size)));
    CHECK_FALSE(decode_walk_order(order + "x"));
}

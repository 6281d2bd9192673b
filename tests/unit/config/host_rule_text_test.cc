#include "config/rule_text.h"
#include "support/testing.h"

using namespace ew::config;
using ew::core::Decision;

namespace {

RuleText read(std::string_view text, ew::core::RuleLayer layer = ew::core::RuleLayer::user) {
    return read_rules(text, {"test.toml", layer, true});
}

} // namespace

TEST_SUITE_BEGIN("config");

TEST_CASE("a [[network]] table is a rule about a host") {
    const RuleText text = read(R"([[network]]
host = "*.Example.org"
ports = [443, 8443]
decision = "allow"
justification = "our registry"
match = ["a.example.org:443"]
not_match = ["example.org:443", "a.example.org:80", "[2001:db8::1]:443"]
)");
    CHECK(text.problems.empty());
    REQUIRE(text.hosts.size() == 1);
    CHECK(text.hosts.front().host == "*.example.org");
    CHECK(text.hosts.front().ports == std::vector<std::uint16_t>{443, 8443});
    CHECK(text.hosts.front().decision == Decision::allow);
    CHECK(text.hosts.front().origin == "test.toml:1");
}

TEST_CASE("without ports a rule that allows is about the web, and another one about every port") {
    const RuleText text = read("[[network]]\nhost = \"a.org\"\ndecision = \"allow\"\n"
                               "[[network]]\nhost = \"b.org\"\ndecision = \"forbidden\"\n");
    REQUIRE(text.hosts.size() == 2);
    CHECK(text.hosts[0].ports == std::vector<std::uint16_t>{80, 443});
    CHECK(text.hosts[1].ports.empty());
}

TEST_CASE("a file with a mistake allows no host, and what it forbids counts") {
    for (const char* mistake :
         {"host = \"*\"\ndecision = \"allow\"", "host = \"*.org\"\ndecision = \"allow\"",
          "host = \"a.org\"", "host = \"http://a.org\"\ndecision = \"allow\"",
          "host = \"a.org\"\nports = [0]\ndecision = \"allow\"",
          "host = \"a.org\"\nports = []\ndecision = \"allow\"",
          "host = \"a.org\"\nports = 443\ndecision = \"allow\"",
          "host = \"a.org\"\ndecision = \"allow\"\nmatch = [\"b.org:443\"]",
          "host = \"a.org\"\ndecision = \"allow\"\nnot_match = [\"a.org:443\"]",
          "host = \"a.org\"\ndecision = \"allow\"\nmatch = [\"a.org\"]",
          "host = \"a.org\"\ndecision = \"allow\"\nprot = [443]", "decision = \"allow\"",
          "host = [", "host = \"a.org\"\ndecision = \"alow\""}) {
        const RuleText text =
            read("[[network]]\nhost = \"bad.org\"\ndecision = \"forbidden\"\n"
                 "[[network]]\nhost = \"good.org\"\ndecision = \"allow\"\n[[network]]\n" +
                 std::string(mistake) + "\n");
        CHECK_MESSAGE(!text.problems.empty(), mistake);
        CHECK(text.mistake);
        REQUIRE(!text.hosts.empty());
        CHECK(text.hosts.front().host == "bad.org");
        for (const ew::core::HostRule& rule : text.hosts)
            CHECK_MESSAGE(rule.decision != Decision::allow, mistake);
    }
}

TEST_CASE("every host is allowed only with a word of its own") {
    const RuleText text =
        read("[[network]]\nhost = \"*\"\nevery_host = true\ndecision = \"allow\"\n");
    CHECK(text.problems.empty());
    CHECK(text.hosts.size() == 1);
}

TEST_CASE("a project is told that it allows no host") {
    const RuleText text =
        read("[[network]]\nhost = \"a.org\"\ndecision = \"allow\"\n", ew::core::RuleLayer::project);
    CHECK(text.problems.size() == 1);
    CHECK(text.hosts.empty());
}

#include "core/network/hosts.h"
#include "core/network/name_table.h"
#include "support/testing.h"

#include <set>

using namespace ew::core;
using ew::Result;

namespace {

Internet at(std::string_view text) {
    const std::optional<Internet> address = read_internet(text);
    REQUIRE(address);
    return *address;
}

HostRule rule(std::string_view host, Decision decision, std::vector<std::uint16_t> ports = {}) {
    Result<HostRule> made = host_rule(host, decision != Decision::allow);
    REQUIRE(made);
    made->decision = decision;
    made->ports = std::move(ports);
    return *made;
}

Destination there(std::string_view host, std::uint16_t port = https_port) {
    const std::optional<Internet> address = read_internet(host);
    return {std::string(host), address, port};
}

} // namespace

TEST_SUITE_BEGIN("core/network");

TEST_CASE("addresses that lead to the machine or a private network are known in every form") {
    for (const char* text : {"127.0.0.1", "127.255.255.254", "0.0.0.0", "::", "::1",
                             "::ffff:127.0.0.1", "64:ff9b::7f00:1", "2002:7f00:1::"})
        CHECK_MESSAGE(reach_of(at(text)) == Reach::loopback, text);
    for (const char* text : {"10.1.2.3", "172.16.0.1", "172.31.255.255", "192.168.0.1",
                             "100.100.100.200", "fd00:ec2::254", "fec0::1", "::ffff:10.0.0.1",
                             "64:ff9b::c0a8:1", "64:ff9b:1::1", "2002:c0a8:1::1"})
        CHECK_MESSAGE(reach_of(at(text)) == Reach::network, text);
    for (const char* text :
         {"169.254.169.254", "168.63.129.16", "fe80::1", "::ffff:169.254.169.254"})
        CHECK_MESSAGE(reach_of(at(text)) == Reach::link, text);
    for (const char* text : {"198.18.0.1", "198.19.255.255", "224.0.0.1", "255.255.255.255",
                             "::127.0.0.1", "ff02::1", "2001::1", "::ffff:0:127.0.0.1"})
        CHECK_MESSAGE(reach_of(at(text)) == Reach::nobody, text);
    for (const char* text : {"1.1.1.1", "172.15.0.1", "172.32.0.1", "100.63.0.1", "100.128.0.1",
                             "198.17.0.1", "198.20.0.1", "2606:4700::1111", "64:ff9b::101:101"})
        CHECK_MESSAGE(reach_of(at(text)) == Reach::everybody, text);
}

TEST_CASE("only the usual form of an address is read") {
    for (const char* text : {"127.1", "0177.0.0.1", "2130706433", "0x7f.0.0.1", "1.2.3.4.5",
                             "256.1.1.1", "fe80::1%lo", " 1.1.1.1", "1.1.1.1 ", "", "::1::"})
        CHECK_MESSAGE(!read_internet(text), text);
    CHECK(shown(at("::ffff:1.2.3.4")) == "1.2.3.4");
    CHECK(shown(at("2001:DB8::1")) == "2001:db8::1");
    CHECK(shown("2001:db8::1", 443) == "[2001:db8::1]:443");
}

TEST_CASE("a prefix has what begins like it") {
    CHECK(read_prefix("10.0.0.0/8")->has(at("10.255.0.1")));
    CHECK(!read_prefix("10.0.0.0/8")->has(at("11.0.0.1")));
    CHECK(read_prefix("192.0.2.0/25")->has(at("192.0.2.127")));
    CHECK(!read_prefix("192.0.2.0/25")->has(at("192.0.2.128")));
    CHECK(read_prefix("0.0.0.0/0")->has(at("8.8.8.8")));
    CHECK(!read_prefix("0.0.0.0/0")->has(at("2001:db8::1")));
    CHECK(read_prefix("2001:db8::/33")->has(at("2001:db8:7fff::1")));
    CHECK(!read_prefix("2001:db8::/33")->has(at("2001:db8:8000::1")));
    for (const char* text : {"10.0.0.1/8", "10.0.0.0/33", "10.0.0.0/", "10.0.0.0/x", "::1/129"})
        CHECK_MESSAGE(!read_prefix(text), text);
}

TEST_CASE("a name has one form, whatever its letters and the dot at its end") {
    CHECK(host_name("Registry.Example.ORG.") == "registry.example.org");
    CHECK(host_name("xn--bcher-kva.example") == "xn--bcher-kva.example");
    CHECK(host_name("_http._tcp.example.org") == "_http._tcp.example.org");
    const std::string longest(63, 'a');
    CHECK(host_name(longest + ".org") == longest + ".org");
    for (const std::string& text :
         {std::string(), std::string("."), std::string("a..b"), std::string(".a"),
          std::string("a b.org"), std::string("b\303\274cher.org"), longest + "a.org",
          std::string("a/b"), std::string("a:1"), std::string("a@b.org"), std::string("a\0b", 3)})
        CHECK_MESSAGE(!host_name(text), text);
}

TEST_CASE("a text that the C library reads as an address is no name") {
    for (const char* text : {"127.0.0.1", "2130706433", "0x7f000001", "0x7f.1", "127.1", "1",
                             "example.0177", "0X7F000001"})
        CHECK_MESSAGE(!host_name(text), text);
}

TEST_CASE("a rule is about its host and ports, and about no other host") {
    const HostRule one = rule("registry.example.org", Decision::allow, {443});
    CHECK(matches(one, there("registry.example.org")));
    CHECK(!matches(one, there("registry.example.org", 80)));
    CHECK(!matches(one, there("example.org")));
    CHECK(!matches(one, there("a.registry.example.org")));
    const HostRule below = rule("*.example.org", Decision::allow, {443});
    CHECK(matches(below, there("a.b.example.org")));
    CHECK(!matches(below, there("example.org")));
    CHECK(!matches(below, there("evil-example.org")));
    CHECK(!matches(below, there("example.org.evil.net")));
}

TEST_CASE("a rule that allows all names allows no address, and one that forbids forbids both") {
    Result<HostRule> all = host_rule("*", true);
    REQUIRE(all);
    all->decision = Decision::allow;
    CHECK(matches(*all, there("example.org")));
    CHECK(!matches(*all, there("192.0.2.7")));
    all->decision = Decision::forbidden;
    CHECK(matches(*all, there("192.0.2.7")));
}

TEST_CASE("every host, or all names of a registry, need a word of their own") {
    CHECK(!host_rule("*", false));
    CHECK(!host_rule("*.org", false));
    CHECK(host_rule("*.org", true));
    for (const char* text : {"*example.org", "a.*.org", "", "https://example.org", "a b", "*."})
        CHECK_MESSAGE(!host_rule(text, true), text);
}

TEST_CASE("a connection leads to one host, never to many") {
    for (const char* text : {"224.0.0.1", "239.255.255.250", "255.255.255.255", "ff02::1"})
        CHECK_MESSAGE(!is_for_one_host(at(text)), text);
    for (const char* text : {"192.0.2.7", "223.255.255.255", "240.0.0.1", "2001:db8::1", "fe80::1"})
        CHECK_MESSAGE(is_for_one_host(at(text)), text);
}

TEST_CASE("what --allow-host takes") {
    CHECK(allowed_host("Example.org")->host == "example.org");
    CHECK(allowed_host("example.org")->ports == std::vector<std::uint16_t>{80, 443});
    CHECK(allowed_host("*.example.com:22")->ports == std::vector<std::uint16_t>{22});
    CHECK(allowed_host("[2001:db8::1]:443")->prefix);
    CHECK(allowed_host("2001:db8::1")->ports == std::vector<std::uint16_t>{80, 443});
    CHECK(allowed_host("10.0.0.0/8:5432")->prefix);
    for (const char* text :
         {"*", "example.org:", "example.org:0", "example.org:65536", "example.org:x", "[::1",
          "example.org:443:443", "[example.org]", "[example.org]:80", "[192.0.2.7]:80"})
        CHECK_MESSAGE(!allowed_host(text), text);
}

TEST_CASE("the strictest of all rules counts, and without one a person is asked") {
    const std::vector<HostRule> rules = {rule("*.example.org", Decision::allow, {443}),
                                         rule("bad.example.org", Decision::forbidden),
                                         rule("new.example.org", Decision::prompt)};
    CHECK(rule_on(rules, there("good.example.org")).decision == Decision::allow);
    CHECK(rule_on(rules, there("bad.example.org")).decision == Decision::forbidden);
    CHECK(rule_on(rules, there("new.example.org")).decision == Decision::prompt);
    CHECK(rule_on(rules, there("other.org")).decision == Decision::prompt);
    CHECK(rule_on(rules, there("other.org")).rule == nullptr);
}

TEST_CASE("rules of the system and of a project allow nothing") {
    for (const RuleLayer layer : {RuleLayer::system, RuleLayer::project}) {
        std::vector<HostRule> rules = {rule("example.org", Decision::allow)};
        rules.front().layer = layer;
        CHECK(rule_on(rules, there("example.org")).decision == Decision::prompt);
        rules.front().decision = Decision::forbidden;
        CHECK(rule_on(rules, there("example.org")).decision == Decision::forbidden);
    }
}

TEST_CASE("a name leads to no private address, unless a rule names that address") {
    std::vector<HostRule> rules = {rule("example.org", Decision::allow)};
    const Destination name = there("example.org");
    CHECK(refusal_of(rules, name, at("93.184.216.34"), false).empty());
    CHECK(!refusal_of(rules, name, at("93.184.216.34"), true).empty());
    for (const char* text : {"127.0.0.1", "::1", "::ffff:127.0.0.1", "169.254.169.254", "10.0.0.1"})
        CHECK_MESSAGE(!refusal_of(rules, name, at(text), false).empty(), text);
    rules.push_back(rule("10.0.0.0/8", Decision::allow, {443}));
    CHECK(refusal_of(rules, name, at("10.0.0.1"), false).empty());
    CHECK(!refusal_of(rules, there("example.org", 22), at("10.0.0.1"), false).empty());
    for (const Decision strict : {Decision::forbidden, Decision::prompt}) {
        rules.back() = rule("93.184.216.0/24", strict);
        CHECK(!refusal_of(rules, name, at("93.184.216.34"), false).empty());
    }
    for (const char* text : {"64:ff9b::5db8:d822", "2002:5db8:d822::1"}) // carried to the same
        CHECK_MESSAGE(!refusal_of(rules, name, at(text), false).empty(), text);
}

TEST_CASE("an address of this machine is reached only if a rule names just that address") {
    Result<HostRule> every = host_rule("0.0.0.0/0", true);
    REQUIRE(every);
    every->decision = Decision::allow;
    every->layer = RuleLayer::session;
    std::vector<HostRule> rules = {rule("example.org", Decision::allow), *every,
                                   rule("203.0.113.0/24", Decision::allow)};
    CHECK_FALSE(refusal_of(rules, there("example.org"), at("203.0.113.9"), true).empty());
    CHECK(refusal_of(rules, there("example.org"), at("203.0.113.9"), false).empty());
    rules.push_back(rule("203.0.113.9", Decision::allow));
    CHECK(refusal_of(rules, there("example.org"), at("203.0.113.9"), true).empty());
}

TEST_CASE("a prefix for a great part of the internet names no private address") {
    for (const char* text : {"0.0.0.0/0", "0.0.0.0/1", "::/0", "::/1", "::ffff:0:0/96"}) {
        CHECK_FALSE(static_cast<bool>(host_rule(text, false)));
        Result<HostRule> wide = host_rule(text, true);
        REQUIRE(wide);
        wide->decision = Decision::allow;
        wide->layer = RuleLayer::session;
        const std::vector<HostRule> rules = {rule("example.org", Decision::allow), *wide};
        for (const char* address : {"127.0.0.1", "::1", "10.0.0.1", "169.254.169.254", "fd00::1"})
            CHECK_MESSAGE(!refusal_of(rules, there("example.org"), at(address), false).empty(),
                          text);
    }
    const std::vector<HostRule> rules = {rule("example.org", Decision::allow),
                                         rule("fc00::/7", Decision::allow),
                                         rule("::/64", Decision::allow)};
    CHECK(refusal_of(rules, there("example.org"), at("fd00::1"), false).empty());
    for (const char* address : {"127.0.0.1", "169.254.169.254", "::1"})
        CHECK_MESSAGE(!refusal_of(rules, there("example.org"), at(address), false).empty(),
                      address);
    CHECK_FALSE(read_prefix("::/0")->has(at("192.0.2.7")));
}

TEST_CASE("each name has an address of its own, which is the same in every table") {
    NameTable names;
    std::set<Internet> seen;
    for (int i = 0; i < 4096; ++i) {
        const std::string name = "host" + std::to_string(i) + ".example.org";
        const std::optional<Internet> address = names.address_of(name);
        REQUIRE(address);
        CHECK(NameTable::has_range(*address));
        CHECK(seen.insert(*address).second);
        CHECK(names.name_of(*address) == name);
    }
    CHECK(!names.address_of("one.too.many"));
    CHECK(names.address_of("host0.example.org"));
    NameTable again;
    CHECK(again.address_of("host0.example.org") == names.address_of("host0.example.org"));
    CHECK(!again.name_of(at("198.18.0.1")));
    CHECK(!NameTable::has_range(at("198.20.0.1")));
}

TEST_CASE("an answer allows exactly what was asked about, and no rule that forbids is answered") {
    const std::vector<HostRule> rules = {rule("*.example.org", Decision::prompt),
                                         rule("*", Decision::prompt),
                                         rule("192.0.2.0/24", Decision::forbidden)};
    const Destination name = there("a.example.org");

    const std::vector<HostRule> answered = with_answer(rules, name);

    CHECK(rule_on(answered, name).decision == Decision::allow);
    CHECK(rule_on(answered, there("a.example.org", 80)).decision == Decision::prompt);
    CHECK(rule_on(answered, there("b.example.org")).decision == Decision::prompt);
    CHECK(refusal_of(answered, name, at("198.51.100.1"), false).empty());
    CHECK_FALSE(refusal_of(answered, name, at("192.0.2.1"), false).empty());
    CHECK_FALSE(refusal_of(answered, name, at("10.0.0.1"), false).empty());
}

TEST_CASE("an answer about an address names that address, also a private one") {
    const Destination address = there("10.0.0.1");
    const std::vector<HostRule> answered = with_answer({}, address);

    CHECK(refusal_of(answered, address, at("10.0.0.1"), false).empty());
    CHECK_FALSE(refusal_of(answered, address, at("10.0.0.2"), false).empty());
    CHECK(rule_on(answered, there("10.0.0.1", 80)).decision == Decision::prompt);
}

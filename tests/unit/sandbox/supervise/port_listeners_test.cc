#include "sandbox/supervise/port_listeners.h"
#include "support/testing.h"
#include "unit/sandbox/supervise/confined_child.h"

#include <array>
#include <optional>
#include <string>
#include <string_view>

namespace {

using namespace ew;
using namespace ew::test;
using sandbox::look_up;
using sandbox::PortLookUps;
using sandbox::Served;

// Look-ups that use the network of this test for both the inside and the outside.
PortLookUps own_look_ups() {
    PortLookUps ports{sandbox::new_look_up(), sandbox::new_look_up()};
    if (!ports) MESSAGE("this kernel has no inet_diag");
    return ports;
}

bool is_served(const PortLookUps& ports, const std::string& address, bool udp = false) {
    const std::optional<Served> served = look_up(ports, sandbox::read_address(address), udp);
    REQUIRE(served);
    return served->inside;
}

UniqueFd bound(const std::string& address, int type) {
    sa_family_t family = 0;
    std::memcpy(&family, address.data(), sizeof family);
    UniqueFd fd = new_socket(family, type);
    const auto* raw = reinterpret_cast<const sockaddr*>(address.data());
    REQUIRE(::bind(fd.get(), raw, static_cast<socklen_t>(address.size())) == 0);
    return fd;
}

} // namespace

TEST_CASE("a listener is found by every address that leads to it") {
    const PortLookUps ports = own_look_ups();
    if (!ports) return;
    for (const char* host : {"127.0.0.1", "0.0.0.0", "127.0.0.5"}) {
        const UniqueFd server = listen_at(ipv4(host, 0));
        REQUIRE(server);
        const int port = port_of(server);
        const bool is_elsewhere = std::string_view(host) == "127.0.0.5";

        CHECK(is_served(ports, ipv4("127.0.0.5", port)));
        CHECK(is_served(ports, ipv4("127.0.0.1", port)) == !is_elsewhere);
        CHECK(is_served(ports, ipv6("::ffff:127.0.0.1", port)) == !is_elsewhere);
        CHECK(is_served(ports, ipv6("::1", port)) == !is_elsewhere); // the other "localhost"
    }
}

TEST_CASE("a listener on the loopback of IPv6 is found from either family") {
    const PortLookUps ports = own_look_ups();
    if (!ports) return;
    const UniqueFd server = listen_at(ipv6("::1", 0));
    if (!server) {
        MESSAGE("this machine has no IPv6");
        return;
    }
    const int port = port_of(server); // in the same position in both address structures

    CHECK(is_served(ports, ipv6("::1", port)));
    CHECK(is_served(ports, ipv4("127.0.0.1", port)));
}

TEST_CASE("who does not listen, or no more, is not found") {
    const PortLookUps ports = own_look_ups();
    if (!ports) return;
    UniqueFd server = listen_at(ipv4("127.0.0.1", 0));
    const int port = port_of(server);
    server.reset();
    const UniqueFd idle = bound(ipv4("127.0.0.1", 0), SOCK_STREAM);

    CHECK(!is_served(ports, ipv4("127.0.0.1", port)));
    CHECK(!is_served(ports, ipv4("127.0.0.1", port_of(idle))));
}

TEST_CASE("a bound UDP socket is found when UDP is asked for") {
    const PortLookUps ports = own_look_ups();
    if (!ports) return;
    const UniqueFd server = bound(ipv4("127.0.0.1", 0), SOCK_DGRAM);
    const int port = port_of(server);

    CHECK(is_served(ports, ipv4("127.0.0.1", port), true));
    CHECK(!is_served(ports, ipv4("127.0.0.1", port), false));
}

TEST_CASE("what an errand says of a port is read back, and nonsense means nobody") {
    for (const Served served : {Served{false, false}, Served{true, false}, Served{false, true}}) {
        const Served read = sandbox::decode_served(sandbox::encode(served));
        CHECK(read.inside == served.inside);
        CHECK(read.outside == served.outside);
    }
    CHECK(!sandbox::decode_served("").inside);
    CHECK(!sandbox::decode_served("2").outside);
}

TEST_CASE("look-ups that nobody has handed over are empty") {
    std::array<int, 2> ends = {-1, -1};
    REQUIRE(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) == 0);
    const UniqueFd ours(ends[0]);
    UniqueFd theirs(ends[1]);

    CHECK(!sandbox::take_look_ups(ours.get()));
    theirs.reset();
    CHECK(!sandbox::take_look_ups(ours.get()));
}

#include "sandbox/supervise/socket_address.h"
#include "support/testing.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cstring>
#include <string>

namespace {

using namespace ew::sandbox;
using Kind = SocketAddress::Kind;

template <class T>
std::string bytes_of(const T& raw) {
    std::string bytes(sizeof raw, '\0');
    std::memcpy(bytes.data(), &raw, sizeof raw);
    return bytes;
}

SocketAddress ipv4(const char* host, std::uint16_t port = 80) {
    sockaddr_in raw = {};
    raw.sin_family = AF_INET;
    raw.sin_port = htons(port);
    REQUIRE(::inet_pton(AF_INET, host, &raw.sin_addr) == 1);
    return read_address(bytes_of(raw));
}

SocketAddress ipv6(const char* host, std::uint16_t port = 80) {
    sockaddr_in6 raw = {};
    raw.sin6_family = AF_INET6;
    raw.sin6_port = htons(port);
    REQUIRE(::inet_pton(AF_INET6, host, &raw.sin6_addr) == 1);
    return read_address(bytes_of(raw));
}

std::string unix_bytes(std::string_view name) {
    const sa_family_t family = AF_UNIX;
    return bytes_of(family) + std::string(name);
}

SocketAddress unix_address(std::string_view name) {
    return read_address(unix_bytes(name));
}

} // namespace

TEST_CASE("internet addresses are shown as host and port") {
    CHECK(ipv4("192.0.2.7", 443).text() == "192.0.2.7:443");
    CHECK(ipv6("2001:db8::1", 443).text() == "[2001:db8::1]:443");
    CHECK(ipv6("::ffff:192.0.2.7", 443).text() == "192.0.2.7:443");
}

TEST_CASE("loopback is what the kernel sends there") {
    for (const char* host : {"127.0.0.1", "127.255.1.2", "0.0.0.0"})
        CHECK(ipv4(host).is_loopback());
    for (const char* host : {"::1", "::", "::ffff:127.0.0.1", "::ffff:0.0.0.0"})
        CHECK(ipv6(host).is_loopback());
    for (const char* host : {"128.0.0.1", "10.0.0.1", "0.0.0.1", "169.254.169.254"})
        CHECK(!ipv4(host).is_loopback());
    for (const char* host : {"::2", "fe80::1", "2001:db8::1", "::ffff:10.0.0.1", "::127.0.0.1"})
        CHECK(!ipv6(host).is_loopback());
}

TEST_CASE("an address that is too short for its family is invalid") {
    CHECK(read_address("").kind == Kind::invalid);
    CHECK(read_address(std::string_view("\x02", 1)).kind == Kind::invalid);
    CHECK(read_address(ipv4("192.0.2.7").bytes.substr(0, 15)).kind == Kind::invalid);
    CHECK(read_address(ipv6("::1").bytes.substr(0, 23)).kind == Kind::invalid);
    CHECK(read_address(ipv6("::1").bytes.substr(0, 24)).kind == Kind::internet);
    CHECK(unix_address("").kind == Kind::invalid);
}

TEST_CASE("an address may be longer than its family needs, but not than the kernel takes") {
    const std::string bytes = ipv4("127.0.0.1").bytes;

    CHECK(read_address(bytes + std::string(longest_address - bytes.size(), 'x')).is_loopback());
    CHECK(read_address(bytes + std::string(longest_address, 'x')).kind == Kind::invalid);
}

TEST_CASE("a socket file's path ends at its first NUL or with the address") {
    CHECK(unix_address("/run/x.sock").name == "/run/x.sock");
    CHECK(unix_address(std::string_view("/run/x\0/etc", 11)).name == "/run/x");
    CHECK(unix_address(std::string(108, 'a')).name == std::string(108, 'a'));
    CHECK(unix_address(std::string(109, 'a')).kind == Kind::invalid);
}

TEST_CASE("an abstract name keeps its NULs and is shown with an @") {
    const SocketAddress address = unix_address(std::string_view("\0a\0b", 4));

    CHECK(address.kind == Kind::abstract);
    CHECK(address.name == std::string_view("a\0b", 3));
    CHECK(address.text() == "@a@b");
}

TEST_CASE("what is shown is text, whatever the bytes were") {
    CHECK(unix_address("/run/\xff.sock").text() == "/run/\xef\xbf\xbd.sock");
}

TEST_CASE("other families are told apart") {
    const sa_family_t netlink = AF_NETLINK;
    const sa_family_t none = AF_UNSPEC;

    CHECK(read_address(bytes_of(netlink) + std::string(10, '\0')).kind == Kind::other);
    CHECK(read_address(bytes_of(none) + std::string(14, '\0')).kind == Kind::unspecified);
    CHECK(read_address(bytes_of(none)).kind == Kind::unspecified);
}

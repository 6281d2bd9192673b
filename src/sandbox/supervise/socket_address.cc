#include "sandbox/supervise/socket_address.h"

#include "core/text/text.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <cstring>

namespace ew::sandbox {

namespace {

constexpr std::array<std::uint8_t, 12> ipv4_prefix = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
constexpr std::size_t shortest_ipv6 = 24; // without the scope (RFC 2133), which the kernel accepts

template <class T>
T front_of(std::string_view bytes) {
    T value = {};
    std::memcpy(&value, bytes.data(), std::min(bytes.size(), sizeof value));
    return value;
}

void read_ipv4(SocketAddress& address) {
    if (address.bytes.size() < sizeof(sockaddr_in)) return;
    const auto raw = front_of<sockaddr_in>(address.bytes);
    address.kind = SocketAddress::Kind::internet;
    address.port = ntohs(raw.sin_port);
    std::copy(ipv4_prefix.begin(), ipv4_prefix.end(), address.internet.begin());
    std::memcpy(address.internet.data() + ipv4_prefix.size(), &raw.sin_addr, sizeof raw.sin_addr);
}

void read_ipv6(SocketAddress& address) {
    if (address.bytes.size() < shortest_ipv6) return;
    const auto raw = front_of<sockaddr_in6>(address.bytes);
    address.kind = SocketAddress::Kind::internet;
    address.port = ntohs(raw.sin6_port);
    std::memcpy(address.internet.data(), &raw.sin6_addr, sizeof raw.sin6_addr);
}

// A path ends at its first NUL or with the address; an abstract name takes the whole rest
// (unix(7)).
void read_unix(SocketAddress& address) {
    constexpr std::size_t path_begins = offsetof(sockaddr_un, sun_path);
    if (address.bytes.size() <= path_begins || address.bytes.size() > sizeof(sockaddr_un)) return;
    const std::string_view name = std::string_view(address.bytes).substr(path_begins);
    const bool is_abstract = name.front() == '\0';
    address.kind = is_abstract ? SocketAddress::Kind::abstract : SocketAddress::Kind::path;
    address.name = is_abstract ? name.substr(1) : name.substr(0, name.find('\0'));
}

std::string printable(std::string_view bytes) {
    std::string text = core::lossy(bytes);
    std::replace(text.begin(), text.end(), '\0', '@');
    return text;
}

} // namespace

bool SocketAddress::is_ipv4() const {
    return std::equal(ipv4_prefix.begin(), ipv4_prefix.end(), internet.begin());
}

bool SocketAddress::is_loopback() const {
    if (kind != Kind::internet) return false;
    const auto is_zero = [](std::uint8_t byte) { return byte == 0; };
    if (is_ipv4())
        return internet[12] == 127 || std::all_of(internet.begin() + 12, internet.end(), is_zero);
    return std::all_of(internet.begin(), internet.end() - 1, is_zero) && internet[15] <= 1;
}

std::string SocketAddress::text() const {
    if (kind == Kind::path) return printable(name);
    if (kind == Kind::abstract) return "@" + printable(name);
    if (kind != Kind::internet) return fmt::format("family {}", family);
    std::array<char, INET6_ADDRSTRLEN> host = {};
    if (is_ipv4()) {
        (void)::inet_ntop(AF_INET, internet.data() + 12, host.data(), host.size()); // it has room
        return fmt::format("{}:{}", host.data(), port);
    }
    (void)::inet_ntop(AF_INET6, internet.data(), host.data(), host.size()); // it has room
    return fmt::format("[{}]:{}", host.data(), port);
}

SocketAddress read_address(std::string_view bytes) {
    SocketAddress address;
    address.bytes = bytes;
    if (bytes.size() < sizeof(sa_family_t) || bytes.size() > longest_address) return address;
    address.family = front_of<sa_family_t>(bytes);
    switch (address.family) {
    case AF_UNSPEC: address.kind = SocketAddress::Kind::unspecified; break;
    case AF_INET: read_ipv4(address); break;
    case AF_INET6: read_ipv6(address); break;
    case AF_UNIX: read_unix(address); break;
    default: address.kind = SocketAddress::Kind::other;
    }
    return address;
}

// The port has the same place in both families.
void set_port(SocketAddress& address, std::uint16_t port) {
    address.port = port;
    const std::uint16_t bytes = htons(port);
    std::memcpy(address.bytes.data() + offsetof(sockaddr_in, sin_port), &bytes, sizeof bytes);
}

} // namespace ew::sandbox

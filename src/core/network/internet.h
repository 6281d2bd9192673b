// Addresses of the internet as values: how they are written, and which of them lead to the machine,
// to a private network or to a cloud's metadata.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace ew::core {

// IPv4 has the form ::ffff:a.b.c.d, so that both families have one form.
using Internet = std::array<std::uint8_t, 16>;

enum class Reach : std::uint8_t {
    everybody, // the public internet, as far as the address says
    loopback,  // this machine: 127.0.0.0/8, ::1, 0.0.0.0/8, ::
    network,   // a private or shared network: 10/8, 100.64/10, 172.16/12, 192.168/16, fc00::/7, …
    link,      // 169.254/16 and fe80::/10: neighbours, and the metadata services of clouds
    nobody,    // reserved, multicast, broadcast, benchmarks (198.18/15), documentation of tunnels
};

// An address that carries an IPv4 address (mapped, NAT64, 6to4) is judged by that one. Other ways
// to write an IPv4 address in an IPv6 one count as nobody's.
Reach reach_of(const Internet& address);

// Reads four decimal numbers without leading zeros, or IPv6. Returns nullopt for every other form,
// such as 0177.0.0.1, 0x7f000001, 127.1 and addresses with a zone.
std::optional<Internet> read_internet(std::string_view text);

bool is_ipv4(const Internet& address);

// Returns false for multicast and 255.255.255.255: no TCP connection leads there (RFC
// 9293, 3.9.2.3).
bool is_for_one_host(const Internet& address);

// Returns the IPv4 address to which NAT64 or 6to4 carries what goes to this one, or nullopt.
std::optional<Internet> carried_ipv4(const Internet& address);

// "192.0.2.7", "2001:db8::1".
std::string shown(const Internet& address);

// As a part of "HOST:PORT": IPv6 in brackets.
std::string shown(std::string_view host, std::uint16_t port);

struct Prefix {
    Internet address = {};
    unsigned bits = 128; // of all 128: an IPv4 prefix of 8 has 104

    // A prefix of one family has no address of the other.
    bool has(const Internet& other) const;

    bool is_ipv4() const;

    // Returns true if all of it, and not only the address, is out there in this sense. A prefix
    // for half of the internet names nothing.
    bool is_within(Reach reach) const;

    bool operator==(const Prefix&) const = default;
};

// "192.0.2.7", "192.0.2.0/24", "2001:db8::/32". Returns nullopt if bits behind the prefix are set.
std::optional<Prefix> read_prefix(std::string_view text);

} // namespace ew::core

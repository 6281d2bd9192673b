#include "core/network/internet.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <span>
#include <vector>

namespace ew::core {

namespace {

constexpr unsigned all_bits = 128;
constexpr unsigned bits_of_family = 96; // in front of an IPv4 address

constexpr std::array<std::uint8_t, 12> mapped = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

struct Range {
    std::string_view prefix;
    Reach reach;
};

// Of the registries of special-purpose addresses (RFC 6890 and later). Documentation addresses
// (192.0.2.0/24 and the like) lead nowhere, and are left out.
constexpr auto ranges4 = std::to_array<Range>({
    {"0.0.0.0/8", Reach::loopback},
    {"127.0.0.0/8", Reach::loopback},
    {"10.0.0.0/8", Reach::network},
    {"100.64.0.0/10", Reach::network},
    {"172.16.0.0/12", Reach::network},
    {"192.168.0.0/16", Reach::network},
    {"169.254.0.0/16", Reach::link},
    {"168.63.129.16/32", Reach::link}, // the host of a virtual machine, at one provider
    {"192.0.0.0/24", Reach::nobody},
    {"198.18.0.0/15", Reach::nobody},
    {"224.0.0.0/4", Reach::nobody},
    {"240.0.0.0/4", Reach::nobody},
});

constexpr auto ranges6 = std::to_array<Range>({
    {"::/127", Reach::loopback},        // :: and ::1
    {"::/96", Reach::nobody},           // IPv4-compatible
    {"::ffff:0:0:0/96", Reach::nobody}, // IPv4-translated
    {"64:ff9b:1::/48", Reach::network},
    {"100::/64", Reach::nobody},
    {"2001::/23", Reach::nobody}, // Teredo and other protocols
    {"3fff::/20", Reach::nobody},
    {"5f00::/16", Reach::nobody},
    {"fc00::/7", Reach::network},
    {"fec0::/10", Reach::network},
    {"fe80::/10", Reach::link},
    {"ff00::/8", Reach::nobody},
});

struct Scope {
    Prefix prefix;
    Reach reach;
};

std::vector<Scope> scopes(std::span<const Range> ranges) {
    std::vector<Scope> scopes;
    for (const Range& range : ranges)
        if (const std::optional<Prefix> prefix = read_prefix(range.prefix))
            scopes.push_back({*prefix, range.reach});
    return scopes;
}

Reach reach_in(std::span<const Scope> scopes, const Internet& address) {
    const auto found =
        std::ranges::find_if(scopes, [&](const Scope& scope) { return scope.prefix.has(address); });
    return found == scopes.end() ? Reach::everybody : found->reach;
}

Internet embedded(const Internet& address, std::size_t from) {
    Internet inner = {};
    std::copy(mapped.begin(), mapped.end(), inner.begin());
    std::copy_n(address.begin() + static_cast<std::ptrdiff_t>(from), 4, inner.begin() + 12);
    return inner;
}

bool begins(const Internet& address, std::initializer_list<std::uint8_t> bytes) {
    return std::equal(bytes.begin(), bytes.end(), address.begin());
}

} // namespace

bool is_ipv4(const Internet& address) {
    return std::equal(mapped.begin(), mapped.end(), address.begin());
}

bool is_for_one_host(const Internet& address) {
    constexpr Internet broadcast = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 255, 255, 255, 255};
    if (!is_ipv4(address)) return address[0] != 0xff;
    const bool is_multicast = (address[mapped.size()] & 0xf0U) == 0xe0U;
    return !is_multicast && address != broadcast;
}

Reach reach_of(const Internet& address) {
    static const std::vector<Scope> scopes4 = scopes(ranges4);
    static const std::vector<Scope> scopes6 = scopes(ranges6);
    if (is_ipv4(address)) return reach_in(scopes4, address);
    if (const std::optional<Internet> ipv4 = carried_ipv4(address)) return reach_of(*ipv4);
    return reach_in(scopes6, address);
}

std::optional<Internet> carried_ipv4(const Internet& address) {
    if (begins(address, {0, 0x64, 0xff, 0x9b, 0, 0, 0, 0, 0, 0, 0, 0}))
        return embedded(address, 12);
    if (begins(address, {0x20, 0x02})) return embedded(address, 2);
    return std::nullopt;
}

std::optional<Internet> read_internet(std::string_view text) {
    const std::string copy(text);
    Internet address = {};
    if (copy.find('\0') != std::string::npos) return std::nullopt;
    if (text.find(':') != std::string_view::npos) {
        if (::inet_pton(AF_INET6, copy.c_str(), address.data()) != 1) return std::nullopt;
        return address;
    }
    std::copy(mapped.begin(), mapped.end(), address.begin());
    if (::inet_pton(AF_INET, copy.c_str(), address.data() + mapped.size()) != 1)
        return std::nullopt;
    return address;
}

std::string shown(const Internet& address) {
    std::array<char, INET6_ADDRSTRLEN> text = {};
    const bool is_short = is_ipv4(address);
    const std::uint8_t* const from = address.data() + (is_short ? mapped.size() : 0);
    if (::inet_ntop(is_short ? AF_INET : AF_INET6, from, text.data(), text.size()) == nullptr)
        return {};
    return text.data();
}

std::string shown(std::string_view host, std::uint16_t port) {
    const bool is_ipv6 = host.find(':') != std::string_view::npos;
    return is_ipv6 ? fmt::format("[{}]:{}", host, port) : fmt::format("{}:{}", host, port);
}

bool Prefix::is_ipv4() const {
    return bits >= bits_of_family && core::is_ipv4(address);
}

bool Prefix::is_within(Reach reach) const {
    constexpr unsigned least_ipv4 = bits_of_family + 8;
    constexpr unsigned least_ipv6 = 7; // fc00::/7
    if (bits < (is_ipv4() ? least_ipv4 : least_ipv6)) return false;
    Internet last = address;
    for (unsigned bit = bits; bit < all_bits; ++bit)
        last[bit / 8] = static_cast<std::uint8_t>(last[bit / 8] | (0x80U >> (bit % 8)));
    return reach_of(address) == reach && reach_of(last) == reach;
}

bool Prefix::has(const Internet& other) const {
    constexpr unsigned byte = 8;
    if (is_ipv4() != core::is_ipv4(other)) return false;
    const std::size_t whole = bits / byte;
    if (!std::equal(address.begin(), address.begin() + static_cast<std::ptrdiff_t>(whole),
                    other.begin()))
        return false;
    const unsigned rest = bits % byte;
    if (rest == 0) return true;
    const auto mask = static_cast<std::uint8_t>(0xff00U >> rest);
    return ((address[whole] ^ other[whole]) & mask) == 0;
}

std::optional<Prefix> read_prefix(std::string_view text) {
    constexpr unsigned all = all_bits;
    const std::size_t slash = text.find('/');
    const std::optional<Internet> address = read_internet(text.substr(0, slash));
    if (!address) return std::nullopt;
    Prefix prefix = {*address, all};
    if (slash == std::string_view::npos) return prefix;
    const std::string_view number = text.substr(slash + 1);
    const unsigned most = text.find(':') == std::string_view::npos ? 32 : all;
    unsigned bits = 0;
    const auto read = std::from_chars(number.data(), number.data() + number.size(), bits);
    if (number.empty() || read.ec != std::errc() || read.ptr != number.data() + number.size() ||
        bits > most)
        return std::nullopt;
    prefix.bits = all - most + bits;
    for (unsigned bit = prefix.bits; bit < all; ++bit)
        if ((prefix.address[bit / 8] & (0x80U >> (bit % 8))) != 0) return std::nullopt;
    return prefix;
}

} // namespace ew::core

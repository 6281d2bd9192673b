// The address that a program gave to connect(2), parsed from its bytes as the kernel parses it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace ew::sandbox {

struct SocketAddress {
    enum class Kind : std::uint8_t {
        invalid,     // the kernel fails with EINVAL
        unspecified, // AF_UNSPEC: ends an association
        internet,    // AF_INET, AF_INET6
        path,        // AF_UNIX: a socket file
        abstract,    // AF_UNIX: a name outside the file system (unix(7))
        other,
    };

    Kind kind = Kind::invalid;
    std::uint16_t family = 0;
    std::string bytes = {}; // as given

    // For kind internet; IPv4 in the form ::ffff:a.b.c.d, so that both families have one form.
    std::array<std::uint8_t, 16> internet = {};
    std::uint16_t port = 0;

    std::string name = {}; // path, or the bytes after the first NUL of an abstract name

    bool is_ipv4() const;

    // Addresses that the kernel sends through the loopback device if there is no other:
    // 127.0.0.0/8, ::1, and the unspecified addresses, which connect(2) treats as these.
    bool is_loopback() const;

    // For a person, valid UTF-8: "192.0.2.7:443", "[2001:db8::1]:443", a path, "@abstract".
    std::string text() const;
};

// The kernel's limit: sizeof(sockaddr_storage).
constexpr std::size_t longest_address = 128;

SocketAddress read_address(std::string_view bytes);

// Changes the port of an address of kind internet, in its bytes too.
void set_port(SocketAddress& address, std::uint16_t port);

} // namespace ew::sandbox

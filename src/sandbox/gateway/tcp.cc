#include "sandbox/gateway/tcp.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>

namespace ew::sandbox {

RawAddress raw_address(const core::Internet& internet, std::uint16_t port) {
    RawAddress address;
    if (core::is_ipv4(internet)) {
        sockaddr_in ipv4 = {};
        ipv4.sin_family = AF_INET;
        ipv4.sin_port = htons(port);
        std::memcpy(&ipv4.sin_addr, internet.data() + 12, 4);
        std::memcpy(&address.bytes, &ipv4, sizeof ipv4);
        address.size = sizeof ipv4;
    } else {
        sockaddr_in6 ipv6 = {};
        ipv6.sin6_family = AF_INET6;
        ipv6.sin6_port = htons(port);
        std::memcpy(&ipv6.sin6_addr, internet.data(), internet.size());
        std::memcpy(&address.bytes, &ipv6, sizeof ipv6);
        address.size = sizeof ipv6;
    }
    return address;
}

void turn_on(int socket, int level, int option) {
    const int on = 1;
    (void)::setsockopt(socket, level, option, &on, sizeof on); // see tcp.h
}

void reset_on_close(int socket) {
    const linger at_once = {1, 0};
    (void)::setsockopt(socket, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once); // then it ends
}

bool would_wait(int error) {
    return error == EAGAIN || error == EINTR;
}

std::uint64_t network_of(int socket) {
    constexpr int netns_cookie = 71; // SO_NETNS_COOKIE of asm/socket.h, not in older headers
    std::uint64_t cookie = 0;
    socklen_t size = sizeof cookie;
    const bool is_known = ::getsockopt(socket, SOL_SOCKET, netns_cookie, &cookie, &size) == 0;
    return is_known ? cookie : 0;
}

} // namespace ew::sandbox

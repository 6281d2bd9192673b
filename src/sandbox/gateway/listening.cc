#include "sandbox/gateway/listening.h"

#include "sandbox/gateway/tcp.h"

#include <linux/filter.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>

namespace ew::sandbox {

namespace {

constexpr int backlog = 1024;
constexpr int ipv6_freebind = 78; // IPV6_FREEBIND in linux/in6.h, which netinet/in.h excludes

// SO_REUSEPORT: a socket that connects back has the place of the listener.
void prepare(int socket, const core::Internet& internet) {
    const bool is_short = core::is_ipv4(internet);
    turn_on(socket, SOL_SOCKET, SO_REUSEADDR);
    turn_on(socket, SOL_SOCKET, SO_REUSEPORT);
    if (!is_short) turn_on(socket, IPPROTO_IPV6, IPV6_V6ONLY);
    turn_on(socket, is_short ? IPPROTO_IP : IPPROTO_IPV6, is_short ? IP_FREEBIND : ipv6_freebind);
}

bool bind_to(int socket, const Place& place) {
    const RawAddress address = raw_address(place.first, place.second);
    return ::bind(socket, address.get(), address.size) == 0;
}

std::uint16_t port_of(int socket) {
    sockaddr_in6 address = {}; // the port has the same place in both families
    socklen_t size = sizeof address;
    void* const bytes = &address;
    if (::getsockname(socket, static_cast<sockaddr*>(bytes), &size) != 0) return 0;
    return ntohs(address.sin6_port);
}

} // namespace

UniqueFd listener_at(UniqueFd socket, const Place& place, std::uint16_t& port, bool is_held) {
    prepare(socket.get(), place.first);
    if (is_held && !hold(socket.get())) return {};
    if (bind_to(socket.get(), {place.first, port})) {
        if (::listen(socket.get(), backlog) == 0) return socket;
        return {}; // a program has begun to listen since: the next call takes the way below
    }
    if (errno != EADDRINUSE || !bind_to(socket.get(), {place.first, 0}) ||
        ::listen(socket.get(), backlog) != 0)
        return {};
    port = port_of(socket.get());
    return port == 0 ? UniqueFd() : std::move(socket);
}

bool hold(int listener) {
    sock_filter drop = BPF_STMT(BPF_RET | BPF_K, 0);
    const sock_fprog program = {1, &drop};
    return ::setsockopt(listener, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program) == 0;
}

void release(int listener) {
    const int unused = 0;
    (void)::setsockopt(listener, SOL_SOCKET, SO_DETACH_FILTER, &unused,
                       sizeof unused); // fails only if it is not held
}

bool connect_back(int socket, const Place& listener, const Place& caller) {
    prepare(socket, listener.first);
    if (!bind_to(socket, listener)) return false;
    const RawAddress address = raw_address(caller.first, caller.second);
    return ::connect(socket, address.get(), address.size) == 0 || errno == EINPROGRESS;
}

} // namespace ew::sandbox

// Who waits on a port of loopback, as the kernel tells it (sock_diag(7)): by looking one socket up,
// which costs a few microseconds, while the tables in /proc are written out from end to end.
#pragma once

#include "base/unique_fd.h"
#include "sandbox/supervise/caller.h"
#include "sandbox/supervise/socket_address.h"

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace ew::sandbox {

// Netlink sockets. Each asks the network namespace that it was made in.
struct PortLookUps {
    UniqueFd inside;  // the sandbox's
    UniqueFd outside; // the machine's

    explicit operator bool() const { return inside && outside; }
};

// One that asks the network this process is in. Empty: the kernel does not answer (inet_diag).
UniqueFd new_look_up();

// Is a connect to that address, or to the same port of the other loopback address, answered by a
// socket that waits there (TCP: listens; UDP: is bound)?
struct Served {
    bool inside = false;
    bool outside = false; // unknown where `inside` holds
};

// Never waits. Absent: the kernel does not say.
std::optional<Served> look_up(const PortLookUps& ports, const SocketAddress& address, bool udp);

struct PortOrder {
    int listener = -1; // to ask whether the call is still there; borrowed
    std::uint64_t id = 0;
    Caller caller = {};
    SocketAddress address = {};
    bool is_udp = false;
    pid_t server = 0;   // it is in the machine's network
    int hand_over = -1; // a socket (unix(7)) through which the look-ups go, if there are any
};

// The same where there are no look-ups yet: makes them and hands them over. For an errand: it
// enters the sandbox's namespaces for good, and reads the tables if that cannot be done or the
// kernel has no look-ups.
Served find_listeners(const PortOrder& order);

// What came through the other end of `hand_over`. Does not wait; empty: nothing.
PortLookUps take_look_ups(int socket);

// For the pipe of the errand. A text that is no answer means that nobody waits there.
std::string encode(Served served);
Served decode_served(std::string_view text);

} // namespace ew::sandbox

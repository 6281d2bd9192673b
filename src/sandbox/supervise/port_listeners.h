// Finds out whether a socket waits on a port of loopback. The kernel (sock_diag(7)) looks one
// socket up in a few microseconds, while it writes the tables in /proc from end to end.
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

// Netlink sockets. Each asks the network namespace in which it was made.
struct PortLookUps {
    UniqueFd inside;  // the sandbox's
    UniqueFd outside; // the machine's

    explicit operator bool() const { return inside && outside; }
};

// Makes a socket that asks the network of this process. Returns an empty one if the kernel does not
// answer (inet_diag).
UniqueFd new_look_up();

// Does a socket answer a connect to that address, or to the same port of the other loopback address
// (TCP: it listens; UDP: it is bound)?
struct Served {
    bool inside = false;
    bool outside = false; // unknown if `inside` is true
};

// Never waits. Returns nullopt if the kernel does not answer.
std::optional<Served> look_up(const PortLookUps& ports, const SocketAddress& address, bool udp);

struct PortOrder {
    int listener = -1; // to ask whether the call still waits; borrowed
    std::uint64_t id = 0;
    Caller caller = {};
    SocketAddress address = {};
    bool is_udp = false;
    pid_t server = 0;   // it is in the machine's network
    int hand_over = -1; // a socket (unix(7)) that passes the look-ups on, if there are any
};

// The same without look-ups: makes them and passes them on. For an errand: it enters the sandbox's
// namespaces for good, and reads the tables if that fails or the kernel has no look-ups.
Served find_listeners(const PortOrder& order);

// Returns the look-ups from the other end of `hand_over`, or empty ones. Does not wait.
PortLookUps take_look_ups(int socket);

// For the pipe of the errand. An invalid text means that no socket waits on the port.
std::string encode(Served served);
Served decode_served(std::string_view text);

} // namespace ew::sandbox

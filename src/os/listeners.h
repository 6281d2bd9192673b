// The TCP ports on which processes listen.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string_view>
#include <vector>

namespace ew::os {

struct Listener {
    std::uint64_t inode = 0; // of the socket, as in socket:[7] of /proc/PID/fd
    std::uint16_t port = 0;

    bool operator==(const Listener&) const = default;
};

// Reads the listeners at the beginning of /proc/PID/net/tcp or tcp6 (proc_pid_net(5)); they come
// before all connections. An incomplete last line does not count.
std::vector<Listener> listeners_in(std::string_view table);

// Returns each port once, in order. What may not be looked at does not count.
std::vector<std::uint16_t> listening_ports(const std::vector<pid_t>& processes);

} // namespace ew::os

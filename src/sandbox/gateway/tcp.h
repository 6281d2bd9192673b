// What the sockets of a gateway, inside and outside, have in common.
#pragma once

#include "core/network/internet.h"

#include <sys/socket.h>

#include <cstdint>

namespace ew::sandbox {

// An address as the kernel takes it.
struct RawAddress {
    sockaddr_storage bytes = {};
    socklen_t size = 0;

    const sockaddr* get() const {
        const void* const raw = &bytes;
        return static_cast<const sockaddr*>(raw);
    }
};

RawAddress raw_address(const core::Internet& internet, std::uint16_t port);

// Sets an option to 1. Errors are ignored: the option only makes the socket better, or the next
// call on it fails.
void turn_on(int socket, int level, int option);

// The other side sees a reset, and not an end, when the socket is closed.
void reset_on_close(int socket);

// Does the error of a call on a non-blocking socket say to try again later?
bool would_wait(int error);

// A number of the network in which the socket was made, which no other network ever has
// (SO_NETNS_COOKIE, Linux 5.14). 0: unknown.
std::uint64_t network_of(int socket);

} // namespace ew::sandbox

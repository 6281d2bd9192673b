// A connect(2) of a confined program that waits for its answer.
#pragma once

#include "sandbox/supervise/caller.h"
#include "sandbox/supervise/socket_address.h"

#include <cstdint>

namespace ew::sandbox {

struct WaitingCall {
    std::uint64_t id = 0; // see Notifications
    Caller caller = {};
    int fd = -1; // in the caller
    Descriptor descriptor = {};
    SocketAddress address = {};
};

} // namespace ew::sandbox

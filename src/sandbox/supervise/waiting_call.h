// A call of a confined program that waits for its answer: a connect(2), or a change of a file.
#pragma once

#include "sandbox/supervise/caller.h"
#include "sandbox/supervise/denials.h"
#include "sandbox/supervise/shared_socket.h"
#include "sandbox/supervise/socket_address.h"

#include <cstdint>
#include <vector>

namespace ew::sandbox {

struct WaitingCall {
    std::uint64_t id = 0; // see Notifications
    Caller caller = {};
    int fd = -1; // in the caller
    SocketKind kind = {};
    SocketAddress address = {};
    std::uint64_t question = 0;       // for whose answer the connect waits; 0: for none
    std::vector<Denial> changes = {}; // the call continues, and what it changes may be refused
};

} // namespace ew::sandbox

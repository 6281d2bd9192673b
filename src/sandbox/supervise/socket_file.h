// A connect(2) carried out in the place of the caller, on the caller's socket, with an address that
// nobody can change any more. Runs in an errand: paths may be slow, and queues full.
//
// The other side is told (SO_PEERCRED, unix(7)) the user and groups of the caller, but the number
// of the errand's process, which means nothing in a pid namespace of its own (0).
#pragma once

#include "sandbox/supervise/caller.h"
#include "sandbox/supervise/socket_address.h"

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

namespace ew::sandbox {

struct SocketFileRules {
    bool has_mounts = true;                   // allowed is what lies in a writable mount
    std::vector<std::string> writable = {};   // else: what lies below these
    std::vector<std::string> shared_tmp = {}; // and of that, below these, only the sandbox's own
};

struct ConnectOrder {
    int listener = -1; // to ask whether the call is still there; borrowed
    std::uint64_t id = 0;
    Caller caller = {};
    int fd = -1; // in the caller
    SocketAddress address = {};
    SocketFileRules rules = {};
    pid_t server = 0; // the parent of this process, and ancestor of all sandboxes
};

struct ConnectResult {
    enum class Refusal : std::uint8_t {
        none,
        not_writable, // the place is not one that may be written
        foreign,      // in a shared place, and nobody in the sandbox listens
        unreachable,  // by way of /proc/self or the like, which would mean another process here
    };

    int error = 0; // errno; 0: connected
    Refusal refusal = Refusal::none;
    std::string path = {}; // of the socket file with all links resolved; empty: unknown
};

ConnectResult connect_for_caller(const ConnectOrder& order);

// For the pipe of the errand. A text that is no result is a refusal with EACCES.
std::string encode(const ConnectResult& result);
ConnectResult decode_connect_result(std::string_view text);

} // namespace ew::sandbox

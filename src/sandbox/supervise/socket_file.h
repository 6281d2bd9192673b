// Carries out a connect(2) to a local socket for the caller, on the caller's socket, with a copy of
// the address that no program can change. Runs in an errand: paths may be slow, and queues full.
//
// The other side sees (SO_PEERCRED, unix(7)) the user and groups of the caller, but the pid of the
// errand, which means nothing in a pid namespace of its own (0).
#pragma once

#include "sandbox/supervise/caller.h"
#include "sandbox/supervise/known_mounts.h"
#include "sandbox/supervise/socket_address.h"

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

namespace ew::sandbox {

struct SocketFileRules {
    bool has_mounts = true; // a socket file on one of `mounts` is allowed
    KnownMounts mounts = {};
    std::vector<std::string> writable = {}; // without mounts: socket files below these are allowed
    std::vector<std::string> shared_tmp = {}; // of these, only the sandbox's own sockets
};

struct ConnectOrder {
    int listener = -1; // to ask whether the call still waits; borrowed
    std::uint64_t id = 0;
    Caller caller = {};
    int fd = -1; // in the caller
    SocketAddress address = {};
    SocketFileRules rules = {};
    // The names of abstract sockets belong to a network namespace (unix(7)). If the caller shares
    // its network with the machine, it reaches those on which its own sandbox listens.
    bool has_own_network = true;
    pid_t server = 0; // the parent of this process, and ancestor of all sandboxes
};

struct ConnectResult {
    enum class Refusal : std::uint8_t {
        none,
        not_writable,  // its directory is not writable
        hidden,        // the machine has it, or may have it, and the sandbox does not show it
        foreign,       // in a shared directory, and no process of the sandbox listens
        abstract,      // a process outside the sandbox listens on that name
        other_network, // the socket is of another network than the caller
        unreachable,   // through /proc/self or the like, which would mean another process here
    };

    int error = 0; // errno; 0: connected
    Refusal refusal = Refusal::none;
    std::string path = {}; // of the socket file with all links resolved; empty: unknown
};

ConnectResult connect_for_caller(const ConnectOrder& order);

// For the pipe of the errand. An invalid text becomes a refusal with EACCES.
std::string encode(const ConnectResult& result);
ConnectResult decode_connect_result(std::string_view text);

} // namespace ew::sandbox

// Finds the listeners of a local socket with the help of the kernel (sock_diag(7)). Neither a file
// nor an abstract name says in which sandbox its listener runs; the listener's network namespace
// and descriptors do.
#pragma once

#include "base/unique_fd.h"
#include "sandbox/supervise/caller.h"

#include <sys/types.h>

#include <cstdint>
#include <string_view>

namespace ew::sandbox {

// Does a process of the caller's sandbox listen on the socket file that `socket` (O_PATH) names?
// `server` is the process from which all sandboxes descend. The caller of this function must not be
// a loop, since it waits for the answer. Also returns false if the answer cannot be found.
bool is_listened_inside(const Caller& caller, int socket, pid_t server);

// An abstract name (unix(7)). The kernel keeps the names of different types apart.
struct AbstractName {
    std::string_view name; // the bytes after the first NUL
    int type = 0;          // SOCK_STREAM, …
};

// Who listens on an abstract name?
struct NameOwner {
    enum class Kind : std::uint8_t {
        nobody,
        sandbox, // a process of the caller's sandbox
        other,   // or it cannot be found out
    };

    Kind kind = Kind::other;
    UniqueFd listener = {}; // of the sandbox: while it is open, the name is not free
};

// For a caller in the network of this process; `server` as above.
NameOwner find_owner(const Caller& caller, const AbstractName& name, pid_t server);

} // namespace ew::sandbox

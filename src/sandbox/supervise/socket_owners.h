// Finds the listeners of a socket file with the help of the kernel (sock_diag(7)). A file does not
// say in which sandbox its listener runs; the listener's network namespace and descriptors do.
#pragma once

#include "sandbox/supervise/caller.h"

#include <sys/types.h>

namespace ew::sandbox {

// Does a process of the caller's sandbox listen on the socket file that `socket` (O_PATH) names?
// `server` is the process from which all sandboxes descend. The caller of this function must not be
// a loop, since it waits for the answer. Also returns false if the answer cannot be found.
bool is_listened_inside(const Caller& caller, int socket, pid_t server);

// Moves this process, which must have one thread, into that network namespace (/proc/PID/ns/net),
// and if its rights require it into the user namespace that owns it; it cannot go back. Returns
// false if that is not permitted; then it may be in the user namespace all the same.
bool enter_network(int network);

} // namespace ew::sandbox

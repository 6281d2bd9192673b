// Who listens on a socket file, as the kernel tells it (sock_diag(7)). A file says nothing about
// the sandbox its listener lives in; the listener's network namespace and descriptors do.
#pragma once

#include "sandbox/supervise/caller.h"

#include <sys/types.h>

namespace ew::sandbox {

// Does a process of the caller's sandbox listen on the socket file that `socket` (O_PATH) stands
// for? `server` is the process from which all sandboxes descend, and one that waits for this answer
// without a loop: it takes a while. False also when that cannot be found out.
bool is_listened_inside(const Caller& caller, int socket, pid_t server);

// Puts this process, which must have one thread, into that network namespace (/proc/PID/ns/net),
// and where that takes its rights into the user namespace that owns it: there is no way back.
// False: it may not; it may be in that user namespace all the same.
bool enter_network(int network);

} // namespace ew::sandbox

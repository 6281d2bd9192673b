// Root owns the machine's device nodes, inside a sandbox too, and bubblewrap shows the very nodes:
// what is to be kept from there are their modes, owners and times. Writing to a device is no
// matter of its node.
#pragma once

#include "base/result.h"
#include "base/unique_fd.h"

namespace ew::sandbox {

// In a process that is to become bubblewrap as user 0: moves it into a mount namespace of its own,
// in which the nodes that bubblewrap shows (bwrap(1), --dev) are read-only mounts. bubblewrap's
// mounts of them inherit that, and its user namespace locks it (mount_namespaces(7)). It can be
// entered again by others (setns(2)), so it is made once. Errors: this is not allowed, as without
// CAP_SYS_ADMIN. Then all may be as it was.
Result<void> guard_devices();

// The namespace that this process is in, for enter_guarded(). Empty: it cannot be had.
UniqueFd own_mounts();

// False: it cannot be entered.
bool enter_guarded(int mounts);

// A standard descriptor on such a node is opened anew, since a change through an open descriptor
// asks the mount that it was opened on.
Result<void> open_stdio_anew();

} // namespace ew::sandbox

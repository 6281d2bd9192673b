// Root owns the machine's device nodes, inside a sandbox too, and bubblewrap shows the same nodes.
// Root in a sandbox must not change their modes, owners and times. Writing to a device does not
// change its node.
#pragma once

#include "base/result.h"
#include "base/unique_fd.h"

namespace ew::sandbox {

// Moves a process that is to become bubblewrap as user 0 into a mount namespace of its own, in
// which the nodes that bubblewrap shows (bwrap(1), --dev) are read-only mounts. bubblewrap's mounts
// of them inherit that, and its user namespace locks it (mount_namespaces(7)). Other processes can
// enter the namespace later (setns(2)), so it is made once. Errors: the mounts are not permitted,
// as without CAP_SYS_ADMIN; then nothing may have changed.
Result<void> guard_devices();

// Returns the mount namespace of this process, for enter_guarded(); empty if it cannot be opened.
UniqueFd own_mounts();

// Returns false if the namespace cannot be entered.
bool enter_guarded(int mounts);

// Opens each standard descriptor on such a node anew, since a change through an open descriptor
// checks the mount that it was opened on.
Result<void> open_stdio_anew();

} // namespace ew::sandbox

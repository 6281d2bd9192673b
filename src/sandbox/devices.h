// Root owns the machine's device nodes, inside a sandbox too, and bubblewrap shows the very nodes:
// what is to be kept from there are their modes, owners and times. Writing to a device is no
// matter of its node.
#pragma once

#include "base/result.h"

namespace ew::sandbox {

// In a process that is to become bubblewrap as user 0, with descriptors 0 to 2 in place: moves it
// into a mount namespace of its own, in which the nodes that bubblewrap shows (bwrap(1), --dev) are
// read-only mounts. bubblewrap's mounts of them inherit that, and its user namespace locks it
// (mount_namespaces(7)). A standard descriptor on such a node is opened anew, since a change
// through an open descriptor asks the mount that it was opened on. Errors: this is not allowed, as
// without CAP_SYS_ADMIN. Then all may be as it was.
Result<void> guard_devices();

} // namespace ew::sandbox

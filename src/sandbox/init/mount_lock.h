// Locks what covers what. When a mount namespace ends, the kernel takes its mounts apart, and a
// directory that is still open somewhere then shows what a mount had covered: a command could hand
// such a directory to another one and end. The kernel keeps together what a more privileged
// namespace has mounted (mount_namespaces(7)), so a sandbox runs in a copy of its mounts that
// belongs to a user namespace of its own.
#pragma once

namespace ew::sandbox::init {

// Moves this process, which must have one thread, into that copy. The ids of the user and the group
// stay as they are; no further user namespace can be made. `proc`: a /proc that can be written to
// and shows this process. Afterwards this process has all capabilities in its user namespace.
// Returns 0 or errno.
int lock_mounts(int proc);

} // namespace ew::sandbox::init

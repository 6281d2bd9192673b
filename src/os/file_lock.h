// Locks between processes (flock(2)). A lock ends when the last descriptor of the open file is
// closed.
#pragma once

#include "base/clock.h"

namespace ew::os {

// Takes LOCK_SH or LOCK_EX on an open file, and retries while another process holds the lock.
// Returns false and sets errno: EWOULDBLOCK after `patience`, another error if the file system has
// no locks. This function sleeps, so the server's loop must not call it.
bool lock_within(int fd, int operation, Millis patience);

} // namespace ew::os

// Locks between processes (flock(2)): they go with the last descriptor of the open file.
#pragma once

#include "base/clock.h"

namespace ew::os {

// LOCK_SH or LOCK_EX on an open file, tried again as long as another process has it. False, with
// errno: EWOULDBLOCK if it was not let go in time; the file system may have no locks at all. It
// sleeps, so it is not for the server's loop.
bool lock_within(int fd, int operation, Millis patience);

} // namespace ew::os

// A descriptor that always refers to the same process (pidfd_open(2)).
#pragma once

#include "base/unique_fd.h"

#include <sys/types.h>

namespace ew::os {

// Opens the process that has the number `pid` now. This is surely the intended process only if it
// is a child that nobody has reaped yet. Returns an empty descriptor and sets errno if the process
// is gone, or if there are no more descriptors.
UniqueFd open_pidfd(pid_t pid);

// Ignores the kernel's result: if the process has ended, nothing is left to do.
void signal_by_pidfd(int pidfd, int signal);

} // namespace ew::os

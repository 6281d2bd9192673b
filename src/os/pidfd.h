// A descriptor of a process, by which no other one is ever meant (pidfd_open(2)).
#pragma once

#include "base/unique_fd.h"

#include <sys/types.h>

namespace ew::os {

// Of the process whose number `pid` is now: surely the one that was meant only if it is a child
// that nobody has reaped yet. Empty, with errno: it is gone, or there are no more descriptors.
UniqueFd open_pidfd(pid_t pid);

// The kernel's answer is of no interest: what has ended is as wanted.
void signal_by_pidfd(int pidfd, int signal);

} // namespace ew::os

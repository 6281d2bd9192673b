// Process 1 of the sandbox's pid namespace: reaps orphans, reports how the command ended, and then
// ends. With it the sandbox ends, since the kernel kills all other processes with the first one.
#pragma once

#include <sys/types.h>

namespace ew::sandbox::init {

// Closes all descriptors except wire::end_fd.
[[noreturn]] void look_after(pid_t command);

// hold_signals() is called before the fork: it blocks SIGTERM and SIGCHLD until look_after() takes
// them. The child unblocks them with release_signals().
void hold_signals();
void release_signals();

} // namespace ew::sandbox::init

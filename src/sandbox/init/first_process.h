// Process 1 of the sandbox's pid namespace: reaps what is orphaned, tells how the command ended,
// and ends the sandbox with it, since the kernel kills all others with the first process.
#pragma once

#include <sys/types.h>

namespace ew::sandbox::init {

// Keeps nothing but wire::end_fd open.
[[noreturn]] void look_after(pid_t command);

// SIGTERM and SIGCHLD are kept from before the fork until look_after() asks for them; the child
// lets go of them.
void hold_signals();
void release_signals();

} // namespace ew::sandbox::init

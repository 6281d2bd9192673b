// Forks without an exec: whether there can be one, and the first steps of the new process.
#pragma once

#include "base/result.h"

#include <sys/types.h>

#include <csignal>
#include <vector>

namespace ew::os {

// Makes a process that ends at once, which takes a fraction of the time of a fork. Errors: a fork
// would fail now, as at a limit of processes.
Result<void> try_fork();

// Makes the kernel send `signal` to this process when its parent ends. Returns false if the parent
// has already ended.
bool dies_with(pid_t parent, int signal = SIGKILL);

// Restores the signal state that a program expects: no signal is blocked, SIGPIPE kills.
void reset_signals();

// Closes every descriptor from 3 on except those in `kept`.
void close_all_but(std::vector<int> kept);

} // namespace ew::os

// The keeper: the process that the client started. It only waits, so that the worker's programs do
// not outlive the worker.
#pragma once

#include <sys/types.h>

namespace ew {

// Closes everything but stderr, forwards signals to the worker, and kills what the worker leaves
// behind. Never returns: exits with the worker's status, or 70 if the worker was killed.
[[noreturn]] void keep(pid_t worker);

// Makes this process the worker of `keeper`. With `is_in_foreground` it stays in the process group,
// so that it may read from its terminal. Exits if the keeper is already gone.
void become_worker(pid_t keeper, bool is_in_foreground);

} // namespace ew

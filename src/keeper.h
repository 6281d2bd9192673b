// The keeper: the process the client knows. It only waits, so that nothing survives the worker, and
// the worker's programs do not survive it.
#pragma once

#include <sys/types.h>

namespace ew {

// Closes everything but stderr, passes signals on to the worker, and when that is gone kills what
// it left. Never returns: exits with the worker's status, or 70 if the worker was killed.
[[noreturn]] void keep(pid_t worker);

// Makes this process the worker of `keeper`. With `is_in_foreground` it stays in the process group,
// so that it may read from the terminal it was started at. Exits if the keeper has gone already.
void become_worker(pid_t keeper, bool is_in_foreground);

} // namespace ew

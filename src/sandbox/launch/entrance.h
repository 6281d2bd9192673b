// The way of a start into the namespaces of its session, in place of bubblewrap.
#pragma once

#include "sandbox/launch/namespaces.h"
#include "sandbox/plan/plan.h"
#include "sandbox/policy/machine.h"

#include <sys/types.h>

namespace ew::sandbox {

// Enters the namespaces of users, and of networks if the plan has one of its own; makes namespaces
// of mounts, processes, IPC, host name and control groups; forks. The child is the first process of
// the sandbox: it makes the mounts, drops all capabilities and executes execward-init. This process
// becomes the one that the server waits for: it ends as the first process does, and the first
// process dies with it. Descriptors are as for bubblewrap (wire.h). Errors are reported. Never
// returns.
[[noreturn]] void enter(const Namespaces& namespaces, const Plan& plan, const Machine& machine,
                        pid_t server);

} // namespace ew::sandbox

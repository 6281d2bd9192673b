// The way of a start into the namespaces of its session, in place of bubblewrap.
#pragma once

#include "sandbox/aftermath/look_journal.h"
#include "sandbox/launch/namespaces.h"
#include "sandbox/plan/plan.h"
#include "sandbox/policy/machine.h"

#include <sys/types.h>

#include <optional>

namespace ew::sandbox {

struct Entrance {
    const Plan& plan;
    const Machine& machine;
    std::optional<HeldLook> look; // to be done when everything in the sandbox has ended
};

// A fork enters the namespaces of users, and of networks if the plan has one of its own; makes
// namespaces of mounts, processes, IPC, host name and control groups; and makes another child of
// this process: the first process of the sandbox, which makes the mounts, drops all capabilities
// and goes on as execward-init does (init/run.h). This process stays outside. It is the one that
// the server waits for: it waits for the first process, looks at what the command has left, tells
// the server through wire::end_fd (wire::look_mark), and ends as the first process did, which dies
// with it. Descriptors are as for bubblewrap (wire.h). Errors are reported. Never returns.
[[noreturn]] void enter(const Namespaces& namespaces, Entrance entrance, pid_t server);

} // namespace ew::sandbox

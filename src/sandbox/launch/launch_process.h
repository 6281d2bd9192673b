// The process that carries a launch out: execward-init, since a fork of the server is a large
// process; or such a fork where there is no execward-init.
#pragma once

#include "base/result.h"
#include "sandbox/launch/launch_child.h"

#include <sys/types.h>

namespace ew::sandbox {

// Names execward's own programs in the order's context. Returns the pid. Errors: no more processes
// or descriptors; execward-init cannot be executed.
Result<pid_t> begin_child(LaunchOrder& order, const ChildDescriptors& descriptors, pid_t server);

} // namespace ew::sandbox

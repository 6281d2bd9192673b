// What a supervisor is to know of a policy.
#pragma once

#include "sandbox/machine.h"
#include "sandbox/policy.h"
#include "sandbox/supervisor.h"

namespace ew::sandbox {

// Nothing is looked up on the disk: paths are taken as they were written, with what the policy
// protects by its name.
SupervisorSettings supervision_of(const Policy& policy, const Context& context,
                                  const Machine& machine);

} // namespace ew::sandbox

// What a supervisor is to know of a policy.
#pragma once

#include "sandbox/policy/machine.h"
#include "sandbox/policy/policy.h"
#include "sandbox/supervise/supervisor.h"

namespace ew::sandbox {

// Nothing is looked up on the disk: paths are taken as they were written, with what the policy
// protects by its name.
SupervisorSettings supervision_of(const Policy& policy, const Context& context,
                                  const Machine& machine);

} // namespace ew::sandbox

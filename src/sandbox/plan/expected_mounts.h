// What execward-init has to find in the sandbox, as it is outside now: between a look at a path and
// mount(2), which takes a path too, another program that may write there can exchange a directory
// for a link. So the places are known by device and inode from here on.
#pragma once

#include "base/result.h"
#include "sandbox/plan/init_order.h"
#include "sandbox/plan/plan.h"
#include "sandbox/policy/machine.h"

namespace ew::sandbox {

// Once the placeholders of the plan have been made. `order.writable` has to be complete.
// Errors: sandbox_unavailable: something is not where the plan has found it.
Result<void> expect_mounts(const Plan& plan, const Machine& machine, InitOrder& order);

} // namespace ew::sandbox

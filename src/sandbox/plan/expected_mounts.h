// The files that execward-init must find in the sandbox, as they are outside now. Between a look at
// a path and mount(2), which takes a path too, another program that may write there can exchange a
// directory for a link. So from here on the files are identified by device and inode.
#pragma once

#include "base/result.h"
#include "sandbox/plan/init_order.h"
#include "sandbox/plan/plan.h"
#include "sandbox/policy/machine.h"

namespace ew::sandbox {

// To be called when the placeholders of the plan have been made and `order.writable` is complete.
// Errors: sandbox_unavailable: a path is not what the plan has found.
Result<void> expect_mounts(const Plan& plan, const Machine& machine, InitOrder& order);

} // namespace ew::sandbox

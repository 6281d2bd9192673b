// Why a command cannot be confined as it must, for a person.
#pragma once

#include "base/error.h"
#include "sandbox/policy/machine.h"

namespace ew::sandbox {

// Kind sandbox_unavailable. Names each missing guarantee, what stands in the way on this machine,
// and the way out.
Error refusal(const Machine& machine, GuaranteeSet missing);

} // namespace ew::sandbox

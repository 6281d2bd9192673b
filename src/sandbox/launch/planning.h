// The plan of one start, with the rights that its command has.
#pragma once

#include "sandbox/launch/launch.h"
#include "sandbox/plan/plan.h"

#include <string>

namespace ew::sandbox {

// `unguarded`: why the machine's devices cannot be kept as they are; empty: they are. Refuses the
// start if its policy cannot be kept.
Plan plan_for(const LaunchOrder& launch, const std::string& unguarded);

} // namespace ew::sandbox

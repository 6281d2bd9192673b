// A plan as bubblewrap's command line (bwrap(1)).
#pragma once

#include "sandbox/plan/plan.h"
#include "sandbox/policy/machine.h"

#include <string>
#include <string_view>
#include <vector>

namespace ew::sandbox {

// Returns the arguments of bubblewrap before "--", for this plan on this machine. The order to
// execward-init names the command and its directory; execward-init is at init_path inside.
constexpr std::string_view init_path = "/dev/execward-init";
std::vector<std::string> bubblewrap_arguments(const Plan& plan, const Machine& machine);

} // namespace ew::sandbox

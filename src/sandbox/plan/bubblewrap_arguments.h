// A plan as bubblewrap's command line (bwrap(1)).
#pragma once

#include "sandbox/plan/plan.h"
#include "sandbox/policy/machine.h"

#include <string>
#include <string_view>
#include <vector>

namespace ew::sandbox {

// The arguments of bubblewrap before "--", for exactly this plan on this machine. The command and
// its directory are told to execward-init, which is put at init_path inside.
constexpr std::string_view init_path = "/dev/execward-init";
std::vector<std::string> bubblewrap_arguments(const Plan& plan, const Machine& machine);

} // namespace ew::sandbox

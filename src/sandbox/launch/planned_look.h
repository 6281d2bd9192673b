// The look at what is there before a command starts (aftermath/aftermath.h), in the process that
// becomes the sandbox.
#pragma once

#include "sandbox/plan/plan.h"

#include <string>

namespace ew::sandbox {

// Hands the look over to the server, which looks again when the command has ended. Refuses the
// launch if it cannot be noted. `placeholders`: the journal of placeholders.
void look_before(const Plan& plan, const std::string& placeholders);

// Finishes the looks of servers that were killed, and tells what was moved.
void finish_looks_of_others(const std::string& placeholders);

} // namespace ew::sandbox

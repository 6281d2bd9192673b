// The look at what is there before a command starts (aftermath/aftermath.h), in the process that
// becomes the sandbox.
#pragma once

#include "sandbox/aftermath/look_journal.h"
#include "sandbox/plan/plan.h"

#include <optional>
#include <string>

namespace ew::sandbox {

// Hands the look over to the server, and returns it, for another look when the command has ended.
// Returns nullopt if there is nothing to look at. Refuses the launch if it cannot be noted.
// `placeholders`: the journal of placeholders.
std::optional<HeldLook> look_before(const Plan& plan, const std::string& placeholders);

// Finishes the looks of servers that were killed, and tells what was moved.
void finish_looks_of_others(const std::string& placeholders);

} // namespace ew::sandbox

// Makes the placeholders that a plan needs, in the process that becomes the sandbox, and hands them
// over to the server.
#pragma once

#include "base/result.h"
#include "sandbox/plan/plan.h"

#include <string>

namespace ew::sandbox {

// Refuses the launch if there are too many, or if there is no journal for one that is missing.
// Errors: a path has changed since the plan was made.
Result<void> make_placeholders(const Plan& plan, const std::string& journal);

// Turns an error of a journal into one that says that the command was not run.
Error not_noted(Error error);

// There is no state directory, and this start needs one.
[[noreturn]] void refuse_without_journal();

} // namespace ew::sandbox

// The mounts of one start, made of its plan. For the first process of a sandbox, in a mount
// namespace of its own that is a copy of a session's (namespaces.h): it does not return after an
// error, but reports it and leaves.
#pragma once

#include "sandbox/plan/plan.h"
#include "sandbox/policy/machine.h"

#include <string>

namespace ew::sandbox {

// Makes the root at new_root_path, and makes it the root of the file system for every process of
// the namespace. `terminal` is the path of the program's terminal, or empty. Directories of the
// command's own come from the session if the plan lets it write there.
void make_mounts(const Plan& plan, const Machine& machine, const std::string& terminal);

} // namespace ew::sandbox

// Removes the placeholders of a sandbox (launch/placeholders.h) in a process of its own.
#pragma once

#include "base/clock.h"
#include "base/result.h"
#include "os/errand.h"
#include "sandbox/launch/placeholders.h"

#include <string>
#include <vector>

namespace ew::sandbox {

// The owner watches the errand and drops it when it is done or late. Errors: no more processes or
// descriptors; the placeholders then stay until sweep() finds them.
Result<os::Errand> begin_placeholder_cleanup(std::vector<Placeholder> placeholders,
                                             const std::string& journal, TimePoint now);

} // namespace ew::sandbox

// Takes away what held places for a sandbox (sandbox/launch/placeholders.h), in a process of its
// own.
#pragma once

#include "base/clock.h"
#include "os/errand.h"
#include "sandbox/launch/placeholders.h"

#include <optional>
#include <string>
#include <vector>

namespace ew::server {

// Absent: there is nothing to take away, or it stays until the next start, which is logged. The
// owner watches the errand and lets it go when it is done or late.
std::optional<os::Errand> begin_placeholder_cleanup(std::vector<sandbox::Placeholder> places,
                                                    const std::string& journal, TimePoint now);

} // namespace ew::server

// Removes the placeholders of a sandbox (launch/placeholders.h) and looks at what its command has
// left (aftermath/aftermath.h), in a process of its own.
#pragma once

#include "base/clock.h"
#include "base/result.h"
#include "os/errand.h"
#include "sandbox/aftermath/aftermath.h"
#include "sandbox/aftermath/look_journal.h"
#include "sandbox/launch/placeholders.h"

#include <optional>
#include <string>
#include <vector>

namespace ew::sandbox {

struct Leftovers {
    std::vector<Placeholder> placeholders = {};
    std::optional<HeldLook> look = {};

    bool empty() const { return placeholders.empty() && !look; }
};

// Does the work here, and may wait for the disk.
std::vector<SetAside> clean_up(Leftovers leftovers, const std::string& journal);

// The owner watches the errand and drops it when it is done or late. Its result is for
// decode_set_aside(). Errors: no more processes or descriptors; the next start then sweeps.
Result<os::Errand> begin_cleanup(Leftovers leftovers, const std::string& journal, TimePoint now);

} // namespace ew::sandbox

// The namespaces of the session, as a start gets them.
#pragma once

#include "sandbox/launch/launch.h"
#include "sandbox/launch/namespaces.h"

#include <array>

namespace ew::sandbox {

// Where a start keeps the namespaces of its order: users, mounts, network.
constexpr std::array<int, 3> namespace_fds = {8, 9, 10};

// Returns those of the order, which are at namespace_fds, or new ones, which the server keeps for
// further starts. None exist if this machine cannot share them: then bubblewrap makes them for this
// start alone. Errors are reported, and end this process.
Namespaces namespaces_for(const LaunchOrder& launch);

} // namespace ew::sandbox

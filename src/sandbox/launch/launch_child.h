// The other half of a launch: what the forked process does until it is bubblewrap. It has one
// thread and memory of its own, so it may allocate and wait.
#pragma once

#include "sandbox/launch/launch.h"

#include <sys/types.h>

namespace ew::sandbox {

struct ChildDescriptors {
    const int* stdio = nullptr; // three, which become 0, 1 and 2
    int status = -1;
    int end = -1;
    int lifeline = -1; // a pipe that the server holds the other end of
};

// What goes wrong is told through `status`. Never returns.
[[noreturn]] void launch_child(const LaunchOrder& order, const ChildDescriptors& descriptors,
                               pid_t server);

} // namespace ew::sandbox

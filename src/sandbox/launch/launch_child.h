// The child's half of a launch. It has one thread and memory of its own, so it may allocate and
// wait.
#pragma once

#include "sandbox/launch/launch.h"

#include <sys/types.h>

#include <array>

namespace ew::sandbox {

struct ChildDescriptors {
    std::array<int, 3> stdio = {-1, -1, -1}; // become 0, 1 and 2
    int status = -1;
    int end = -1;
    int lifeline = -1; // a pipe whose other end the server holds
};

// Reports errors through `status`. Never returns.
[[noreturn]] void launch_child(const LaunchOrder& order, const ChildDescriptors& descriptors,
                               pid_t server);

} // namespace ew::sandbox

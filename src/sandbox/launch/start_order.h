// What a launch is to do, as bytes for the process that carries it out. Written and read by the
// same build on the same machine.
#pragma once

#include "sandbox/launch/launch.h"
#include "sandbox/launch/launch_child.h"

#include <sys/types.h>

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace ew::sandbox {

struct StartOrder {
    LaunchOrder launch = {}; // points to `namespaces` if they exist
    Namespaces namespaces = {};
    ChildDescriptors descriptors = {};
    pid_t server = 0;
};

// The descriptors travel beside the bytes (start_process.h), which name them by their places in
// `passed`.
struct EncodedStart {
    std::string bytes = {};
    std::vector<int> passed = {};
};

constexpr std::size_t most_order_descriptors = 16;

// Of the terminal and of stdin, only what the process needs is kept.
EncodedStart encode(const LaunchOrder& launch, const ChildDescriptors& descriptors, pid_t server);

// Returns null if the bytes are not of this build, or incomplete.
std::unique_ptr<StartOrder> decode_start(const EncodedStart& received);

// Waits for an order at this end of a socket (start_process.h), but not long. Returns null if there
// is none, or if it is not of this build.
std::unique_ptr<StartOrder> receive_start(int orders);

} // namespace ew::sandbox

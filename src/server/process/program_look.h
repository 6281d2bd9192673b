// What a wait for a port or for input finds out about its program.
#pragma once

#include "base/clock.h"
#include "server/process/until_watch.h"

namespace ew::server {

struct Process;

// What a look is to find out.
struct WantedLook {
    bool ports = false;
    bool input = false;

    bool is_empty() const { return !ports && !input; }
};

// Requires a running process.
UntilWatch::Look look_at_program(Process& process, WantedLook wanted, TimePoint now);

} // namespace ew::server

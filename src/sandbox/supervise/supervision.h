// What a supervisor is to know of a policy.
#pragma once

#include "base/clock.h"
#include "sandbox/policy/machine.h"
#include "sandbox/policy/policy.h"

#include <string>
#include <vector>

namespace ew::sandbox {

struct SupervisorSettings {
    bool is_network_off = true;
    bool has_own_network = true; // a network namespace: loopback is the sandbox's own
    bool has_mounts = true;      // a socket file may be reached where its mount is writable
    // All roots of what may be written, as far as they are known by name. Socket files without
    // mounts: below these. Refused changes of files: told of what lies elsewhere,
    std::vector<std::string> writable = {};
    std::vector<std::string> read_only = {};  // or in here: see FilePlaces
    std::vector<std::string> own = {};        // and never of what is in here
    std::vector<std::string> shared_tmp = {}; // writable, but the sockets in them are the machine's
    Millis patience{5000};                    // for one connect to a socket file
};

// Nothing is looked up on the disk: paths are taken as they were written, with what the policy
// protects by its name.
SupervisorSettings supervision_of(const Policy& policy, const Context& context,
                                  const Machine& machine);

} // namespace ew::sandbox

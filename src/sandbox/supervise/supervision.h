// The facts about a policy that a supervisor needs.
#pragma once

#include "base/clock.h"
#include "sandbox/policy/machine.h"
#include "sandbox/policy/policy.h"
#include "sandbox/supervise/known_mounts.h"

#include <string>
#include <vector>

namespace ew::sandbox {

struct SupervisorSettings {
    bool is_network_off = true;
    bool has_own_network = true; // a network namespace: loopback is the sandbox's own
    bool has_hosts = false;      // the network is by host: without a gateway nothing is reached
    bool has_mounts = true;      // a socket file is reachable if its mount is one of `mounts`
    KnownMounts mounts = {};     // to be filled in when the sandbox has started
    // All writable roots whose names are known. Without mounts, socket files below these are
    // reachable. Refused changes of files outside of them are reported: see FilePlaces.
    std::vector<std::string> writable = {};
    std::vector<std::string> read_only = {};  // refused changes in these are reported too
    std::vector<std::string> own = {};        // refused changes in these are not reported
    std::vector<std::string> shared_tmp = {}; // writable, but with the machine's sockets
    std::string home = {};                    // the home directory, which is never offered
    bool reports_changes = true;              // refused changes of files are denials
    int look = -1; // borrowed: the record (aftermath/look_journal.h) of what is protected; -1: none
    Millis patience{5000}; // for one connect to a socket file
};

// Looks nothing up on the disk: takes paths as written, and protected paths by their names.
SupervisorSettings supervision_of(const Policy& policy, const Context& context,
                                  const Machine& machine);

} // namespace ew::sandbox

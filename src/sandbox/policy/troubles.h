// Diagnoses why a sandbox could not be built: which mechanism this machine lacks, and how a person
// gets it.
#pragma once

#include "base/result.h"
#include "sandbox/policy/machine.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace ew::sandbox {

// The facts that the advice depends on.
struct Surroundings {
    bool is_root = false;
    bool restricts_namespaces = false; // AppArmor, for programs without a profile (Ubuntu 23.10 on)
    bool forbids_namespaces = false;   // kernel.unprivileged_userns_clone is 0 (Debian)
    bool has_no_namespaces = false;    // user.max_user_namespaces is 0
    bool is_filtered = false;          // a seccomp filter around us, as in a container
    bool is_container = false;

    static Surroundings look();
};

struct Diagnosis {
    enum class Loss : std::uint8_t {
        mounts,
        proc,
        network_namespace,
        landlock,
        filter, // the notifications first, then the filter itself
        everything,
    };

    Loss loss = Loss::everything;
    Trouble trouble = {};
};

// `said` is the message of a failed start, including that of bubblewrap or the kernel. Returns
// nullopt if no known cause matches.
std::optional<Diagnosis> diagnose(std::string_view said, const Surroundings& surroundings);

// Returns true if the machine or the user had no processes, descriptors or memory left. That says
// nothing about what the machine can enforce.
bool is_exhaustion(int error_number);
bool tells_of_exhaustion(std::string_view said);

// Returns why nothing is known about the machine after a trial that was exhausted so, or nullopt.
std::optional<Error> exhaustion_of_trial(const Machine& machine);

// Landlock is not available; takes the errno of landlock_create_ruleset(2).
Trouble landlock_trouble(int error_number, const Surroundings& surroundings);

// The trouble with that mechanism, with the message and the advice.
Trouble trouble_with(std::string_view mechanism, std::string said,
                     const Surroundings& surroundings);

} // namespace ew::sandbox

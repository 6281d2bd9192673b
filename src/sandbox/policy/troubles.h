// What it means that a sandbox could not be built: which part of it this machine does not have, and
// how a person gets it.
#pragma once

#include "sandbox/policy/machine.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace ew::sandbox {

// What the advice depends on.
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
        filter, // of its two parts first the notifications
        everything,
    };

    Loss loss = Loss::everything;
    Trouble trouble = {};
};

// `said`: the message of a failed start, with what bubblewrap or the kernel said in it. Absent:
// nobody knows.
std::optional<Diagnosis> diagnose(std::string_view said, const Surroundings& surroundings);

// Landlock cannot be asked for: the errno of landlock_create_ruleset(2).
Trouble landlock_trouble(int error_number, const Surroundings& surroundings);

// With that mechanism, and what was said.
Trouble trouble_with(std::string_view mechanism, std::string said,
                     const Surroundings& surroundings);

} // namespace ew::sandbox

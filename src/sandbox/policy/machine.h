// The abilities of this machine, as found by trial (trial.h).
#pragma once

#include "sandbox/policy/guarantees.h"
#include "sandbox/policy/policy.h"

#include <string>
#include <string_view>
#include <vector>

namespace ew::sandbox {

// Why the machine lacks a mechanism, and the way out.
struct Trouble {
    std::string mechanism; // "user namespaces", "bubblewrap", "landlock", "seccomp", "/proc", …
    std::string step;      // the step that failed, with the message of the kernel or bubblewrap
    std::string advice;    // one line; empty: no advice is known

    bool operator==(const Trouble&) const = default;
};

struct Machine {
    std::string bubblewrap = {};    // absolute path of the program; empty: none can be trusted
    std::string init = {};          // absolute path of execward-init; empty: missing or not ours
    bool has_mounts = false;        // user, mount, pid, ipc, uts namespaces
    bool has_proc = false;          // a /proc of its own
    bool shares_namespaces = false; // starts may enter the namespaces of a session
    bool has_network_namespace = false;
    int landlock = 0;        // ABI version; 0: none
    bool has_filter = false; // seccomp
    bool has_notify = false; // seccomp user notification
    bool takes_size = false; // bubblewrap can limit the size of a private directory
    bool is_root = false;    // of the server: effective uid 0
    // Guarantees that failed in the trial although the mechanism exists; never given.
    GuaranteeSet broken = {};
    std::vector<Trouble> troubles = {};

    bool operator==(const Machine&) const = default;
};

// Names of mechanisms for Trouble.
namespace mechanism {

constexpr std::string_view bubblewrap = "bubblewrap";
constexpr std::string_view init = "execward-init";
constexpr std::string_view user_namespaces = "user namespaces";
constexpr std::string_view proc = "/proc";
constexpr std::string_view network_namespace = "network namespace";
constexpr std::string_view landlock = "landlock";
constexpr std::string_view filter = "seccomp";
constexpr std::string_view notify = "seccomp notification";
constexpr std::string_view sandbox = "sandbox"; // it was built, but does not keep its guarantees

} // namespace mechanism

// Returns the guarantees that this machine gives to programs with that network; net_off only with a
// restricted network.
GuaranteeSet given_by(const Machine& machine, Network network);

// Returns the mechanisms that keep a guarantee: "mounts, Landlock". Returns an empty string if none
// does.
std::string means_for(const Machine& machine, Network network, Guarantee guarantee);

// A name for a person and for `doctor`: "full", "mounts", "landlock", "landlock-old", "none".
std::string_view rung_of(const Machine& machine);

} // namespace ew::sandbox

// What this machine can enforce, as found by trial (trial.h).
#pragma once

#include "sandbox/policy/guarantees.h"
#include "sandbox/policy/policy.h"

#include <string>
#include <string_view>
#include <vector>

namespace ew::sandbox {

// Why something cannot be had, and the way out.
struct Trouble {
    std::string mechanism; // "user namespaces", "bubblewrap", "landlock", "seccomp", "/proc", …
    std::string step;      // what was tried, with what the kernel or bubblewrap said
    std::string advice;    // one line; empty: none is known

    bool operator==(const Trouble&) const = default;
};

struct Machine {
    std::string bubblewrap = {}; // absolute path of the program; empty: none that can be trusted
    std::string init = {};       // absolute path of execward-init; empty: missing or not ours
    bool has_mounts = false;     // user, mount, pid, ipc, uts namespaces
    bool has_proc = false;       // a /proc of its own
    bool has_network_namespace = false;
    int landlock = 0;        // ABI version; 0: none
    bool has_filter = false; // seccomp
    bool has_notify = false; // seccomp user notification
    bool takes_size = false; // bubblewrap can limit the size of a private directory
    bool is_root = false;    // of the server: effective uid 0
    // Seen to be broken although the mechanism for it is there; never promised.
    GuaranteeSet broken = {};
    std::vector<Trouble> troubles = {};

    bool operator==(const Machine&) const = default;
};

// Why what a trial has to build on is not there: its mechanism, such as "landlock".
namespace mechanism {

constexpr std::string_view bubblewrap = "bubblewrap";
constexpr std::string_view init = "execward-init";
constexpr std::string_view user_namespaces = "user namespaces";
constexpr std::string_view proc = "/proc";
constexpr std::string_view network_namespace = "network namespace";
constexpr std::string_view landlock = "landlock";
constexpr std::string_view filter = "seccomp";
constexpr std::string_view notify = "seccomp notification";
constexpr std::string_view sandbox = "sandbox"; // it was built, and does not do what it should

} // namespace mechanism

// The promises that this machine keeps for programs with that network. With an enabled network
// net_off is not among them.
GuaranteeSet given_by(const Machine& machine, Network network);

// How a promise is kept, in a few words: "mounts, Landlock". Empty: it is not.
std::string means_for(const Machine& machine, Network network, Guarantee guarantee);

// Named for a person and for `doctor`: "full", "mounts", "landlock", "landlock-old", "none".
std::string_view rung_of(const Machine& machine);

} // namespace ew::sandbox

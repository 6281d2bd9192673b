// The namespaces that all sandboxes of a session have in common: one of users, one of mounts, whose
// tree shows the machine's files at /host and holds the session's own /tmp, and one of networks
// with nothing but loopback. No process lives in them for their own sake: they exist as long as
// these descriptors, or a program in them, and end with both.
//
// Only bubblewrap makes them, once a session, because some systems let no other program make user
// namespaces (docs/sandbox.md). Each start then makes namespaces of its own from them: see
// entrance.h.
#pragma once

#include "base/result.h"
#include "base/unique_fd.h"
#include "sandbox/init/wire.h"
#include "sandbox/policy/machine.h"

#include <cstdint>
#include <string_view>

namespace ew::sandbox {

struct Namespaces {
    UniqueFd users;
    UniqueFd mounts;
    UniqueFd network; // empty: the machine cannot make one
    // Stands for the machine's mounts at that time, if later ones do not appear in `mounts`
    // (mount_namespaces(7), "shared subtrees"); otherwise 0.
    std::uint64_t machine_mounts = 0;

    bool exist() const { return static_cast<bool>(users); }

    // They arrive one by one, that of users last.
    void take(wire::Namespace which, UniqueFd descriptor);
};

// The tree of `mounts`.
constexpr std::string_view host_path = "/host";       // the machine's files
constexpr std::string_view session_path = "/session"; // a directory in memory: what is kept
constexpr std::string_view new_root_path = "/new";    // where a start makes its root

// Returns a number for the mounts that this process sees, as in Namespaces::machine_mounts.
std::uint64_t machine_mounts();

// Waits for bubblewrap. Errors: sandbox_unavailable, with its message; no more processes.
Result<Namespaces> make_namespaces(const Machine& machine);

// Moves this process, which must have one thread, into that network namespace (/proc/PID/ns/net),
// and if its rights require it into the user namespace that owns it; it cannot go back. Returns
// false if that is not permitted; then it may be in the user namespace all the same.
bool enter_network(int network);

} // namespace ew::sandbox

// The seccomp program: which system calls a confined program may make. It is compiled from a table.
// The kernel runs it, and tests run it in an interpreter too.
#pragma once

#include <linux/filter.h>

#include <cstdint>
#include <optional>
#include <vector>

namespace ew::sandbox {

enum class Architecture : std::uint8_t { x86_64, aarch64 };

constexpr Architecture own_architecture =
#if defined(__x86_64__)
    Architecture::x86_64;
#elif defined(__aarch64__)
    Architecture::aarch64;
#else
#error "the numbers of this architecture's system calls are not known"
#endif

// The ids of the program inside.
struct OwnIds {
    std::uint32_t user = 0;
    std::uint32_t group = 0;
};

struct FilterOptions {
    bool allows_internet = true;   // socket(AF_INET*): false without a network namespace to hold it
    bool has_own_processes = true; // a pid namespace: programs may trace their own children
    bool notifies_connect = true;  // otherwise the kernel carries it out
    bool notifies_writes = false;  // opens for writing, and changes by path
    bool notifies_renames = false; // by path
    bool allows_unix_datagrams = false; // only if no socket outside can be reached with them
    bool notifies_datagrams = false;    // refused ones, so that they can be reported
    // Owners, extended attributes and inode flags; false without mounts, since Landlock does not
    // guard them. Changes of modes and times cannot be refused: every build makes them.
    bool allows_owner_changes = true;
    // In a user namespace that has no other ids. The kernel then fails with EINVAL for all others
    // (user_namespaces(7)), which programs do not expect: with this, they get the EPERM that users
    // without privileges get.
    std::optional<OwnIds> only_ids = {};
};

// At most BPF_MAXINSNS instructions. The program returns ALLOW, ERRNO, USER_NOTIF or KILL_PROCESS.
// A call that it does not name is allowed. Calls of another architecture (int $0x80) kill the
// process; x32 calls fail with ENOSYS, as on a kernel without x32, since a program may just be
// probing.
std::vector<sock_filter> make_filter(Architecture architecture, const FilterOptions& options);

} // namespace ew::sandbox

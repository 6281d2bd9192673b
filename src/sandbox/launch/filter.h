// The seccomp program: which system calls a confined program may make. Compiled from a table; the
// kernel runs it, and tests run it in an interpreter too.
#pragma once

#include <linux/filter.h>

#include <cstdint>
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

struct FilterOptions {
    bool allows_internet = true;   // socket(AF_INET*): false without a network namespace to hold it
    bool has_own_processes = true; // a pid namespace: programs may trace their own children
    bool notifies_connect = true;  // else connect(2) is left to the kernel
    bool notifies_writes = false;  // opens with intent to write, and changes by path
    bool allows_unix_datagrams = false; // only where nothing can be reached by them
    // Owners, extended attributes and inode flags; false without mounts, since Landlock does not
    // guard them. Modes and times cannot be refused: every build sets them.
    bool allows_owner_changes = true;
};

// Not longer than BPF_MAXINSNS. The program returns ALLOW, ERRNO, USER_NOTIF or KILL_PROCESS.
// A call it does not name is allowed. Calls of another architecture (int $0x80) kill the process;
// those of x32 fail with ENOSYS, as on a kernel without it, since a program may just be probing.
std::vector<sock_filter> make_filter(Architecture architecture, const FilterOptions& options);

} // namespace ew::sandbox

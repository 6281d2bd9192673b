// The mounts of a sandbox that are writable when it starts. Where mounts of the machine propagate,
// as systemd has it, what the machine mounts later appears in the sandbox too
// (mount_namespaces(7)), and nobody makes it read-only there.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <vector>

namespace ew::sandbox {

class KnownMounts {
public:
    KnownMounts() = default; // of no mount

    // `ids` as in statx(2) (STATX_MNT_ID).
    explicit KnownMounts(std::vector<std::uint64_t> ids);

    // Reads the table of the process's mount namespace. Knows no mount if it cannot be read.
    static KnownMounts of(pid_t process);

    // Is the file (a descriptor, possibly O_PATH) on one of them?
    bool has(int file) const;

private:
    std::vector<std::uint64_t> ids_; // as in mountinfo (proc_pid_mountinfo(5)), sorted
};

} // namespace ew::sandbox

#include "sandbox/launch/devices.h"

#include "base/unique_fd.h"
#include "os/io.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <array>
#include <cerrno>

namespace ew::sandbox {

namespace {

constexpr std::array<const char*, 6> nodes = {"/dev/null",   "/dev/zero",    "/dev/full",
                                              "/dev/random", "/dev/urandom", "/dev/tty"};

// In a container some flags of a mount are locked: a remount must keep them.
unsigned long flags_of(const char* path) {
    struct statvfs status = {};
    if (::statvfs(path, &status) != 0) return 0;
    unsigned long flags = 0;
    const auto keep = [&](unsigned long stated, unsigned long flag) {
        if ((status.f_flag & stated) != 0) flags |= flag;
    };
    keep(ST_NOSUID, MS_NOSUID);
    keep(ST_NODEV, MS_NODEV);
    keep(ST_NOEXEC, MS_NOEXEC);
    keep(ST_NOATIME, MS_NOATIME);
    keep(ST_NODIRATIME, MS_NODIRATIME);
    keep(ST_RELATIME, MS_RELATIME);
    return flags;
}

Result<void> make_read_only(const char* node) {
    if (::mount(node, node, nullptr, MS_BIND, nullptr) != 0) {
        if (errno == ENOENT) return {};
        return os::system_error(fmt::format("bind {}", node), errno);
    }
    const unsigned long flags = flags_of(node) | MS_BIND | MS_REMOUNT | MS_RDONLY;
    if (::mount(nullptr, node, nullptr, flags, nullptr) != 0)
        return os::system_error(fmt::format("remount {} read-only", node), errno);
    return {};
}

// Returns null if it is none of these nodes.
const char* node_of(int fd) {
    struct stat open = {};
    if (::fstat(fd, &open) != 0 || !S_ISCHR(open.st_mode)) return nullptr;
    for (const char* const node : nodes) {
        struct stat there = {};
        if (::stat(node, &there) == 0 && S_ISCHR(there.st_mode) && there.st_rdev == open.st_rdev)
            return node;
    }
    return nullptr;
}

Result<void> open_anew(int fd) {
    const char* const node = node_of(fd);
    if (node == nullptr) return {};
    const int flags = ::fcntl(fd, F_GETFL) & (O_ACCMODE | O_APPEND | O_NONBLOCK);
    const UniqueFd fresh(::open(node, flags | O_CLOEXEC | O_NOCTTY));
    if (!fresh || ::dup3(fresh.get(), fd, 0) < 0)
        return os::system_error(fmt::format("open {}", node), errno);
    return {};
}

} // namespace

Result<void> guard_devices() {
    if (::unshare(CLONE_NEWNS) != 0) return os::system_error("a mount namespace", errno);
    // Our mounts must not appear on the machine; later mounts of the machine must appear here.
    if (::mount(nullptr, "/", nullptr, MS_REC | MS_SLAVE, nullptr) != 0)
        return os::system_error("mounts of its own", errno);
    for (const char* const node : nodes)
        TRY(make_read_only(node));
    return {};
}

UniqueFd own_mounts() {
    return UniqueFd(::open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC));
}

bool enter_guarded(int mounts) {
    return mounts >= 0 && ::setns(mounts, CLONE_NEWNS) == 0;
}

Result<void> open_stdio_anew() {
    for (int fd = 0; fd < 3; ++fd)
        TRY(open_anew(fd));
    return {};
}

} // namespace ew::sandbox

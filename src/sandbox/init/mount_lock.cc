#include "sandbox/init/mount_lock.h"

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace ew::sandbox::init {

namespace {

int write_to(int proc, const char* path, const char* text) {
    const int file = ::openat(proc, path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
    if (file < 0) return errno;
    const ssize_t count = ::write(file, text, std::strlen(text));
    const int error = count < 0 ? errno : 0;
    ::close(file);
    return error;
}

int map_one(int proc, const char* path, unsigned id) {
    char line[64];
    (void)std::snprintf(line, sizeof line, "%u %u 1", id, id); // long enough for three numbers
    return write_to(proc, path, line);
}

} // namespace

int lock_mounts(int proc) {
    const uid_t user = ::geteuid();
    const gid_t group = ::getegid();
    if (::unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) return errno;
    // Needed for a map of groups (user_namespaces(7)).
    if (const int error = write_to(proc, "self/setgroups", "deny"); error != 0) return error;
    if (const int error = map_one(proc, "self/uid_map", user); error != 0) return error;
    if (const int error = map_one(proc, "self/gid_map", group); error != 0) return error;
    (void)write_to(proc, "sys/user/max_user_namespaces", "0"); // the filter refuses them, too
    return 0;
}

} // namespace ew::sandbox::init

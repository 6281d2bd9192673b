#include "server/families.h"

#include "base/unique_fd.h"
#include "os/proc.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>

namespace ew::server {

void Families::refresh(const std::vector<pid_t>& leaders) {
    for (const pid_t child : os::children_of(::getpid())) {
        const bool is_leader = std::find(leaders.begin(), leaders.end(), child) != leaders.end();
        if (is_leader || adopted_.contains(child)) continue;
        adopted_[child] = cookies_.serial_of(child).value_or(0);
    }
}

std::vector<pid_t> Families::members(std::uint64_t serial, pid_t leader) const {
    std::vector<pid_t> found;
    if (leader != 0) found = os::descendants_of(leader);
    for (const auto& [orphan, owner] : adopted_) {
        if (owner != serial || !os::is_alive(orphan)) continue;
        found.push_back(orphan);
        const std::vector<pid_t> below = os::descendants_of(orphan);
        found.insert(found.end(), below.begin(), below.end());
    }
    return found;
}

void Families::signal_member(pid_t pid, std::uint64_t serial, int signal) const {
    const UniqueFd pidfd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
    if (!pidfd) return;
    // The pidfd stays with one process; that it is the right one is checked after opening it.
    if (cookies_.limit_for(serial) && cookies_.serial_of(pid) != serial) return;
    (void)::syscall(SYS_pidfd_send_signal, pidfd.get(), signal, nullptr, 0); // gone: as wanted
}

} // namespace ew::server

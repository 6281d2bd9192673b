#include "os/pidfd.h"

#include <sys/syscall.h>
#include <unistd.h>

namespace ew::os {

UniqueFd open_pidfd(pid_t pid) {
    return UniqueFd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
}

void signal_by_pidfd(int pidfd, int signal) {
    (void)::syscall(SYS_pidfd_send_signal, pidfd, signal, nullptr, 0);
}

} // namespace ew::os

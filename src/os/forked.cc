#include "os/forked.h"

#include "os/io.h"

#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>

namespace ew::os {

namespace {

void close_between(unsigned first, unsigned last) {
    if (first > last || ::syscall(SYS_close_range, first, last, 0U) == 0) return;
    constexpr unsigned highest_looked_at = 65536; // kernels before 5.9
    for (unsigned fd = first; fd <= std::min(last, highest_looked_at); ++fd)
        (void)::syscall(SYS_close, fd); // most are not open
}

} // namespace

Result<void> try_fork() {
    alignas(16) std::array<char, 16384> stack = {};
    const pid_t child = ::clone([](void*) { return 0; }, stack.data() + stack.size(),
                                CLONE_VM | CLONE_VFORK, nullptr); // sends no signal at its end
    if (child < 0) return system_error("fork", errno);
    while (::waitpid(child, nullptr, __WALL) < 0 && errno == EINTR)
        continue;
    return {};
}

bool dies_with(pid_t parent, int signal) {
    // If the parent has ended before the prctl, the kernel never sends that signal.
    return ::prctl(PR_SET_PDEATHSIG, signal) == 0 && ::getppid() == parent;
}

void reset_signals() {
    struct sigaction action = {};
    action.sa_handler = SIG_DFL;
    (void)::sigaction(SIGPIPE, &action, nullptr); // cannot fail for this signal
    sigset_t none;
    sigemptyset(&none);
    (void)::sigprocmask(SIG_SETMASK, &none, nullptr); // cannot fail
}

void close_all_but(std::vector<int> kept) {
    std::sort(kept.begin(), kept.end());
    unsigned next = 3;
    for (const int fd : kept) {
        if (fd < static_cast<int>(next)) continue;
        close_between(next, static_cast<unsigned>(fd) - 1);
        next = static_cast<unsigned>(fd) + 1;
    }
    close_between(next, ~0U);
}

} // namespace ew::os

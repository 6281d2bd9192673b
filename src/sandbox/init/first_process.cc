#include "sandbox/init/first_process.h"

#include "sandbox/init/privileges.h"
#include "sandbox/init/report.h"
#include "sandbox/init/wire.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

namespace ew::sandbox::init {

namespace {

sigset_t held_signals() {
    sigset_t set;
    ::sigemptyset(&set);
    ::sigaddset(&set, SIGTERM);
    ::sigaddset(&set, SIGCHLD);
    return set;
}

// The status as waitpid(2) returns it.
int wait_status_of(const siginfo_t& child) {
    if (child.si_code == CLD_EXITED) return (child.si_status & 0xff) << 8;
    return child.si_status | (child.si_code == CLD_DUMPED ? WCOREFLAG : 0);
}

[[noreturn]] void end_with(const siginfo_t& command) {
    const int status = wait_status_of(command);
    // If nobody reads the pipe any more, the status is not needed.
    while (::write(wire::end_fd, &status, sizeof status) < 0 && errno == EINTR) {}
    // The status is reported, so the pid may be freed: the kernel counts the resources that a
    // child has used only once it is reaped.
    siginfo_t reaped = {};
    ::waitid(P_PID, static_cast<id_t>(command.si_pid), &reaped, WEXITED | __WALL);
    ::_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
}

// The command is not reaped here: its pid stays reserved until this process ends.
void reap(pid_t command) {
    for (;;) {
        siginfo_t child = {};
        if (::waitid(P_ALL, 0, &child, WEXITED | WNOHANG | WNOWAIT | __WALL) != 0) return;
        if (child.si_pid == 0) return;
        if (child.si_pid == command) end_with(child);
        ::waitid(P_PID, static_cast<id_t>(child.si_pid), &child, WEXITED | WNOHANG | __WALL);
    }
}

// The command may not have made its process group yet.
void terminate(pid_t command) {
    if (::kill(-command, SIGTERM) != 0) ::kill(command, SIGTERM);
}

} // namespace

void hold_signals() {
    const sigset_t held = held_signals();
    ::sigprocmask(SIG_SETMASK, &held, nullptr);
}

void release_signals() {
    sigset_t none;
    ::sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

void look_after(pid_t command) {
    close_range(0, wire::end_fd - 1);
    close_range(wire::end_fd + 1, ~0u);
    const sigset_t held = held_signals();
    for (;;) {
        reap(command);
        if (::sigwaitinfo(&held, nullptr) == SIGTERM) terminate(command);
    }
}

} // namespace ew::sandbox::init

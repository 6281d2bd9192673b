#include "cli/run/run_signals.h"

#include "base/check.h"
#include "os/proc.h"

#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdint>
#include <string>
#include <string_view>

namespace ew::cli {

namespace {

bool is_ignored(int signal) {
    struct sigaction action = {};
    return ::sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

// Returns the inode of the pid namespace of the process (pid_namespaces(7)), or 0 if the process
// has ended.
ino_t pid_namespace(const std::string& process) {
    struct stat info = {};
    return ::stat(("/proc/" + process + "/ns/pid").c_str(), &info) == 0 ? info.st_ino : 0;
}

// Returns true if the process is in sigwait(3), where its status does not name the signals that it
// waits for as blocked (proc_pid_syscall(5)).
bool waits_for_signals(pid_t process) {
    const std::string call = os::read_proc_file("/proc/" + std::to_string(process) + "/syscall");
    return call.starts_with(std::to_string(SYS_rt_sigtimedwait) + ' ');
}

// Returns true if SIGTSTP stops the process, unless its group is orphaned (proc_pid_status(5)).
bool stops_by_default(pid_t process) {
    if (waits_for_signals(process)) return false;
    const std::string status = os::read_proc_file("/proc/" + std::to_string(process) + "/status");
    for (const std::string_view name : {"\nSigBlk:\t", "\nSigIgn:\t", "\nSigCgt:\t"}) {
        const std::size_t at = status.find(name);
        if (at == std::string::npos) return false;
        std::uint64_t signals = 0;
        (void)std::from_chars(&status[at + name.size()], status.data() + status.size(), signals,
                              16);
        if ((signals >> (SIGTSTP - 1) & 1) != 0) return false;
    }
    return !waits_for_signals(process); // it may have begun to wait in between
}

} // namespace

RunSignals::RunSignals() {
    // If SIGCHLD is ignored, the kernel reaps children before we learn how they ended.
    CHECK(::signal(SIGCHLD, SIG_DFL) != SIG_ERR);
    sigset_t taken;
    sigemptyset(&taken);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP})
        if (!is_ignored(signal)) sigaddset(&taken, signal);
    for (const int signal : {SIGCHLD, SIGWINCH, SIGCONT})
        sigaddset(&taken, signal);
    fd_ = UniqueFd(::signalfd(-1, &taken, SFD_CLOEXEC | SFD_NONBLOCK));
    CHECK(fd_.get() >= 0);
    sigaddset(&taken, SIGPIPE);
    CHECK(::sigprocmask(SIG_BLOCK, &taken, nullptr) == 0);
}

std::vector<int> RunSignals::take() {
    std::vector<int> signals;
    signalfd_siginfo info = {};
    while (::read(fd_.get(), &info, sizeof info) == sizeof info)
        signals.push_back(static_cast<int>(info.ssi_signo));
    // SIGCHLD comes first: a process that has ended must not be signalled any more.
    std::stable_partition(signals.begin(), signals.end(),
                          [](int signal) { return signal == SIGCHLD; });
    return signals;
}

bool RunSignals::is_ending(int signal) {
    return signal == SIGINT || signal == SIGTERM || signal == SIGHUP || signal == SIGQUIT;
}

void RunSignals::stop_here() {
    sigset_t only;
    sigemptyset(&only);
    sigaddset(&only, SIGTSTP);
    CHECK(::raise(SIGTSTP) == 0);
    CHECK(::sigprocmask(SIG_UNBLOCK, &only, nullptr) == 0); // the signal is delivered here
    CHECK(::sigprocmask(SIG_BLOCK, &only, nullptr) == 0);
}

bool is_stop_key(std::string_view keys, int master, pid_t leader) {
    termios settings = {};
    if (keys.empty() || leader <= 0 || ::tcgetattr(master, &settings) != 0) return false;
    const auto key = static_cast<char>(settings.c_cc[VSUSP]);
    return (settings.c_lflag & ISIG) != 0 && key != _POSIX_VDISABLE &&
           keys.find(key) != std::string_view::npos && ::tcgetpgrp(master) == leader &&
           stops_by_default(leader);
}

void signal_foreground(int master, pid_t leader, int signal) {
    const pid_t group = ::tcgetpgrp(master);
    if (group <= 0 || group == leader) return;
    const UniqueFd first(static_cast<int>(::syscall(SYS_pidfd_open, group, 0)));
    const ino_t sandbox = pid_namespace(std::to_string(leader));
    if (!first || sandbox == 0 || sandbox == pid_namespace("self")) return;
    if (pid_namespace(std::to_string(group)) != sandbox) return;
    constexpr unsigned to_its_group = 1u << 2; // PIDFD_SIGNAL_PROCESS_GROUP, since Linux 6.9
    if (::syscall(SYS_pidfd_send_signal, first.get(), signal, nullptr, to_its_group) != 0 &&
        errno == EINVAL)
        (void)::kill(-group, signal);
}

} // namespace ew::cli

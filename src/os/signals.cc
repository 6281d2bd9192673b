#include "os/signals.h"

#include "base/check.h"

#include <fmt/format.h>
#include <sys/signalfd.h>

#include <array>
#include <string_view>

namespace ew::os {

sigset_t taken_signals() {
    sigset_t set;
    sigemptyset(&set);
    for (const int signal : {SIGTERM, SIGINT, SIGHUP, SIGCHLD, SIGCONT})
        sigaddset(&set, signal);
    return set;
}

void take_over_signals() {
    for (int signal = 1; signal < NSIG; ++signal) {
        struct sigaction action = {};
        if (::sigaction(signal, nullptr, &action) != 0 || action.sa_handler != SIG_IGN) continue;
        action.sa_handler = SIG_DFL;
        (void)::sigaction(signal, &action, nullptr); // libc refuses two of its own
    }
    sigset_t blocked = taken_signals();
    for (const int signal : {SIGPIPE, SIGTTIN, SIGTTOU, SIGXFSZ})
        sigaddset(&blocked, signal);
    CHECK(::sigprocmask(SIG_SETMASK, &blocked, nullptr) == 0);
}

Signals::Signals() {
    const sigset_t set = taken_signals();
    fd_ = UniqueFd(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
    CHECK(fd_.get() >= 0);
}

Signals::Taken Signals::take() {
    Taken taken;
    // The next read returns the signals that do not fit. Each signal is pending at most twice
    // (signal(7)).
    std::array<signalfd_siginfo, 8> pending;
    const ssize_t size = ::read(fd_.get(), pending.data(), sizeof pending);
    for (std::size_t i = 0; size > 0 && i < static_cast<std::size_t>(size) / sizeof pending[0];
         ++i) {
        if (pending[i].ssi_signo == SIGCHLD)
            taken.child = true;
        else if (pending[i].ssi_signo != SIGCONT)
            taken.ending = static_cast<int>(pending[i].ssi_signo);
    }
    return taken;
}

std::string signal_name(int number) {
    static constexpr std::array<std::string_view, 32> names = {
        "SIG0",      "SIGHUP",  "SIGINT",    "SIGQUIT", "SIGILL",   "SIGTRAP", "SIGABRT", "SIGBUS",
        "SIGFPE",    "SIGKILL", "SIGUSR1",   "SIGSEGV", "SIGUSR2",  "SIGPIPE", "SIGALRM", "SIGTERM",
        "SIGSTKFLT", "SIGCHLD", "SIGCONT",   "SIGSTOP", "SIGTSTP",  "SIGTTIN", "SIGTTOU", "SIGURG",
        "SIGXCPU",   "SIGXFSZ", "SIGVTALRM", "SIGPROF", "SIGWINCH", "SIGIO",   "SIGPWR",  "SIGSYS"};
    const auto index = static_cast<std::size_t>(number);
    return index < names.size() ? std::string(names[index]) : fmt::format("SIG{}", number);
}

} // namespace ew::os

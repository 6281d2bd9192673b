#include "cli/run_signals.h"

#include "base/check.h"

#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>

namespace ew::cli {

namespace {

bool is_ignored(int signal) {
    struct sigaction action = {};
    return ::sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

} // namespace

RunSignals::RunSignals() {
    // Where it is ignored, the kernel reaps children before we learn how they ended.
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
    // What has ended must not be signalled any more.
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
    CHECK(::sigprocmask(SIG_UNBLOCK, &only, nullptr) == 0); // here it takes effect
    CHECK(::sigprocmask(SIG_BLOCK, &only, nullptr) == 0);
}

} // namespace ew::cli

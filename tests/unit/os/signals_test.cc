// Signals belong to the whole process, so each scene plays in a child of its own.
#include "os/signals.h"
#include "support/child_process.h"
#include "support/testing.h"

#include <unistd.h>

#include <csignal>

using ew::os::signal_name;
using ew::os::Signals;
using ew::os::take_over_signals;
using ew::test::in_child;

TEST_SUITE_BEGIN("os/signals");

TEST_CASE("a signal that ends us is reported instead of ending us") {
    for (const int signal : {SIGTERM, SIGINT, SIGHUP}) {
        const auto outcome = in_child([&] {
            take_over_signals();
            Signals signals;
            ::raise(signal);
            const Signals::Taken taken = signals.take();
            return taken.ending == signal && !taken.child;
        });

        CAPTURE(signal);
        CHECK(outcome.is_true);
    }
}

TEST_CASE("the end of a child is reported") {
    const auto outcome = in_child([] {
        take_over_signals();
        Signals signals;
        const pid_t pid = ::fork();
        if (pid == 0) ::_exit(0);
        siginfo_t info = {};
        ::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED);
        const Signals::Taken taken = signals.take();
        return taken.child && taken.ending == 0;
    });

    CHECK(outcome.is_true);
}

TEST_CASE("the end of a child and a signal that ends us are reported together") {
    const auto outcome = in_child([] {
        take_over_signals();
        Signals signals;
        ::raise(SIGCHLD);
        ::raise(SIGHUP);
        const Signals::Taken taken = signals.take();
        const Signals::Taken again = signals.take();
        return taken.child && taken.ending == SIGHUP && !again.child && again.ending == 0;
    });

    CHECK(outcome.is_true);
}

TEST_CASE("a signal is reported once") {
    const auto outcome = in_child([] {
        take_over_signals();
        Signals signals;
        ::raise(SIGTERM);
        (void)signals.take();
        const Signals::Taken again = signals.take();
        return again.ending == 0 && !again.child;
    });

    CHECK(outcome.is_true);
}

TEST_CASE("writing to nobody does not kill") {
    const auto outcome = in_child([] {
        take_over_signals();
        int ends[2] = {-1, -1};
        if (::pipe(ends) != 0) return false;
        ::close(ends[0]);
        return ::write(ends[1], "x", 1) < 0;
    });

    CHECK(outcome.is_true);
}

TEST_CASE("signals that were ignored by whoever started us are not ignored any more") {
    const auto outcome = in_child([] {
        ::signal(SIGUSR1, SIG_IGN);
        take_over_signals();
        struct sigaction action = {};
        ::sigaction(SIGUSR1, nullptr, &action);
        return action.sa_handler == SIG_DFL;
    });

    CHECK(outcome.is_true);
}

TEST_CASE("signals have the names of signal(7)") {
    CHECK(signal_name(SIGHUP) == "SIGHUP");
    CHECK(signal_name(SIGKILL) == "SIGKILL");
    CHECK(signal_name(SIGTERM) == "SIGTERM");
    CHECK(signal_name(SIGCHLD) == "SIGCHLD");
    CHECK(signal_name(SIGWINCH) == "SIGWINCH");
    CHECK(signal_name(SIGSYS) == "SIGSYS");
    CHECK(signal_name(42) == "SIG42");
}

TEST_SUITE_END();

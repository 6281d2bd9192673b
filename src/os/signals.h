// Signals as a descriptor. There is no signal handler in execward.
#pragma once

#include "base/unique_fd.h"

#include <csignal>
#include <string>

namespace ew::os {

// Undoes what the one who started us did to signals, and blocks those that we take or that must not
// kill or stop us: SIGPIPE (a client that is gone is an error of write), SIGTTIN and SIGTTOU.
// Blocked and not ignored, because an ignored signal would stay ignored in the programs we start.
void take_over_signals();

// The signals that both processes wait for: SIGTERM, SIGINT, SIGHUP and SIGCHLD.
sigset_t taken_signals();

// Reports the taken signals. epoll knows a signalfd by the process that added it
// (signalfd(2)), so after a fork there must be a new one.
class Signals {
public:
    Signals();

    int get() const { return fd_.get(); }

    struct Taken {
        bool child = false; // some child changed its state
        int ending = 0;     // SIGTERM, SIGINT or SIGHUP; 0: none
    };

    Taken take();

private:
    UniqueFd fd_;
};

// "SIGTERM" for 15; "SIG42" for one without a name of its own.
std::string signal_name(int number);

} // namespace ew::os

// Signals as a descriptor. There is no signal handler in execward.
#pragma once

#include "base/unique_fd.h"

#include <csignal>
#include <string>

namespace ew::os {

// Resets the signal state inherited from the parent. Blocks the signals that execward handles, and
// those that must not kill or stop it: SIGPIPE (write() reports that a client is gone), SIGTTIN and
// SIGTTOU. They are blocked and not ignored, because programs would inherit an ignored signal.
void take_over_signals();

// The signals that both processes wait for: SIGTERM, SIGINT, SIGHUP, SIGCHLD and SIGCONT.
sigset_t taken_signals();

// Reports the taken signals. epoll binds a signalfd to the process that added it (signalfd(2)), so
// a forked process needs a new object.
class Signals {
public:
    Signals();

    int get() const { return fd_.get(); }

    struct Taken {
        bool child = false; // a child changed its state
        int ending = 0;     // SIGTERM, SIGINT or SIGHUP; 0 if none
    };

    Taken take();

private:
    UniqueFd fd_;
};

// Returns "SIGTERM" for 15, and "SIG42" for a signal without a name.
std::string signal_name(int number);

} // namespace ew::os

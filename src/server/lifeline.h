// What ends a server from outside: signals, and the end of a process that it belongs to.
#pragma once

#include "base/unique_fd.h"
#include "os/poller.h"
#include "os/signals.h"

#include <sys/types.h>

#include <optional>
#include <vector>

namespace ew::server {

class Lifeline {
public:
    // The poller reports the sources signals and parent; it outlives this object. A fork needs a
    // new one of each (signalfd(2), epoll(7)).
    explicit Lifeline(os::Poller& poller);

    // The end of this process is reported as parent. A process that cannot be seen from here, such
    // as one on another machine, is logged and ignored.
    void watch(std::optional<pid_t> process);

    os::Signals::Taken take_signals() { return signals_.take(); }

    // It was reported: a process that has ended would be reported for ever.
    void forget_processes() { processes_.clear(); }

private:
    os::Poller& poller_;
    os::Signals signals_;
    std::vector<UniqueFd> processes_; // pidfds
};

} // namespace ew::server

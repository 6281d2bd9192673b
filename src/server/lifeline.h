// The events that end a server from outside: signals, and the end of a process to which it belongs.
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
    // The poller reports the sources signals and parent; it outlives this object. After a fork, the
    // child needs its own poller and its own Lifeline (signalfd(2), epoll(7)).
    explicit Lifeline(os::Poller& poller);

    // Reports the end of this process as parent. If the process is not visible on this machine,
    // such as one on another machine, logs that and ignores it.
    void watch(std::optional<pid_t> process);

    os::Signals::Taken take_signals() { return signals_.take(); }

    // The poller has reported parent. Stops watching: an ended process is reported again and again.
    void note_parent_end();

private:
    os::Poller& poller_;
    os::Signals signals_;
    std::vector<UniqueFd> processes_; // pidfds
};

} // namespace ew::server

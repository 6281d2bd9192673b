// The signals that `execward run` takes on behalf of its command, as a descriptor.
#pragma once

#include "base/unique_fd.h"

#include <sys/types.h>

#include <vector>

namespace ew::cli {

// While it lives, they are taken: SIGINT, SIGTERM, SIGHUP, SIGQUIT and SIGTSTP, unless they were
// ignored before, as SIGHUP is by nohup(1), and SIGCHLD, SIGWINCH and SIGCONT. SIGPIPE is held
// back: what is written to nobody is an error of write(2).
class RunSignals {
public:
    RunSignals();

    int get() const { return fd_.get(); }

    // Without waiting, SIGCHLD first.
    std::vector<int> take();

    static bool is_ending(int signal);

    // Stops this process as SIGTSTP does one that does not take it; returns when it goes on.
    static void stop_here();

private:
    UniqueFd fd_;
};

// To the process group in the foreground of a terminal, whose other end is `master`, if it is not
// the leader's own. A terminal goes on to name the number of a group that has ended, which may be
// anybody's by then: only what is in the same sandbox as the leader, one that has processes of its
// own, is signalled.
void signal_foreground(int master, pid_t leader, int signal);

} // namespace ew::cli

// The signals that `execward run` takes on behalf of its command, as a descriptor.
#pragma once

#include "base/unique_fd.h"

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

} // namespace ew::cli

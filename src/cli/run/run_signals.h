// The signals that `execward run` handles on behalf of its command, as a descriptor.
#pragma once

#include "base/unique_fd.h"

#include <sys/types.h>

#include <string_view>
#include <vector>

namespace ew::cli {

// While this object lives, it takes SIGINT, SIGTERM, SIGHUP, SIGQUIT and SIGTSTP, unless they were
// ignored before (as nohup(1) ignores SIGHUP), and SIGCHLD, SIGWINCH and SIGCONT. SIGPIPE is
// blocked: write(2) to a pipe without a reader fails with EPIPE.
class RunSignals {
public:
    RunSignals();

    int get() const { return fd_.get(); }

    // Returns the pending signals without waiting, SIGCHLD first.
    std::vector<int> take();

    static bool is_ending(int signal);

    // Stops this process as SIGTSTP stops a process that does not handle it. Returns when the
    // process continues.
    static void stop_here();

private:
    UniqueFd fd_;
};

// Returns true if the keys hold the one that stops programs, in the terminal whose other end is
// `master`, and the kernel stops nothing: a command that leads the terminal's session is no job of
// a shell (setpgid(2), orphaned process groups). False if the command handles the signal.
bool is_stop_key(std::string_view keys, int master, pid_t leader);

// Signals the foreground process group of the terminal whose other end is `master`, unless it is
// the leader's own. A terminal keeps the number of a group that has ended, and the number may have
// been reused: only a group in the leader's sandbox is signalled, and only if the sandbox has a pid
// namespace.
void signal_foreground(int master, pid_t leader, int signal);

} // namespace ew::cli

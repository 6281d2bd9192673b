// Tells whether a start still goes on: its process lives, and its time is not over. An epoll(7)
// that the owner's loop sees as one descriptor, together with the socket of the start's reports.
#pragma once

#include "base/clock.h"
#include "base/result.h"
#include "base/unique_fd.h"

#include <sys/types.h>

namespace ew::sandbox {

class StartWatch {
public:
    // `reports` is borrowed; `longest` is how long the start may take. Errors: no more descriptors.
    Result<void> open(int reports, Millis longest);

    // `process` is a child that nobody has reaped. Before Linux 5.3, which has no pidfds, its end
    // is not noticed.
    void add(pid_t process);

    // Readable when there is a report to read or take() returns news.
    int fd() const { return events_.get(); }

    struct News {
        bool has_ended = false; // the process, since the last call
        bool is_late = false;
    };

    News take();

    // Kills the process.
    void kill() const;

private:
    bool watch(int fd) const;

    UniqueFd events_;
    UniqueFd timer_;
    UniqueFd process_; // pidfd; empty: it has ended, or is not watched
};

} // namespace ew::sandbox

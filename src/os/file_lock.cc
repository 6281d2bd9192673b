#include "os/file_lock.h"

#include <sys/file.h>

#include <cerrno>
#include <ctime>

namespace ew::os {

bool lock_within(int fd, int operation, Millis patience) {
    constexpr timespec pause = {0, 1'000'000};
    const TimePoint end = clock_now() + patience;
    while (::flock(fd, operation | LOCK_NB) != 0) {
        if (errno != EWOULDBLOCK && errno != EINTR) return false;
        if (clock_now() >= end) {
            errno = EWOULDBLOCK;
            return false;
        }
        (void)::nanosleep(&pause, nullptr); // waits for another process, not for a time
    }
    return true;
}

} // namespace ew::os

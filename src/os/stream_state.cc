#include "os/stream_state.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

namespace ew::os {

bool is_readable(int fd) {
    pollfd waiting = {fd, POLLIN, 0};
    return ::poll(&waiting, 1, 0) == 1 && (waiting.revents & POLLIN) != 0;
}

std::string name_of_other_end(int fd) {
    unsigned terminal = 0;
    if (::ioctl(fd, TIOCGPTN, &terminal) == 0) return fmt::format("/dev/pts/{}", terminal);
    struct stat info = {};
    if (::fstat(fd, &info) != 0 || !S_ISFIFO(info.st_mode)) return {};
    return fmt::format("pipe:[{}]", info.st_ino);
}

} // namespace ew::os

#include "os/pty.h"

#include "os/io.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace ew::os {

namespace {

// An erase in canonical mode then removes a whole character, not its last byte (termios(3)).
void expect_utf8(int terminal) {
    termios settings = {};
    if (::tcgetattr(terminal, &settings) != 0) return;
    settings.c_iflag |= IUTF8;
    (void)::tcsetattr(terminal, TCSANOW,
                      &settings); // cannot fail: the terminal was opened just now
}

} // namespace

Result<Pty> open_pty(WindowSize size) {
    UniqueFd master(::open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK));
    if (!master) return system_error("open /dev/ptmx", errno);
    const int unlocked = 0;
    if (::ioctl(master.get(), TIOCSPTLCK, &unlocked) != 0)
        return system_error("unlock the terminal", errno);
    UniqueFd slave(::ioctl(master.get(), TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC));
    if (!slave) return system_error("open the terminal", errno);
    expect_utf8(slave.get());
    (void)set_window_size(master.get(), size); // cannot fail: the terminal was opened just now
    return Pty{std::move(master), std::move(slave)};
}

bool set_window_size(int master, WindowSize size) {
    const winsize value = {size.rows, size.cols, 0, 0};
    return ::ioctl(master, TIOCSWINSZ, &value) == 0;
}

LineMode line_mode(int master) {
    termios settings = {};
    if (::tcgetattr(master, &settings) != 0) return {};
    return {(settings.c_lflag & ICANON) != 0, (settings.c_lflag & ECHO) != 0,
            static_cast<char>(settings.c_cc[VEOF])};
}

pid_t foreground_group(int master) {
    return std::max(::tcgetpgrp(master), 0);
}

} // namespace ew::os

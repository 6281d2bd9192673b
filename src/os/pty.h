// The master side of a terminal.
#pragma once

#include "base/result.h"
#include "base/unique_fd.h"

#include <sys/types.h>

#include <cstdint>

namespace ew::os {

struct WindowSize {
    std::uint16_t rows = 24;
    std::uint16_t cols = 80;
};

struct Pty {
    UniqueFd master; // nonblocking
    UniqueFd slave;  // for the child; close it once the child has it
};

// Opens the slave through the master (TIOCGPTPEER, ioctl_tty(2)), so that no path is looked up that
// a mount namespace could have changed.
Result<Pty> open_pty(WindowSize size);

// The kernel sends SIGWINCH to the foreground process group. Returns false if the terminal is gone.
bool set_window_size(int master, WindowSize size);

// The current input mode of the line discipline.
struct LineMode {
    bool is_canonical = false;
    bool echoes = true;
    char end_of_file = '\x04'; // the VEOF character
};

LineMode line_mode(int master);

// Returns the process group in the foreground, or 0 if there is none.
pid_t foreground_group(int master);

// The length of the longest line in canonical mode. The line discipline drops the rest of a longer
// line (termios(3)).
constexpr std::size_t longest_canonical_line = 4095;

} // namespace ew::os

// Finds the thread of a process that sleeps until it can read a terminal or a pipe, from /proc
// (proc(5)). Does not wait: descriptors of other files are not looked at beyond their link.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>

namespace ew::os {

struct InputFile {
    enum class Kind : std::uint8_t { terminal, pipe };

    Kind kind = Kind::terminal;
    std::uint64_t number = 0;       // the device number of a terminal, or the inode of a pipe
    bool reads_return_soon = false; // its mode ends a read without input (termios(3), VTIME)
};

// Return nullopt if the terminal or the pipe cannot be identified.
std::optional<InputFile> terminal_of_master(int master);
std::optional<InputFile> pipe_of_end(int end);

struct InputReader {
    pid_t thread = 0;
    std::uint64_t sleeps = 0;  // how often the thread has slept: the same count is the same sleep
    std::uint64_t busy_ms = 0; // for how long it has run, or waited for a processor
    bool returns_soon = false; // the call ends without input within soon_ms
};

struct ReaderLook {
    static constexpr std::uint64_t soon_ms = 500;

    std::optional<InputReader> reader = {};
    bool is_busy = false;   // a thread runs
    bool is_hidden = false; // the process lives, and this process may not look into it
};

ReaderLook look_for_reader(pid_t process, const InputFile& file);

} // namespace ew::os

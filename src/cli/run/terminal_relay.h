// What passes between stdin, stdout and stderr of the caller and those of a command, byte for byte,
// and the caller's terminal meanwhile. Knows descriptors only, and never waits.
#pragma once

#include "base/result.h"
#include "base/unique_fd.h"
#include "os/io.h"

#include <poll.h>
#include <sys/ioctl.h>
#include <termios.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <variant>

namespace ew::cli {

// One direction: what can be read from a source goes to a target. Nothing is read while something
// waits to be written, so a target that is full holds up the one who writes into the source. The
// end of the source closes the target, and a target that nobody reads any more closes the source,
// so that its writer learns of it (EPIPE or SIGPIPE).
class Flow {
public:
    static constexpr std::size_t capacity = 64 << 10; // bytes, as many as a pipe holds (pipe(7))

    using End = std::variant<std::monostate, UniqueFd, os::StdioEnd>; // none of them blocks

    Flow() = default; // has ended
    Flow(End source, End target);

    // For poll(2). The descriptor is -1, which poll passes over, where there is nothing to wait
    // for.
    pollfd source() const;
    pollfd target() const;

    // With what poll(2) has said about the two. At most one read. Returns whether anything moved.
    bool on_ready(short source_events, short target_events);

    bool is_open() const { return fd_of(target_) >= 0; }

    bool is_reading() const { return fd_of(source_) >= 0; }

    // Something was read, and could not yet be written.
    bool is_held_up() const { return begin_ != end_; }

    // Lets go of both ends, with what is still in between.
    void close();

    // Bytes that were read from the source and never taken by the reader of the target, which is a
    // pipe; told once the flow has ended.
    std::size_t untaken() const { return untaken_; }

    // Why the target could not be written to, as errno; 0: it could, or nobody reads it any more.
    int write_error() const { return write_error_; }

private:
    static int fd_of(const End& end);
    bool fill();
    bool empty_out();

    End source_;
    End target_;
    std::unique_ptr<char[]> bytes_;
    std::size_t begin_ = 0; // what waits: from begin_ to end_
    std::size_t end_ = 0;
    std::size_t untaken_ = 0;
    int write_error_ = 0;
};

// The terminal that execward was called from. Its settings are what they are while we are in the
// foreground and have not changed them: in the background they are those of the caller's shell, for
// its own line editor. Whatever happens, they are put back.
class CallerTerminal {
public:
    // Keeps a copy of the descriptor. Error: it is no terminal.
    static Result<std::unique_ptr<CallerTerminal>> of(int fd);
    ~CallerTerminal();
    CallerTerminal(const CallerTerminal&) = delete;
    CallerTerminal& operator=(const CallerTerminal&) = delete;

    // May we read from it and change it? Not from the background of a shell with job control, which
    // would stop us (termios(3)).
    bool is_ours() const;

    // Every key is a byte, and nothing that is written changes on its way. Where somebody has
    // changed it since the last time, restore() puts back what they have set. Stops us in the
    // background.
    Result<void> make_raw();

    // As it was before make_raw(). Not from the background: there it is as somebody else wants it.
    void restore();

    // Absent: we have not been in the foreground yet.
    const std::optional<termios>& settings() const { return settings_; }

    winsize size() const;

private:
    explicit CallerTerminal(UniqueFd fd) : fd_(std::move(fd)) {}

    UniqueFd fd_;
    std::optional<termios> settings_; // to put back
    std::optional<termios> raw_;      // as the terminal took it; absent: it is not changed
};

// stdin, stdout and stderr of the caller, for flows.
struct CallerStreams {
    std::optional<os::StdioEnd> input = {};
    std::optional<os::StdioEnd> output = {};
    std::optional<os::StdioEnd> errors = {};
};

// Puts back what is changed about the caller's descriptors, which other processes share.
class StdioGuard {
public:
    StdioGuard() = default;
    ~StdioGuard();
    StdioGuard(const StdioGuard&) = delete;
    StdioGuard& operator=(const StdioGuard&) = delete;

    // Opens the three, and puts /dev/null in the place of 0 and 1, so that closing an end tells the
    // other side. Errors: no more descriptors.
    Result<CallerStreams> open();

    // If stdin is a file: moves its position back over what the command has not read, for whoever
    // reads on.
    void give_back(std::size_t count);

private:
    struct Shared {
        UniqueFd fd = {};
        int flags = 0;
    };

    void remember(int fd, int flags);

    Shared shared_[3];
    UniqueFd file_; // stdin, if it can be moved back
};

// Are all three the same terminal? Then a command can have one of its own in its place.
bool is_one_terminal(int input, int output, int errors);

} // namespace ew::cli

// Copies bytes between stdin, stdout and stderr of the caller and those of a command, and keeps the
// settings of the caller's terminal. It knows only descriptors, and never waits.
#pragma once

#include "base/result.h"
#include "base/unique_fd.h"
#include "os/io.h"

#include <poll.h>
#include <sys/ioctl.h>
#include <termios.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <variant>

namespace ew::cli {

// One direction: bytes that are read from the source are written to the target. Nothing is read
// while bytes wait to be written, so a full target holds up the writer of the source. The end of
// the source closes the target. A target without a reader closes the source, so that its writer
// learns of it (EPIPE or SIGPIPE).
class Flow {
public:
    static constexpr std::size_t capacity = 64 << 10; // bytes; the capacity of a pipe (pipe(7))

    using End = std::variant<std::monostate, UniqueFd, os::StdioEnd>; // no descriptor here blocks

    Flow() = default; // a flow that has ended
    Flow(End source, End target);

    // For poll(2). The descriptor is -1, which poll ignores, if there is nothing to wait for.
    pollfd source() const;
    pollfd target() const;

    // Takes the events that poll(2) reported for the source and the target. Reads at most once.
    // Returns true if any bytes moved.
    bool on_ready(short source_events, short target_events);

    bool is_open() const { return fd_of(target_) >= 0; }

    bool is_reading() const { return fd_of(source_) >= 0; }

    // Returns true if the source has ended by itself, and not because the target has no reader.
    bool has_source_ended() const { return has_source_ended_; }

    // Returns true if bytes were read and could not be written yet.
    bool is_held_up() const { return begin_ != end_; }

    // Closes both ends and drops the bytes in between.
    void close();

    // Calls `look` with what was read, each time before it is written.
    void look_first(std::function<void(std::string_view)> look) { look_ = std::move(look); }

    // Returns the number of bytes that were read from the source but not from the target, which is
    // a pipe. Known once the flow has ended.
    std::size_t untaken() const { return untaken_; }

    // Returns the errno of a failed write, or 0 if none failed or the target has no reader any
    // more.
    int write_error() const { return write_error_; }

private:
    static int fd_of(const End& end);
    bool fill();
    bool empty_out();

    End source_;
    End target_;
    bool has_source_ended_ = false;
    std::function<void(std::string_view)> look_;
    std::unique_ptr<char[]> bytes_;
    std::size_t begin_ = 0; // the waiting bytes: from begin_ to end_
    std::size_t end_ = 0;
    std::size_t untaken_ = 0;
    int write_error_ = 0;
};

// The terminal that execward was called from. We remember its settings from a time in the
// foreground, before we change them: in the background the settings are those of the caller's
// shell, for its own line editor. The destructor restores them.
class CallerTerminal {
public:
    // Keeps a copy of the descriptor. Fails if it is not a terminal.
    static Result<std::unique_ptr<CallerTerminal>> of(int fd);
    ~CallerTerminal();
    CallerTerminal(const CallerTerminal&) = delete;
    CallerTerminal& operator=(const CallerTerminal&) = delete;

    // Returns true if we may read from the terminal and change it. A background job of a shell may
    // not: it would be stopped (termios(3)).
    bool is_ours() const;

    // Every key becomes a byte, and output is not changed on its way. If another program has
    // changed the settings since the last call, restore() restores that program's settings. Stops
    // us in the background.
    Result<void> make_raw();

    // Restores the settings from before make_raw(). Does nothing in the background: there the
    // settings are those of another program.
    void restore();

    // Returns nullopt until we have been in the foreground.
    const std::optional<termios>& settings() const { return settings_; }

    winsize size() const;

private:
    explicit CallerTerminal(UniqueFd fd) : fd_(std::move(fd)) {}

    UniqueFd fd_;
    std::optional<termios> settings_; // to restore
    std::optional<termios> raw_;      // as the terminal accepted it; nullopt if it is not changed
};

// The caller's stdin, stdout and stderr, for flows.
struct CallerStreams {
    std::optional<os::StdioEnd> input = {};
    std::optional<os::StdioEnd> output = {};
    std::optional<os::StdioEnd> errors = {};
};

// Restores what was changed about the caller's descriptors, which other processes share.
class StdioGuard {
public:
    StdioGuard() = default;
    ~StdioGuard();
    StdioGuard(const StdioGuard&) = delete;
    StdioGuard& operator=(const StdioGuard&) = delete;

    // Opens the three streams, and puts /dev/null in the place of descriptors 0 and 1, so that the
    // other side sees it when an end is closed. Fails if there are no more descriptors.
    Result<CallerStreams> open();

    // If stdin is a file, moves its position back over the bytes that the command has not read, for
    // the next reader.
    void give_back(std::size_t count);

private:
    struct Shared {
        UniqueFd fd = {};
        int flags = 0;
    };

    void remember(int fd, int flags);

    Shared shared_[3];
    UniqueFd file_; // stdin, if its position can be moved back
};

// Returns true if all three are the same terminal. Then the command can get a terminal of its own.
bool is_one_terminal(int input, int output, int errors);

} // namespace ew::cli

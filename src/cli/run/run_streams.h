// Between the caller's stdin, stdout and stderr and those of a command: pipes, or, if the three are
// one terminal, a terminal of the command's own, with the settings, the size and the keys of the
// caller's.
#pragma once

#include "base/clock.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "cli/run/terminal_relay.h"
#include "os/spawn.h"

#include <poll.h>
#include <sys/types.h>

#include <array>
#include <cstddef>
#include <memory>
#include <optional>

namespace ew::cli {

class RunStreams {
public:
    // Takes the caller's streams over. Errors: no more descriptors.
    Result<void> open();

    // Before the command is started: asks for its streams.
    void request(os::SpawnRequest& request) const;

    // After that: sets up its terminal, if it has one.
    Result<void> prepare(const os::Spawned& spawned);

    // Before another try to start it.
    void start_over() { master_.reset(); }

    // The command runs, or nearly did: from now on bytes are passed on, those of the caller only if
    // `has_input`. Takes the streams of `spawned`.
    void begin(os::Spawned& spawned, pid_t leader, bool has_input);

    static constexpr std::size_t slots = 6;
    using Polled = std::array<pollfd, slots>;

    // For poll(2). While a person reads a question on the terminal and answers it (`is_asking`),
    // nothing else is read or written there.
    Polled polled(bool is_asking) const;

    struct Moved {
        bool has_output = false;
        bool has_hung_up = false; // the caller's terminal is gone
    };

    // Passes on what can be, by the events that poll(2) reported. The question may be newer.
    Moved on_ready(Polled polled, bool is_asking, TimePoint now);

    // In the background, the terminal is looked at again at this time. Returns nullopt otherwise.
    std::optional<TimePoint> next_deadline() const { return input_paused_until_; }

    // Returns true once if that time has come.
    bool on_time(TimePoint now);

    // The shell may have put us into the foreground, and the terminal and its size may have
    // changed.
    void come_forward();

    // The caller's terminal gets its own settings back, until come_forward().
    void restore_terminal();

    // The kernel sends SIGWINCH to the command.
    void pass_size();

    // Signals the foreground process group of the command's terminal, if it has one.
    void signal_foreground(pid_t leader, int signal) const;

    // The command has ended.
    void end_input() { input_.close(); }

    bool has_output() const { return output_.is_open() || errors_.is_open(); }

    // Output waits for its reader.
    bool is_held_up() const { return output_.is_held_up() || errors_.is_held_up(); }

    // Gives the terminal and unread input back to the caller. Returns the errno of a failed write
    // of output, or 0.
    int close();

private:
    bool is_left(std::size_t slot, bool is_asking) const;
    bool may_read_input(TimePoint now);

    // Destroyed in reverse order: the terminal's settings are restored before stdio.
    StdioGuard stdio_;
    std::unique_ptr<CallerTerminal> terminal_; // nullptr if stdin is not a terminal
    CallerStreams streams_;                    // until begin()
    UniqueFd master_;                          // of the command's terminal, if it has one
    Flow input_;
    Flow output_;
    Flow errors_;
    bool has_terminal_ = false; // the command gets one
    bool has_stop_key_ = false; // among what was read from the caller and not written yet
    std::optional<TimePoint> input_paused_until_;
};

} // namespace ew::cli

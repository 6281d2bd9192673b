#include "cli/run/run_streams.h"

#include "cli/run/run_signals.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <string_view>
#include <utility>

namespace ew::cli {

namespace {

constexpr Millis background_pause{100}; // between two checks of who may read the terminal

// The first of the two slots of a flow.
enum Slot : std::size_t { input = 0, output = 2, errors = 4 };

} // namespace

Result<void> RunStreams::open() {
    has_terminal_ = is_one_terminal(STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO);
    if (::isatty(STDIN_FILENO) == 1) terminal_ = TRY(CallerTerminal::of(STDIN_FILENO));
    streams_ = TRY(stdio_.open());
    return {};
}

void RunStreams::request(os::SpawnRequest& request) const {
    request.pipe_stdin = true;
    if (!has_terminal_) return;
    const winsize size = terminal_->size();
    request.terminal = os::WindowSize{size.ws_row, size.ws_col};
}

// The command's terminal gets the settings of the caller's: the same keys erase and interrupt.
Result<void> RunStreams::prepare(const os::Spawned& spawned) {
    if (!has_terminal_) return {};
    master_ = UniqueFd(::fcntl(spawned.output.get(), F_DUPFD_CLOEXEC, 3));
    if (!master_) return os::system_error("dup", errno);
    if (terminal_->settings()) // otherwise, or if it refuses them, it keeps its own
        (void)::tcsetattr(master_.get(), TCSANOW, &*terminal_->settings());
    pass_size();
    return {};
}

void RunStreams::begin(os::Spawned& spawned, pid_t leader, bool has_input) {
    UniqueFd to_command = has_terminal_ ? UniqueFd(::fcntl(master_.get(), F_DUPFD_CLOEXEC, 3))
                                        : std::move(spawned.input);
    if (has_input) input_ = Flow(std::move(*streams_.input), std::move(to_command));
    // Whether the key stops the command is asked before it has the key: woken by its signal, a
    // command that waits for the signal looks like one that does not.
    if (has_terminal_)
        input_.look_first([this, leader](std::string_view keys) {
            has_stop_key_ = is_stop_key(keys, master_.get(), leader);
        });
    output_ = Flow(std::move(spawned.output), std::move(*streams_.output));
    if (spawned.error) errors_ = Flow(std::move(spawned.error), std::move(*streams_.errors));
    streams_ = {};
}

RunStreams::Polled RunStreams::polled(bool is_asking) const {
    Polled polled = {input_.source(),  input_.target(),  output_.source(),
                     output_.target(), errors_.source(), errors_.target()};
    if (input_paused_until_) polled[input].fd = -1;
    for (const std::size_t slot : {input, output, errors})
        if (is_left(slot, is_asking)) polled[slot].fd = polled[slot + 1].fd = -1;
    return polled;
}

bool RunStreams::is_left(std::size_t slot, bool is_asking) const {
    if (!is_asking) return false;
    if (slot == input) return terminal_ != nullptr;
    if (slot == output) return has_terminal_ || ::isatty(STDOUT_FILENO) == 1;
    return ::isatty(STDERR_FILENO) == 1;
}

RunStreams::Moved RunStreams::on_ready(Polled polled, bool is_asking, TimePoint now) {
    const bool had_ended = input_.has_source_ended();
    const auto moves = [&](Flow& flow, std::size_t slot) {
        return !is_left(slot, is_asking) &&
               flow.on_ready(polled[slot].revents, polled[slot + 1].revents);
    };
    if (polled[input].revents != 0 && !may_read_input(now)) polled[input].revents = 0;
    (void)moves(input_, input); // result not needed
    // The signal comes to the caller's whole job, and to us, who stop the command.
    if (std::exchange(has_stop_key_, false)) (void)::kill(0, SIGTSTP);
    Moved moved;
    // In raw mode, the input of a terminal ends only when the terminal is gone.
    moved.has_hung_up = has_terminal_ && !had_ended && input_.has_source_ended();
    const bool has_output = moves(output_, output);
    const bool has_errors = moves(errors_, errors);
    moved.has_output = has_output || has_errors;
    return moved;
}

// With a terminal, the command gets the input only while we are in the foreground.
bool RunStreams::may_read_input(TimePoint now) {
    if (!terminal_) return true;
    if (!terminal_->is_ours()) {
        input_paused_until_ = now + background_pause;
        return false;
    }
    if (has_terminal_) (void)terminal_->make_raw(); // on a failure the next read returns the end
    return true;
}

bool RunStreams::on_time(TimePoint now) {
    if (!is_due(input_paused_until_, now)) return false;
    input_paused_until_.reset();
    return true;
}

// In the background we check again soon, since the terminal must be raw before the first key.
void RunStreams::come_forward() {
    if (!has_terminal_) return;
    if (!terminal_->is_ours())
        input_paused_until_ = clock_now() + background_pause;
    else if (!terminal_->make_raw())
        return; // the terminal is gone: the next read returns its end
    pass_size();
}

void RunStreams::restore_terminal() {
    if (terminal_) terminal_->restore();
}

void RunStreams::pass_size() {
    if (!master_) return;
    const winsize size = terminal_->size();
    (void)::ioctl(master_.get(), TIOCSWINSZ, &size); // the command may have ended
}

void RunStreams::signal_foreground(pid_t leader, int signal) const {
    if (master_) cli::signal_foreground(master_.get(), leader, signal);
}

int RunStreams::close() {
    const int write_error =
        output_.write_error() != 0 ? output_.write_error() : errors_.write_error();
    for (Flow* const flow : {&input_, &output_, &errors_})
        flow->close();
    if (!has_terminal_) stdio_.give_back(input_.untaken());
    terminal_.reset();
    return write_error;
}

} // namespace ew::cli

// Input: what was accepted for a program, on its way into its pipe or terminal.
#include "os/pty.h"
#include "server/connection/source.h"
#include "server/local/local_backend.h"

#include <algorithm>
#include <string>

namespace ew::server {

// A terminal has no end of input but the character for it, which only counts at the start of a
// line; within one it hands over the line first (termios(3), VEOF).
void LocalBackend::end_input(Process& process) {
    Input& input = process.input;
    if (!process.is_tty()) {
        input.close_when_written = true;
        return;
    }
    const os::LineMode mode = os::line_mode(input.fd.get());
    const bool is_inside_line = mode.is_canonical && input.line_length > 0;
    input.queued.append(std::string(is_inside_line ? 2 : 1, mode.end_of_file));
    input.line_length = 0;
    processes_.pump().note_typing(process, processes_.now());
}

void LocalBackend::on_input_room(std::uint64_t serial) {
    Process* const process = processes_.find(serial);
    if (process == nullptr) return;
    const std::size_t before = process->input.queued.size();
    write_input(*process);
    Input& input = process->input;
    const bool is_hang_up = input.is_watched && input.queued.size() == before;
    if (!is_hang_up) return;
    input.is_watched = false;
    poller_.unwatch(input.fd.get());
    processes_.pump().rest_terminal(*process, processes_.now());
}

void LocalBackend::write_input(Process& process) {
    write_queued(process);
    forget_cold();
    if (is_hot(process) && std::find(hot_.begin(), hot_.end(), process.serial) == hot_.end())
        hot_.push_back(process.serial);
}

void LocalBackend::write_queued(Process& process) {
    Input& input = process.input;
    if (!input.fd) return;
    bool is_blocked = false;
    while (!is_blocked && !input.queued.empty()) {
        const os::IoResult result = os::write_some(input.fd.get(), input.queued.view());
        if (result.state == os::IoState::end) return close_input(process);
        input.queued.consume(result.count);
        is_blocked = result.state == os::IoState::would_block;
        processes_.release_held_writes(process);
    }
    if (input.queued.empty() && input.close_when_written) return close_input(process);
    if (input.is_watched == is_blocked) return;
    input.is_watched = is_blocked;
    if (is_blocked)
        (void)poller_.watch(input.fd.get(), token_of(Source::input, process.serial),
                            os::Interest::write);
    else
        poller_.unwatch(input.fd.get());
}

void LocalBackend::close_input(Process& process) {
    let_go_of_input(process);
    processes_.close_input(process);
}

void LocalBackend::let_go_of_input(Process& process) {
    Input& input = process.input;
    if (input.fd) poller_.unwatch(input.fd.get());
    input.fd.reset();
    input.is_watched = false;
}

void LocalBackend::read_hot() {
    forget_cold();
    for (std::size_t i = 0; i < hot_.size(); ++i)
        on_output(hot_[i], 0, OutputPump::shared_budget);
}

void LocalBackend::forget_cold() {
    std::erase_if(hot_, [&](std::uint64_t serial) {
        const Process* const process = processes_.find(serial);
        return process == nullptr || !is_hot(*process);
    });
}

bool LocalBackend::is_hot(const Process& process) const {
    return processes_.now() < process.typed_until && process.streams[0].fd;
}

} // namespace ew::server

#include "server/local/input_writer.h"

#include "os/io.h"
#include "os/pty.h"
#include "server/connection/source.h"

#include <fcntl.h>

namespace ew::server {

void InputWriter::end(Process& process) {
    if (!process.is_tty()) return process.input.end();
    const os::LineMode mode = os::line_mode(process.local->input_fd());
    process.input.end_terminal(mode.end_of_file, mode.is_canonical);
    processes_.delivery().note_typing(process);
}

void InputWriter::write(Process& process) {
    write_queued(process);
    streams_.note_typing(process);
}

void InputWriter::on_room(std::uint64_t serial) {
    Process* const process = processes_.find(serial);
    if (process == nullptr) return;
    LocalProcess& local = *process->local;
    const std::size_t before = process->input.queued().size();
    write(*process);
    const bool is_hang_up = local.is_input_watched && process->input.queued().size() == before;
    if (!is_hang_up) return;
    local.is_input_watched = false;
    poller_.unwatch(local.input.get());
    streams_.rest_terminal(*process);
}

void InputWriter::write_queued(Process& process) {
    LocalProcess& local = *process.local;
    InputQueue& input = process.input;
    if (!input.is_open() || local.input_fd() < 0) return;
    bool is_blocked = false;
    while (!is_blocked && !input.is_empty()) {
        const os::IoResult result = os::write_some(local.input_fd(), input.queued());
        if (result.state == os::IoState::end) return close(process);
        input.consume(result.count);
        is_blocked = result.state == os::IoState::would_block;
        processes_.release_held_writes(process);
    }
    if (input.is_empty() && input.is_ending()) return close(process);
    if (local.is_input_watched == is_blocked) return;
    if (is_blocked) return wait_for_room(process);
    local.is_input_watched = false;
    poller_.unwatch(local.input.get());
}

void InputWriter::wait_for_room(Process& process) {
    LocalProcess& local = *process.local;
    if (process.is_tty() && !local.input)
        local.input = UniqueFd(::fcntl(local.input_fd(), F_DUPFD_CLOEXEC, 3));
    // No more descriptors: the terminal is tried again after a while.
    if (!local.input) return streams_.rest_terminal(process);
    local.is_input_watched = true;
    (void)poller_.watch(local.input.get(), token_of(Source::input, process.serial),
                        os::Interest::write);
}

void InputWriter::close(Process& process) {
    let_go(process);
    processes_.close_input(process);
}

void InputWriter::let_go(Process& process) {
    LocalProcess& local = *process.local;
    if (local.is_input_watched) poller_.unwatch(local.input.get());
    local.input.reset();
    local.is_input_watched = false;
}

} // namespace ew::server

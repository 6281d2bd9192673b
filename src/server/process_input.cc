// Input: what clients write, on its way into pipes and terminals.
#include "os/pty.h"
#include "server/process_service.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

namespace ew::server {

void ProcessService::take_write(Process& process, Reply reply, protocol::WriteParams params) {
    Input& input = process.input;
    protocol::WriteResult result;
    if (params.write_id) {
        if (!input.accepted_ids.insert(*params.write_id).second) return reply.send(result);
        input.accepted_order.push_back(*params.write_id);
        if (input.accepted_order.size() > remembered_write_ids) {
            input.accepted_ids.erase(input.accepted_order.front());
            input.accepted_order.pop_front();
        }
    }
    const std::size_t longest_line = append_input(process, params.chunk.bytes);
    const bool is_long_line = process.is_tty() && longest_line > os::longest_canonical_line;
    if (is_long_line && os::line_mode(input.fd.get()).is_canonical)
        result.notice = fmt::format(
            "the terminal is in canonical mode and keeps only the first {} bytes of a line",
            os::longest_canonical_line);
    if (params.close_stdin) {
        if (process.is_tty())
            type_end_of_file(process);
        else
            input.close_when_written = true;
    }
    reply.send(result);
}

// Returns the length of the longest line that these bytes are part of.
std::size_t ProcessService::append_input(Process& process, std::string_view bytes) {
    Input& input = process.input;
    input.queued.append(bytes);
    std::size_t longest_line = 0;
    for (std::size_t begin = 0; begin < bytes.size();) {
        const std::size_t end = std::min(bytes.find_first_of("\r\n", begin), bytes.size());
        input.line_length += end - begin;
        longest_line = std::max(longest_line, input.line_length);
        if (end < bytes.size()) input.line_length = 0;
        begin = end + 1;
    }
    pump_.note_typing(process, now_);
    forget_cold();
    if (std::find(hot_.begin(), hot_.end(), process.serial) == hot_.end())
        hot_.push_back(process.serial);
    return longest_line;
}

// A terminal has no end of input but the character for it, which only counts at the start of a
// line; within one it hands over the line first (termios(3), VEOF).
void ProcessService::type_end_of_file(Process& process) {
    const os::LineMode mode = os::line_mode(process.input.fd.get());
    const bool is_inside_line = mode.is_canonical && process.input.line_length > 0;
    (void)append_input(process, std::string(is_inside_line ? 2 : 1, mode.end_of_file));
    process.input.line_length = 0;
}

bool ProcessService::type(Process& process, std::string_view bytes) {
    Input& input = process.input;
    if (!input.held.empty() ||
        (!input.queued.empty() && input.queued.size() + bytes.size() > input_queue))
        return false;
    (void)append_input(process, bytes);
    write_input(process);
    return true;
}

void ProcessService::end_input(Process& process) {
    if (!process.input.fd) return;
    if (process.is_tty())
        type_end_of_file(process);
    else
        process.input.close_when_written = true;
    write_input(process);
}

void ProcessService::on_input_room(std::uint64_t serial) {
    Process* const process = table_.find(serial);
    if (process == nullptr) return;
    const std::size_t before = process->input.queued.size();
    write_input(*process);
    Input& input = process->input;
    const bool is_hang_up = input.is_watched && input.queued.size() == before;
    if (!is_hang_up) return;
    input.is_watched = false;
    poller_.unwatch(input.fd.get());
    pump_.rest_terminal(*process, now_);
}

void ProcessService::write_input(Process& process) {
    Input& input = process.input;
    bool is_blocked = false;
    while (input.fd && !is_blocked && !input.queued.empty()) {
        const os::IoResult result = os::write_some(input.fd.get(), input.queued.view());
        if (result.state == os::IoState::end) return close_input(process);
        input.queued.consume(result.count);
        is_blocked = result.state == os::IoState::would_block;
        release_held_writes(process);
    }
    if (!input.fd) return;
    if (input.queued.empty() && input.close_when_written) return close_input(process);
    if (input.is_watched == is_blocked) return;
    input.is_watched = is_blocked;
    if (is_blocked)
        (void)poller_.watch(input.fd.get(), {os::Source::input, process.serial},
                            os::Interest::write);
    else
        poller_.unwatch(input.fd.get());
}

void ProcessService::release_held_writes(Process& process) {
    Input& input = process.input;
    while (!input.held.empty() && !input.close_when_written) {
        const std::size_t size = input.held.front().params.chunk.bytes.size();
        if (!input.queued.empty() && input.queued.size() + size > input_queue) return;
        HeldWrite next = std::move(input.held.front());
        input.held.pop_front();
        input.held_bytes -= size;
        take_write(process, std::move(next.reply), std::move(next.params));
    }
}

void ProcessService::close_input(Process& process) {
    Input& input = process.input;
    if (input.fd) poller_.unwatch(input.fd.get());
    input.fd.reset();
    input.queued.release();
    std::deque<HeldWrite> held = std::move(input.held);
    input.held.clear();
    input.held_bytes = 0;
    for (HeldWrite& write : held)
        write.reply.send(protocol::WriteResult{protocol::WriteStatus::stdin_closed, {}});
}

} // namespace ew::server

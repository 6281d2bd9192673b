// Input: what clients write, on its way into pipes and terminals.
#include "os/pty.h"
#include "server/process/process_service.h"

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
    if (is_long_line && process.backend->line_mode(process).value_or(os::LineMode{}).is_canonical)
        result.notice = fmt::format(
            "the terminal is in canonical mode and keeps only the first {} bytes of a line",
            os::longest_canonical_line);
    if (params.close_stdin) process.backend->end_input(process);
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
    return longest_line;
}

bool ProcessService::type(Process& process, std::string_view bytes) {
    Input& input = process.input;
    if (!input.held.empty() ||
        (!input.queued.empty() && input.queued.size() + bytes.size() > input_queue))
        return false;
    (void)append_input(process, bytes);
    if (input.is_open) process.backend->write_input(process);
    return true;
}

void ProcessService::end_input(Process& process) {
    if (!process.input.is_open) return;
    process.backend->end_input(process);
    process.backend->write_input(process);
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
    input.is_open = false;
    input.queued.release();
    std::deque<HeldWrite> held = std::move(input.held);
    input.held.clear();
    input.held_bytes = 0;
    for (HeldWrite& write : held)
        write.reply.send(protocol::WriteResult{protocol::WriteStatus::stdin_closed, {}});
}

} // namespace ew::server

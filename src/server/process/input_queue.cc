#include "server/process/input_queue.h"

#include "server/process/waiting.h"

#include <algorithm>
#include <utility>

namespace ew::server {

std::size_t InputQueue::append(std::string_view bytes) {
    queued_.append(bytes);
    std::size_t longest_line = 0;
    for (std::size_t begin = 0; begin < bytes.size();) {
        const std::size_t end = std::min(bytes.find_first_of("\r\n", begin), bytes.size());
        line_length_ += end - begin;
        longest_line = std::max(longest_line, line_length_);
        if (end < bytes.size()) line_length_ = 0;
        begin = end + 1;
    }
    return longest_line;
}

bool InputQueue::accept_id(const std::string& write_id) {
    if (!accepted_ids_.insert(write_id).second) return false;
    accepted_order_.push_back(write_id);
    if (accepted_order_.size() > remembered_ids) {
        accepted_ids_.erase(accepted_order_.front());
        accepted_order_.pop_front();
    }
    return true;
}

void InputQueue::hold(Reply reply, protocol::WriteParams params) {
    held_bytes_ += params.chunk.bytes.size();
    held_.push_back({std::move(reply), std::move(params)});
}

std::optional<InputQueue::HeldWrite> InputQueue::take_held() {
    if (held_.empty() || is_ending_) return std::nullopt;
    const std::size_t size = held_.front().params.chunk.bytes.size();
    if (!fits(size)) return std::nullopt;
    std::optional<HeldWrite> next(std::move(held_.front()));
    held_.pop_front();
    held_bytes_ -= size;
    return next;
}

bool InputQueue::cancel(const json::Id& id) {
    std::optional<HeldWrite> write = take_request(held_, id);
    if (!write) return false;
    held_bytes_ -= write->params.chunk.bytes.size();
    fail_cancelled(write->reply);
    return true;
}

std::deque<InputQueue::HeldWrite> InputQueue::close() {
    is_open_ = false;
    queued_.release();
    held_bytes_ = 0;
    return std::exchange(held_, {});
}

void InputQueue::end_terminal(char end_of_file, bool is_canonical) {
    const bool is_inside_line = is_canonical && line_length_ > 0;
    queued_.append(std::string(is_inside_line ? 2 : 1, end_of_file));
    line_length_ = 0;
}

} // namespace ew::server

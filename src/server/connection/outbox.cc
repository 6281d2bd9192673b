#include "server/connection/outbox.h"

#include "base/clock.h"
#include "mcp/dialect.h"
#include "transcript/recorder.h"

#include <algorithm>
#include <string>

namespace ew::server {

ByteBuffer& Outbox::begin(Lane lane) {
    lane_ = lane;
    const bool is_composed = framing_ == protocol::Framing::headers || dialect_ != nullptr;
    ByteBuffer& buffer = is_composed ? composed_ : lane == Lane::bulk ? bulk_ : priority_;
    begun_at_ = buffer.size();
    return buffer;
}

void Outbox::end() {
    if (dialect_ != nullptr) {
        dialect_->from_server(composed_.view(), clock_now());
        composed_.consume(composed_.size());
        return take_from_dialect();
    }
    ByteBuffer& lane = lane_ == Lane::bulk ? bulk_ : priority_;
    if (framing_ == protocol::Framing::headers) {
        if (recorder_ != nullptr) recorder_->from_server(composed_.view());
        protocol::write_header(lane, composed_.size());
        lane.append(composed_.view());
        composed_.consume(composed_.size());
    } else {
        if (recorder_ != nullptr) recorder_->from_server(lane.view().substr(begun_at_));
        lane.append('\n');
    }
    if (lane_ == Lane::bulk)
        bulk_ends_.push_back({bulk_queued(), queued(priority_)});
    else
        priority_ends_.push_back(queued(priority_));
    if (client_is_gone_) note_client_gone();
}

bool Outbox::wants_ends() const {
    return dialect_ == nullptr || dialect_->wants_ends();
}

void Outbox::take_from_dialect() {
    for (const std::string& line : dialect_->wires().take_for_client()) {
        priority_.append(line);
        priority_.append('\n');
        priority_ends_.push_back(queued(priority_));
    }
    if (client_is_gone_) note_client_gone();
}

void Outbox::note_client_gone() {
    client_is_gone_ = true;
    priority_.release();
    bulk_.release();
    pass_boundaries();
}

// Returns how many bytes of the priority lane go before the next message of the bulk lane, which
// may overtake only messages that were queued after it.
std::size_t Outbox::priority_share() const {
    if (bulk_.empty()) return priority_.size();
    const std::uint64_t mark =
        std::max(share_begun_, bulk_ends_.front().not_before) + answers_per_bulk_message;
    const bool is_between_messages = priority_.consumed() == priority_boundary_;
    if (is_between_messages && priority_.consumed() >= mark) return 0;
    const auto end = std::ranges::lower_bound(priority_ends_, mark);
    const std::uint64_t last = end == priority_ends_.end() ? queued(priority_) : *end;
    return static_cast<std::size_t>(last - priority_.consumed());
}

void Outbox::flush() {
    bool progress = true;
    while (progress && has_unsent()) {
        const bool is_bulk_due = is_inside_bulk_message() || priority_share() == 0;
        if (priority_.empty()) {
            progress = write_from(bulk_, bulk_.size());
        } else if (is_bulk_due) {
            progress =
                write_from(bulk_, static_cast<std::size_t>(bulk_ends_.front().end - bulk_sent()));
        } else {
            progress = write_from(priority_, priority_share());
        }
    }
}

bool Outbox::write_from(ByteBuffer& lane, std::size_t most) {
    const os::IoResult result = out_.write(lane.view().substr(0, most));
    if (result.state == os::IoState::end)
        note_client_gone();
    else
        lane.consume(result.count);
    pass_boundaries();
    return result.state == os::IoState::progress && result.count == most;
}

void Outbox::pass_boundaries() {
    while (!bulk_ends_.empty() && bulk_ends_.front().end <= bulk_.consumed()) {
        bulk_boundary_ = bulk_ends_.front().end;
        share_begun_ = priority_.consumed();
        bulk_ends_.pop_front();
    }
    while (!priority_ends_.empty() && priority_ends_.front() <= priority_.consumed()) {
        priority_boundary_ = priority_ends_.front();
        priority_ends_.pop_front();
    }
}

} // namespace ew::server

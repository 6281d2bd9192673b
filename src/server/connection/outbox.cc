#include "server/connection/outbox.h"

#include "transcript/recorder.h"

#include <algorithm>

namespace ew::server {

ByteBuffer& Outbox::begin(Lane lane) {
    lane_ = lane;
    ByteBuffer& buffer = framing_ == protocol::Framing::headers ? composed_
                         : lane == Lane::bulk                   ? bulk_
                                                                : priority_;
    begun_at_ = buffer.size();
    return buffer;
}

void Outbox::end() {
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
    if (lane_ == Lane::bulk) bulk_ends_.push_back(bulk_queued());
    if (client_is_gone_) note_client_gone();
}

void Outbox::note_client_gone() {
    client_is_gone_ = true;
    priority_.release();
    bulk_.release();
    pass_boundaries();
}

void Outbox::flush() {
    bool progress = true;
    while (progress && has_unsent()) {
        if (is_inside_bulk_message() && !priority_.empty())
            progress =
                write_from(bulk_, static_cast<std::size_t>(bulk_ends_.front() - bulk_sent()));
        else if (!priority_.empty())
            progress = write_from(priority_, priority_.size());
        else
            progress = write_from(bulk_, bulk_.size());
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
    while (!bulk_ends_.empty() && bulk_ends_.front() <= bulk_.consumed()) {
        bulk_boundary_ = bulk_ends_.front();
        bulk_ends_.pop_front();
    }
}

} // namespace ew::server

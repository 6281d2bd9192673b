#include "server/environment/remote_events.h"

namespace ew::server {

void RemoteEvents::add(peer::PeerReadResult result) {
    events_.add(std::move(result));
    if (events_.next() == nullptr) give_up_gap();
}

void RemoteEvents::look_for_gap(TimePoint now) {
    if (!events_.has_gap())
        gap_since_.reset();
    else if (!gap_since_)
        gap_since_ = now;
}

std::optional<TimePoint> RemoteEvents::gap_deadline() const {
    if (!gap_since_ || is_reading_) return std::nullopt;
    return *gap_since_ + gap_patience;
}

void RemoteEvents::end_reading() {
    is_reading_ = false;
    gap_since_.reset();
}

bool RemoteEvents::skip_gap() {
    if (!events_.has_gap()) return false;
    lost_ += events_.skip_gap();
    return true;
}

} // namespace ew::server

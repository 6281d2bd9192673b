#include "peer/ordered_events.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace ew::peer {

namespace {

// No server reaches this number; the arithmetic behind it would overflow.
constexpr std::uint64_t largest_number = std::uint64_t{1} << 62;

std::size_t size_of(const Event& event) {
    const OutputPiece* const piece = std::get_if<OutputPiece>(&event);
    return piece == nullptr ? 0 : piece->bytes.size();
}

std::uint64_t numbers_of(const Event& event) {
    const Lost* const lost = std::get_if<Lost>(&event);
    return lost == nullptr ? 1 : lost->count;
}

} // namespace

void OrderedEvents::hold(std::uint64_t seq, Event event) {
    held_bytes_ += size_of(event);
    held_.emplace(seq, std::move(event));
}

// Returns the number behind the held event that contains `seq`, or `seq` if none does. A loss
// contains more than one number.
std::uint64_t OrderedEvents::behind_held(std::uint64_t seq) const {
    const auto after = held_.upper_bound(seq);
    if (after == held_.begin()) return seq;
    const auto before = std::prev(after);
    return std::max(seq, before->first + numbers_of(before->second));
}

// An end comes only once and must not be lost, even if its number was skipped or is in use.
void OrderedEvents::hold_end(std::uint64_t seq, Event event) {
    bool& is_known = std::holds_alternative<Closed>(event) ? has_closed_ : has_exited_;
    if (std::exchange(is_known, true)) return;
    seq = std::clamp(seq, next_, std::max(next_, largest_number));
    while (behind_held(seq) != seq)
        seq = behind_held(seq);
    hold(seq, std::move(event));
}

void OrderedEvents::add(std::uint64_t seq, Event event) {
    if (!std::holds_alternative<OutputPiece>(event)) return hold_end(seq, std::move(event));
    if (seq < next_ || seq > largest_number || is_held(seq)) return;
    const bool is_next = seq == next_;
    const std::size_t bytes = held_bytes_ + size_of(event);
    const bool has_room = held_.size() < most_held + (is_next ? 1 : 0) &&
                          bytes <= most_held_bytes + (is_next ? room_for_next : 0);
    if (has_room)
        hold(seq, std::move(event));
    else
        last_dropped_ = std::max(last_dropped_, seq);
}

// Returns 0 if there is none.
std::uint64_t OrderedEvents::last_missing_before(std::uint64_t end) const {
    std::uint64_t seq = end;
    while (seq > next_ && is_held(seq - 1))
        --seq;
    return seq > next_ ? seq - 1 : 0;
}

void OrderedEvents::give_up_before(std::uint64_t end) {
    std::uint64_t seq = next_;
    while (seq < end) {
        const auto at = held_.lower_bound(seq);
        const std::uint64_t here = at == held_.end() ? end : std::min(at->first, end);
        if (here > seq) held_.emplace(seq, Lost{here - seq});
        seq = at == held_.end() ? end : at->first + numbers_of(at->second);
    }
}

void OrderedEvents::add(PeerReadResult result) {
    result.next_seq = std::min(result.next_seq, largest_number);
    for (protocol::OutputChunk& chunk : result.chunks)
        if (chunk.seq >= next_ && chunk.seq < result.next_seq && !is_held(chunk.seq))
            hold(chunk.seq, OutputPiece{chunk.stream, std::move(chunk.chunk.bytes)});
    // The close has the highest number, and the exit comes after the evicted events.
    const std::uint64_t close = result.closed ? last_missing_before(result.next_seq) : 0;
    if (close != 0) hold_end(close, Closed{});
    const std::uint64_t exit = result.exited ? last_missing_before(result.next_seq) : 0;
    if (exit != 0) hold_end(exit, std::move(result.end));
    give_up_before(result.next_seq);
}

Event* OrderedEvents::next() {
    const auto at = held_.find(next_);
    return at == held_.end() ? nullptr : &at->second;
}

void OrderedEvents::take_next() {
    const auto at = held_.find(next_);
    held_bytes_ -= size_of(at->second);
    next_ += numbers_of(at->second);
    held_.erase(at);
}

// Returns the end of the current gap, or next_ if there is no gap.
std::uint64_t OrderedEvents::end_of_gap() const {
    if (!held_.empty()) return held_.begin()->first;
    return std::max(next_, last_dropped_ + 1);
}

std::uint64_t OrderedEvents::skip_gap() {
    const std::uint64_t end = end_of_gap();
    return end - std::exchange(next_, end);
}

} // namespace ew::peer

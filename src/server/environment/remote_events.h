// What a server in another environment has told of one program, in order, and what is missing of
// it: since when, whether it was asked for, and how much is lost. Pure.
#pragma once

#include "base/clock.h"
#include "peer/ordered_events.h"

#include <cstdint>
#include <optional>
#include <utility>

namespace ew::server {

class RemoteEvents {
public:
    // When a missing event is asked for: most often it is only late.
    static constexpr Millis gap_patience{50};

    void add(std::uint64_t seq, peer::Event event) { events_.add(seq, std::move(event)); }

    // The answer to a read of all that comes behind the events that were taken. What it does not
    // have will not come.
    void add(peer::PeerReadResult result);

    // The next one in order; null: it has not come.
    peer::Event* next() { return events_.next(); }

    void take_next() { events_.take_next(); }

    // The events that a read asks for are behind this number.
    std::uint64_t last_taken() const { return events_.next_seq() - 1; }

    // Notes whether something is missing now.
    void look_for_gap(TimePoint now);

    void forget_gap() { gap_since_.reset(); }

    // When what is missing is to be asked for. Returns nullopt if it was, or nothing is missing.
    std::optional<TimePoint> gap_deadline() const;

    // A read is under way, until its answer comes or is given up.
    void begin_reading() { is_reading_ = true; }

    void end_reading();

    bool is_reading() const { return is_reading_; }

    // What is missing before the first one that is here will not come.
    void give_up_gap() { is_gap_given_up_ = true; }

    // Returns whether a gap was given up since the last call.
    bool take_given_up() { return std::exchange(is_gap_given_up_, false); }

    // Counts what is missing before the first one that is here as lost. Returns false if nothing
    // is missing.
    bool skip_gap();

    void count_lost(std::uint64_t count) { lost_ += count; }

    // How many events are lost since the last take_lost().
    std::uint64_t lost() const { return lost_; }

    std::uint64_t take_lost() { return std::exchange(lost_, 0); }

private:
    peer::OrderedEvents events_;
    std::optional<TimePoint> gap_since_;
    bool is_reading_ = false;
    bool is_gap_given_up_ = false;
    std::uint64_t lost_ = 0;
};

} // namespace ew::server

// The events that a remote server has sent about one program, in order. Knows which events are
// missing, since when, whether a read has asked for them, and how many are lost. Pure.
#pragma once

#include "base/clock.h"
#include "peer/ordered_events.h"

#include <cstdint>
#include <optional>
#include <utility>

namespace ew::server {

class RemoteEvents {
public:
    // How long an event may be missing before a read asks for it: most often it is only late.
    static constexpr Millis gap_patience{50};

    void add(std::uint64_t seq, peer::Event event) { events_.add(seq, std::move(event)); }

    // Adds the answer to a read of all events after the taken ones. Events that it lacks will not
    // come.
    void add(peer::PeerReadResult result);

    // Returns the next event in order, or null if it has not arrived.
    peer::Event* next() { return events_.next(); }

    void take_next() { events_.take_next(); }

    // A read asks for the events after this number.
    std::uint64_t last_taken() const { return events_.next_seq() - 1; }

    // Notes whether an event is missing now.
    void look_for_gap(TimePoint now);

    void forget_gap() { gap_since_.reset(); }

    // Returns true if an event is missing that may still come.
    bool is_gap_open() const { return gap_since_.has_value() || is_reading_; }

    // When to ask for missing events. Returns nullopt if a read is under way or no event is
    // missing.
    std::optional<TimePoint> gap_deadline() const;

    // A read is under way until its answer arrives or is given up.
    void begin_reading() { is_reading_ = true; }

    void end_reading();

    bool is_reading() const { return is_reading_; }

    // The events that are missing before the first present one will not come.
    void give_up_gap() { is_gap_given_up_ = true; }

    // Returns true if a gap was given up since the last call.
    bool take_given_up() { return std::exchange(is_gap_given_up_, false); }

    // Counts the events that are missing before the first present one as lost. Returns false if no
    // event is missing.
    bool skip_gap();

    void count_lost(std::uint64_t count) { lost_ += count; }

    // The number of events lost since the last take_lost().
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

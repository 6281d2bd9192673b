// Orders the events of one process of an exec-server by their numbers. They may arrive in any
// order, twice, or not at all (exec-server 4); missing events are fetched by a read. Pure.
#pragma once

#include "peer/peer_messages.h"
#include "protocol/process_output.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <variant>

namespace ew::peer {

// `taken`: the number of bytes that the reader has already taken.
struct OutputPiece {
    protocol::StreamName stream = protocol::StreamName::out;
    std::string bytes = {};
    std::size_t taken = 0;
};

struct Closed {};

// The number of events that are lost for good.
struct Lost {
    std::uint64_t count = 1;
};

using Event = std::variant<OutputPiece, PeerEnd, Closed, Lost>;

class OrderedEvents {
public:
    // Limits for events that wait for an earlier one, or for a reader. Further events are dropped
    // and count as missing; the read that brings the earlier event brings them again.
    static constexpr std::size_t most_held = 8192;
    static constexpr std::size_t most_held_bytes = 4 << 20;
    // Extra room, so that the next event need not be read again only because it comes late.
    static constexpr std::size_t room_for_next = 1 << 20;

    // Ignores a known event, whatever its number: a process ends only once.
    void add(std::uint64_t seq, Event event);

    // Adds the answer to a read of everything after `next_seq() - 1`, of any size: all of it can be
    // taken now. Numbers without an event in the answer are those of the exit and of the close, if
    // the answer says that they have happened; the others are lost. Events from the answer's own
    // `next_seq` on are ignored.
    void add(PeerReadResult result);

    // Returns the next event in order, or null if it has not arrived.
    Event* next();
    void take_next();

    std::uint64_t next_seq() const { return next_; }

    // Returns true if later events arrived or were dropped, but the next one is missing.
    bool has_gap() const { return end_of_gap() > next_; }

    // Gives up the missing events before the first one that has arrived, or the dropped ones if
    // none has. Returns their number.
    std::uint64_t skip_gap();

private:
    void hold(std::uint64_t seq, Event event);
    void hold_end(std::uint64_t seq, Event event);
    void give_up_before(std::uint64_t end);
    std::uint64_t behind_held(std::uint64_t seq) const;

    bool is_held(std::uint64_t seq) const { return behind_held(seq) != seq; }

    std::uint64_t last_missing_before(std::uint64_t end) const;
    std::uint64_t end_of_gap() const;

    std::map<std::uint64_t, Event> held_;
    std::size_t held_bytes_ = 0;
    std::uint64_t next_ = 1;
    std::uint64_t last_dropped_ = 0;
    bool has_exited_ = false; // it has arrived or was taken
    bool has_closed_ = false;
};

} // namespace ew::peer

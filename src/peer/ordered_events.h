// The events of one process of an exec-server, put in the order of their numbers. The wire may
// bring them in any order, twice, or not at all (exec-server 4); what does not come is fetched by a
// read. Pure.
#pragma once

#include "peer/peer_messages.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <variant>

namespace ew::peer {

// `taken`: how much of the bytes its reader has put away already.
struct OutputPiece {
    protocol::StreamName stream = protocol::StreamName::out;
    std::string bytes = {};
    std::size_t taken = 0;
};

struct Closed {};

// So many events that nobody has any more.
struct Lost {
    std::uint64_t count = 1;
};

using Event = std::variant<OutputPiece, PeerEnd, Closed, Lost>;

class OrderedEvents {
public:
    // Of events that wait for an earlier one, or for somebody who takes them. What is over that is
    // dropped and counts as missing; the read that brings the earlier one brings it again.
    static constexpr std::size_t most_held = 8192;
    static constexpr std::size_t most_held_bytes = 4 << 20;
    // Beside what waits for it, so that the next one need not be read again only for being late.
    static constexpr std::size_t room_for_next = 1 << 20;

    // What is known already is ignored, whatever its number: a process ends once.
    void add(std::uint64_t seq, Event event);

    // The answer to a read of everything behind `next_seq() - 1`, of any size: it all can be taken
    // now. Numbers that it does not account for are those of the exit and of the close, as far as
    // it says that they have happened; the others are lost. What it has from its own `next_seq` on
    // is ignored.
    void add(PeerReadResult result);

    // The next one in order; null: it has not come.
    Event* next();
    void take_next();

    std::uint64_t next_seq() const { return next_; }

    // Events are here or were dropped, and the one before them is not here.
    bool has_gap() const { return end_of_gap() > next_; }

    // What is missing before the first one that is here will not come, nor what was dropped if none
    // is here. Returns how many those are.
    std::uint64_t skip_gap();

private:
    void hold(std::uint64_t seq, Event event);
    void hold_end(std::uint64_t seq, Event event);
    void give_up_before(std::uint64_t end);
    std::uint64_t last_missing_before(std::uint64_t end) const;
    std::uint64_t end_of_gap() const;

    std::map<std::uint64_t, Event> held_;
    std::size_t held_bytes_ = 0;
    std::uint64_t next_ = 1;
    std::uint64_t last_dropped_ = 0;
    bool has_exited_ = false; // it is here, or was taken
    bool has_closed_ = false;
};

} // namespace ew::peer
